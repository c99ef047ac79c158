"""Ask the feedback providers whose turn it is, and put together what they say."""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wink.errors import HandleRevoked, WinkError
from wink.limits import Clock
from wink.prompt.guardrails._feedback import Feedback, FeedbackContext
from wink.prompt.guardrails._files import reachable
from wink.prompt.guardrails._memory import (
    FeedbackBegan,
    FeedbackMark,
    Since,
    claim,
    count_calls,
    keys_of,
    now_of,
    since,
    watched,
)
from wink.prompt.guardrails._said import sayable
from wink.prompt.guardrails._triggers import FeedbackProviderConfig, FeedbackTrigger

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.limits import Deadline
    from wink.prompt._prompt import Prompt
    from wink.session import Session

__all__ = ["collect_feedback"]


def collect_feedback(
    *,
    prompt: "Prompt[Any]",
    session: "Session",
    deadline: "Deadline | None" = None,
    filesystem: "Filesystem | None" = None,
    clock: Clock | None = None,
) -> str:
    """What the prompt's feedback providers have to say now, as the model reads it; empty when nobody speaks.

    An evaluation calls it after the calls of a turn have been executed. Each provider whose trigger fires and whose
    `should_run` is true speaks, in the order of the template; what it says is published in the session as `Feedback`. A
    provider that fails is logged, and counts as having spoken, so that it does not fail at every turn. Costs the same
    however long the session is.

    `filesystem` is where triggers look for files, the prompt's own by default. The time is that of `clock`, else of the
    deadline's.
    """
    configs = prompt.template.feedback_providers
    if not configs:
        return ""
    now = now_of(deadline, clock)
    watch_id, began = watched(prompt, session, now)
    files = reachable(prompt.filesystem() if filesystem is None else filesystem)
    asked = _Asked(prompt, session, deadline, files, watch_id, began, count_calls(session), now)
    names = [_name_of(config.provider) for config in configs]
    given = [
        asked.said_by(config, name, key)
        for config, name, key in zip(configs, names, keys_of(prompt, names), strict=True)
    ]
    return "\n\n".join(text for text in given if text)


class _Asked:
    """One round of asking."""

    def __init__(
        self,
        prompt: "Prompt[Any]",
        session: "Session",
        deadline: "Deadline | None",
        files: "Filesystem | None",
        watch_id: str,
        began: FeedbackBegan,
        calls: int,
        now: datetime,
    ) -> None:
        self.prompt, self.session, self.deadline, self.files = prompt, session, deadline, files
        self.watch_id, self.began, self.calls, self.now = watch_id, began, calls, now

    def said_by(self, config: FeedbackProviderConfig, name: str, key: str) -> str:
        """What one provider has to say, if it is its turn; else nothing."""
        past = since(self.session, key, self.began, self.watch_id, self.calls, self.now)
        seen = () if past.mark is None else past.mark.files
        appeared = self._appeared(config.trigger.filename, seen)
        if appeared is None and not _due(config.trigger, past):
            return ""
        context = FeedbackContext(
            session=self.session,
            prompt=self.prompt,
            deadline=self.deadline,
            filesystem=self.files,
            calls=self.calls,
            calls_since=past.calls,
            seconds_since=past.seconds,
            now=self.now,
        )
        mark = FeedbackMark(key, self.calls, self.now, self.watch_id, seen if appeared is None else (*seen, appeared))
        try:
            wanted = config.provider.should_run(context=context)
        except Exception as error:  # foreign code
            _log(name, "should_run", error)
            self._claim(mark, past.mark)
            return ""
        # Nobody may say the same beside us: another thread may be evaluating a prompt in this session.
        if not wanted or not self._claim(mark, past.mark):
            return ""
        try:
            feedback = _checked(config.provider.provide(context=context))
            feedback = replace(
                feedback,
                provider_name=feedback.provider_name or name,
                prompt_name=self.prompt.name,
                calls=self.calls,
                at=self.now,
            )
            text = sayable(feedback.render())
        except Exception as error:  # foreign code
            _log(name, "provide", error)
            return ""
        self.session.publish(feedback)
        return text

    def _claim(self, mark: FeedbackMark, known: FeedbackMark | None) -> bool:
        """Whether it is this provider's turn, here and now; one that cannot be stored is asked after the next turn."""
        try:
            return claim(self.session, mark, known)
        except HandleRevoked:
            raise
        except WinkError as error:
            _log(mark.key, "remembering when it spoke", error)
            return False

    def _appeared(self, path: str | None, seen: tuple[str, ...]) -> str | None:
        """The file of a trigger, if it is there and was not before."""
        if path is None or path in seen or self.files is None:
            return None
        try:
            return path if self.files.exists(path) else None
        except Exception as error:  # foreign code: any filesystem
            _log(path, "looking for the file", error)
            return None


def _due(trigger: FeedbackTrigger, past: Since) -> bool:
    calls, seconds = trigger.every_n_calls, trigger.every_n_seconds
    return (calls is not None and past.calls >= calls) or (seconds is not None and past.seconds >= seconds)


def _checked(feedback: object) -> Feedback:
    if not isinstance(feedback, Feedback):
        raise TypeError(f"provide returned {feedback!r:.200}; return a Feedback")
    return feedback


def _name_of(provider: Any) -> str:
    try:
        return str(provider.name)
    except Exception:  # foreign code
        return type(provider).__qualname__


def _log(name: str, doing: str, error: Exception) -> None:
    import logging

    logging.getLogger("wink.prompt").error(
        "feedback of %r: %s failed; the run goes on without it", name, doing, exc_info=error
    )
