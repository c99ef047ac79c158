"""What a model asks for, and what it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from wink.dataclass import dataclass
from wink.tools import ToolResult

RESULT_LIMIT: Final = 50_000
"""How many characters of a result a model is sent; what is longer is kept, and shown in part."""

LEAST_LIMIT: Final = 1_000
"""The smallest limit that leaves room for a beginning, an end and the way to the rest."""

READ_RESULT: Final = "read_result"
"""The name of the tool that gives the rest."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call as a model made it.

    `arguments` is JSON text, or a mapping of plain values. `call_id` is the provider's id; an empty one is replaced by
    one of ours.
    """

    name: str
    arguments: str | Mapping[str, Any] = "{}"
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolReply:
    """The answer to one call: `text` is what the model is sent, never empty, and says itself that a call failed."""

    call_id: str
    name: str
    text: str
    success: bool
    result: ToolResult[Any]


class PolicyVerdict(NamedTuple):
    """What one policy said to one call; with `asks` it left the call to a person, and allowed nothing itself."""

    policy: str
    allowed: bool
    reason: str | None
    asks: bool = False
