"""When a feedback provider is asked."""

import math
from typing import cast

from wink.dataclass import dataclass
from wink.errors import PromptValidationError
from wink.prompt.guardrails._asynchronous import is_coroutine_function
from wink.prompt.guardrails._feedback import FeedbackProvider

__all__ = ["FeedbackProviderConfig", "FeedbackTrigger", "FileCreatedTrigger"]


@dataclass(frozen=True, slots=True)
class FileCreatedTrigger:
    """Fires once in a session, when there is a file or directory at `filename`, a path in the prompt's filesystem."""

    filename: str

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.filename), str) or not self.filename.strip():
            raise PromptValidationError(f"filename is {self.filename!r}; name the file, such as 'notes/plan.md'")


@dataclass(frozen=True, slots=True)
class FeedbackTrigger:
    """Fires when any of its conditions holds, which is looked at after each turn with calls.

    * `every_n_calls`: so many tool calls, failed ones too, since the provider last gave feedback.
    * `every_n_seconds`: so many seconds since then.
    * `on_file_created`: a path, or a `FileCreatedTrigger`; once in a session.

    >>> FeedbackTrigger(every_n_calls=10, on_file_created="plan.md").on_file_created
    FileCreatedTrigger(filename='plan.md')
    """

    every_n_calls: int | None = None
    every_n_seconds: float | None = None
    on_file_created: FileCreatedTrigger | str | None = None

    def __post_init__(self) -> None:
        if self.every_n_calls is None and self.every_n_seconds is None and self.on_file_created is None:
            raise PromptValidationError(
                "this trigger would never fire; give it every_n_calls, every_n_seconds or on_file_created"
            )
        calls, seconds = cast("object", self.every_n_calls), cast("object", self.every_n_seconds)
        if calls is not None and (not isinstance(calls, int) or isinstance(calls, bool) or calls < 1):
            raise PromptValidationError(f"every_n_calls is {calls!r}; use a whole number from 1")
        if seconds is not None and (
            not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < math.inf
        ):
            raise PromptValidationError(f"every_n_seconds is {seconds!r}; use a number of seconds above 0")
        if self.on_file_created is not None and not isinstance(self.on_file_created, FileCreatedTrigger):
            # The documented way to normalise the fields of a frozen dataclass.
            object.__setattr__(self, "on_file_created", FileCreatedTrigger(self.on_file_created))

    @property
    def filename(self) -> str | None:
        """The file that this trigger waits for."""
        found = self.on_file_created
        return found.filename if isinstance(found, FileCreatedTrigger) else found


@dataclass(frozen=True, slots=True)
class FeedbackProviderConfig:
    """A provider and when to ask it; what `PromptTemplate(feedback_providers=[...])` takes."""

    provider: FeedbackProvider
    trigger: FeedbackTrigger

    def __post_init__(self) -> None:
        provider, trigger = cast("object", self.provider), cast("object", self.trigger)
        if isinstance(provider, type) or not isinstance(provider, FeedbackProvider):
            raise PromptValidationError(
                f"{provider!r:.200} is no feedback provider; it needs `name`, `should_run(*, context)` and "
                "`provide(*, context)`"
            )
        for name in ("should_run", "provide"):
            if is_coroutine_function(getattr(provider, name)):
                raise PromptValidationError(
                    f"{name} of the feedback provider {type(provider).__qualname__} is a coroutine function; make it a plain one"
                )
        if not isinstance(trigger, FeedbackTrigger):
            raise PromptValidationError(f"trigger is {trigger!r:.200}; pass a FeedbackTrigger(every_n_calls=...)")
