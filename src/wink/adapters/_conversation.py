"""What a model said, and what it was answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from wink.limits import TokenUsage
from wink.prompt import RenderedPrompt
from wink.runtime import ToolCall, ToolReply


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of a model: text, tool calls, or both. Without calls it is the last one."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn and the replies to its calls, one each, in their order."""

    turn: ModelTurn
    replies: tuple[ToolReply, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that a model is sent: the rendered prompt and what has been said since."""

    prompt: RenderedPrompt
    exchanges: tuple[Exchange, ...] = ()
