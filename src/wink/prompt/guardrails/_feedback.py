"""What a feedback provider says, what it is given, and what it must be able to do."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

from wink.dataclass import dataclass, field
from wink.limits import utc_now

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.limits import Deadline
    from wink.prompt._prompt import Prompt
    from wink.session import Session

__all__ = ["Feedback", "FeedbackContext", "FeedbackProvider", "Severity"]

Severity: TypeAlias = Literal["info", "caution", "warning"]
"""How much a piece of feedback matters: something to know, to watch, or to act on at once."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """Something that is said to the model while it works; `session[Feedback]` keeps everything that was said.

    `summary` is the message itself, `observations` are what it rests on, `suggestions` what to do about it. The last
    four say who spoke, in which prompt, after how many calls of the session, and when; they are filled in when the
    feedback is given.

    >>> print(Feedback("Half of the time is over.", suggestions=["Write the report now."], provider_name="Clock").render())
    [Feedback from Clock]
    Half of the time is over.
    <BLANKLINE>
    Suggestions:
    - Write the report now.
    """

    summary: str
    observations: Sequence[str] = ()
    suggestions: Sequence[str] = ()
    severity: Severity = "info"
    provider_name: str = ""
    prompt_name: str = ""
    calls: int = 0
    at: datetime | None = None

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.summary), str) or not self.summary.strip():
            raise ValueError(f"summary is {self.summary!r:.80}; feedback needs a text that says what it is about")
        for name in ("observations", "suggestions"):
            texts: object = getattr(self, name)
            if isinstance(texts, str):
                raise ValueError(f"{name} is one text; pass a list of texts")
            object.__setattr__(self, name, tuple(cast("Sequence[str]", texts)))
        if self.severity not in ("info", "caution", "warning"):
            raise ValueError(f"severity is {self.severity!r}; use 'info', 'caution' or 'warning'")

    def render(self) -> str:
        """The text that the model reads; it names the provider, and the severity unless that is `info`."""
        who = f"Feedback from {self.provider_name}" if self.provider_name else "Feedback"
        head = who if self.severity == "info" else f"{who}, {self.severity}"
        parts = [f"[{head}]\n{self.summary.strip()}"]
        for title, texts in (("Observations", self.observations), ("Suggestions", self.suggestions)):
            if texts:
                parts.append("\n".join([f"{title}:", *(f"- {text}" for text in texts)]))
        return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class FeedbackContext:
    """What a provider is given: whose run it is, and what has happened since it last spoke.

    `calls` counts the calls that the session has seen, `calls_since` those since the provider last gave feedback, or
    since the prompt was first evaluated; `seconds_since` is the same in seconds. `now` is the time by the run's clock.
    """

    session: "Session"
    prompt: "Prompt[Any]"
    deadline: "Deadline | None" = None
    filesystem: "Filesystem | None" = None
    calls: int = 0
    calls_since: int = 0
    seconds_since: float = 0.0
    now: datetime = field(default_factory=utc_now)

    @property
    def last_feedback(self) -> Feedback | None:
        """What was last said to the model in this session, by whichever provider."""
        return self.session[Feedback].latest()


@runtime_checkable
class FeedbackProvider(Protocol):
    """Somebody who watches a run and has something to say to the model now and then.

    It is asked after a turn's calls have been executed, when its trigger says so. It keeps nothing in itself, since it
    serves every session of its prompt; what it must remember goes into the session. One that raises is logged and
    passed over, and the run goes on.
    """

    @property
    def name(self) -> str:
        """Who the model is told is speaking."""
        ...

    def should_run(self, *, context: FeedbackContext) -> bool:
        """Whether there is something to say; if not, it is asked again after the next turn."""
        ...

    def provide(self, *, context: FeedbackContext) -> Feedback:
        """What to say."""
        ...
