"""What a session remembers of its feedback: when watching began, and when each provider last spoke.

Calls are counted by the length of the session's log of `ToolInvoked`, which lives as long as the session's object:
another process starts at none. So a `FeedbackWatch` is put into a log beside it, with an id; a `FeedbackMark`, which is
state and may be stored, counts calls and seconds only under the id that it was written with. That a file was seen
counts in any case.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wink.dataclass import dataclass, field, replace
from wink.limits import Clock, utc_now

if TYPE_CHECKING:
    from wink.limits import Deadline
    from wink.prompt._prompt import Prompt
    from wink.session import Session

__all__ = [
    "FeedbackBegan",
    "FeedbackMark",
    "FeedbackWatch",
    "Since",
    "count_calls",
    "claim",
    "keys_of",
    "now_of",
    "since",
    "watch_feedback",
    "watched",
]


@dataclass(frozen=True, slots=True)
class FeedbackBegan:
    """When a prompt was first rendered for a session, and how many calls the session had seen by then.

    `run_at` is the same moment by the clock of the run, once that is known.
    """

    calls: int
    at: datetime
    run_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FeedbackWatch:
    """An entry of a session's log: since when each prompt, by `ns:key`, is being watched. The last entry counts."""

    watch_id: str
    began: Mapping[str, FeedbackBegan] = field(default_factory=dict[str, FeedbackBegan])


@dataclass(frozen=True, slots=True)
class FeedbackMark:
    """When a provider last gave feedback, in the session's slice of this type, by `key`.

    `files` are those whose appearance has fired its trigger.
    """

    key: str
    calls: int
    at: datetime
    watch_id: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Since:
    """What lies between a provider's last word and now."""

    calls: int
    seconds: float
    mark: FeedbackMark | None


def watch_feedback(
    *, prompt: "Prompt[Any]", session: "Session", deadline: "Deadline | None" = None, clock: Clock | None = None
) -> None:
    """Count calls and seconds for the prompt's feedback from now on; rendering a prompt for a session does it.

    Does nothing when that was done before in this session, and for a prompt that has no feedback providers. `clock`, else
    that of the deadline, is the clock of the run.
    """
    if prompt.template.feedback_providers:
        watched(prompt, session, None if clock is None and deadline is None else now_of(deadline, clock))


def now_of(deadline: "Deadline | None", clock: Clock | None) -> datetime:
    """The time by the clock of a run."""
    if clock is None:
        clock = utc_now if deadline is None else deadline.clock
    return clock()


def watched(prompt: "Prompt[Any]", session: "Session", now: datetime | None = None) -> tuple[str, FeedbackBegan]:
    """The session's id for what is counted, and when the prompt began; `now` is the time by the clock of the run."""
    watch, name = session[FeedbackWatch].latest(), _name(prompt)
    began = None if watch is None else watch.began.get(name)
    if watch is not None and began is not None and (now is None or began.run_at is not None):
        return watch.watch_id, began
    with session.locked():
        watch = session[FeedbackWatch].latest()
        if watch is None:
            from uuid import uuid4

            watch = FeedbackWatch(uuid4().hex)
        began = watch.began.get(name)
        if began is None:
            began = FeedbackBegan(count_calls(session), utc_now(), now)
        elif now is not None and began.run_at is None:
            # A run may have a clock of its own, which rendering knows nothing of: as long ago as it is by ours.
            began = replace(began, run_at=now - (utc_now() - began.at))
        session.publish(replace(watch, began={**watch.began, name: began}))
        return watch.watch_id, began


def count_calls(session: "Session") -> int:
    """How many calls the session has seen since it was opened, in constant time."""
    from wink.session import ToolInvoked

    return len(session[ToolInvoked])


def keys_of(prompt: "Prompt[Any]", names: list[str]) -> list[str]:
    """What marks call the providers with these names: two of one name differ by a number."""
    seen: dict[str, int] = {}
    keys: list[str] = []
    for name in names:
        seen[name] = number = seen.get(name, 0) + 1
        keys.append(f"{_name(prompt)}/{name}" + (f"#{number}" if number > 1 else ""))
    return keys


def since(session: "Session", key: str, began: FeedbackBegan, watch_id: str, calls: int, now: datetime) -> Since:
    """What lies between the last word of the provider called `key` and now."""
    mark = session[FeedbackMark].get(key)
    counts = mark is not None and mark.watch_id == watch_id
    base, at = (mark.calls, mark.at) if mark is not None and counts else (began.calls, began.run_at or began.at)
    # The log may have been emptied since.
    return Since(calls - base if calls >= base else calls, max(0.0, (now - at).total_seconds()), mark)


def claim(session: "Session", mark: FeedbackMark, known: FeedbackMark | None) -> bool:
    """Write that a provider speaks now; False if another thread was faster."""
    from wink.session import Upsert

    with session.locked():
        if session[FeedbackMark].get(mark.key) != known:
            return False
        session.stage(FeedbackMark, [Upsert(mark.key, mark)])
        return True


def _name(prompt: "Prompt[Any]") -> str:
    return f"{prompt.ns}:{prompt.key}"
