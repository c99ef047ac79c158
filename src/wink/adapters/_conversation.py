"""What a model said, and what it was answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wink.dataclass import dataclass, field
from wink.limits import TokenUsage
from wink.prompt import RenderedPrompt
from wink.runtime import ToolCall, ToolReply
from wink.tools import Image


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of a model: text, tool calls, or both. Without calls it is the last one.

    `provider_data` are plain JSON values that the adapter wants back with the conversation, such as the items of a
    provider that demands them unchanged. A turn that was `cut_off` at the provider's limit of output is no answer, and has
    no calls: the model is told to go on. `thinking` is the model's reasoning where the provider gives it, and `model` its
    name where the adapter knows it, both for people.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    provider_data: Any = field(default=None, repr=False)
    cut_off: bool = False
    thinking: str = field(default="", compare=False, repr=False)
    model: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn and the replies to its calls, one each, in their order.

    `note` is what the run itself has to say to the model after the replies, as a user would: feedback, or why an answer
    does not end the work. An answer without calls that was not the end has a note and no replies.
    """

    turn: ModelTurn
    replies: tuple[ToolReply, ...]
    note: str = ""


def _nobody(event: object) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that a model is sent: the rendered prompt and what has been said since.

    The prompt is the latest rendering: when the model opens a section, the next request has the new text and tools, and
    the exchanges stay as they were.
    """

    prompt: RenderedPrompt
    exchanges: tuple[Exchange, ...] = ()
    images: tuple[Image, ...] = ()
    """What the user shows to the model at the beginning."""
    tell: Callable[[object], object] = field(default=_nobody, compare=False, repr=False)
    """Takes the events of a request while it is under way, for those who watch the run."""
