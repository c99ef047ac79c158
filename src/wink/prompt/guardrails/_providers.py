"""Feedback providers that many prompts can use."""

import math
from typing import Final, cast

from wink.dataclass import dataclass
from wink.prompt.guardrails._feedback import Feedback, FeedbackContext

__all__ = ["DeadlineFeedback", "StaticFeedbackProvider"]

_UNITS: Final = (("hour", 3600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, slots=True)
class DeadlineFeedback:
    """Tells the model how much time is left, in a run that has a deadline.

    From `warning_threshold_seconds` before the deadline on it is a warning, with the advice to come to an end.
    """

    warning_threshold_seconds: float = 120.0

    def __post_init__(self) -> None:
        if not 0 <= self.warning_threshold_seconds < math.inf:
            raise ValueError(
                f"warning_threshold_seconds is {self.warning_threshold_seconds!r}; use a number of seconds from 0"
            )

    @property
    def name(self) -> str:
        """`Deadline`."""
        return "Deadline"

    def should_run(self, *, context: FeedbackContext) -> bool:
        """Whether there is a deadline."""
        return context.deadline is not None

    def provide(self, *, context: FeedbackContext) -> Feedback:
        """How much time is left."""
        if context.deadline is None:
            return Feedback("There is no deadline.", provider_name=self.name)
        left = context.deadline.remaining().total_seconds()
        if left <= 0:
            return Feedback(
                "The deadline has passed.",
                suggestions=("Answer now with what you have; no further tool call will be executed.",),
                severity="warning",
                provider_name=self.name,
            )
        summary = f"You have {_spoken(left)} left."
        if left > self.warning_threshold_seconds:
            return Feedback(summary, provider_name=self.name)
        return Feedback(
            summary,
            suggestions=("Finish what matters most first.", "Then answer, and say what is still open."),
            severity="warning",
            provider_name=self.name,
        )


@dataclass(frozen=True, slots=True)
class StaticFeedbackProvider:
    """Says the same each time: `feedback` is a text, or a `Feedback`.

    >>> from wink.prompt import FeedbackProviderConfig, FeedbackTrigger
    >>> reminder = StaticFeedbackProvider("Run the tests before you say that you are done.")
    >>> config = FeedbackProviderConfig(reminder, FeedbackTrigger(every_n_calls=20))
    """

    feedback: Feedback | str

    def __post_init__(self) -> None:
        if isinstance(cast("object", self.feedback), str):
            object.__setattr__(self, "feedback", Feedback(cast("str", self.feedback)))
        elif not isinstance(self.feedback, Feedback):
            raise TypeError(f"feedback is {self.feedback!r:.200}; pass a text or a Feedback")

    @property
    def name(self) -> str:
        """The feedback's own `provider_name`, or `Static`."""
        return cast("Feedback", self.feedback).provider_name or "Static"

    def should_run(self, *, context: FeedbackContext) -> bool:
        """Whenever it is asked."""
        del context
        return True

    def provide(self, *, context: FeedbackContext) -> Feedback:
        """The feedback."""
        del context
        return cast("Feedback", self.feedback)


def _spoken(seconds: float) -> str:
    """A time as a person would say it, in the two largest units, never as nothing.

    >>> _spoken(3725), _spoken(61), _spoken(0.2)
    ('1 hour 2 minutes', '1 minute 1 second', '1 second')
    """
    rest, parts = max(1, math.floor(seconds)), list[str]()
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count != 1 else ''}")
    return " ".join(parts[:2])
