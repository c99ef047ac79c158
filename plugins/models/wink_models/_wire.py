"""Small things that every provider's protocol needs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from wink.adapters import ModelTurn
from wink.runtime import ToolCall

BEGIN: Final = "Begin."
"""The first word of a user: protocols want one, and the task stands in the prompt."""

_MALFORMED: Final = "malformed_arguments"
_LONGEST_ID, _LONGEST_NAME = 40, 64
_UNFITTING: Final = re.compile(r"[^a-zA-Z0-9_-]")


def argument_text(arguments: str | Mapping[str, Any]) -> str:
    """A call's arguments as JSON text, as the model sent them where it sent any."""
    return arguments if isinstance(arguments, str) else json.dumps(dict(arguments), default=str)


def argument_object(arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    """A call's arguments for protocols that take objects only; text that is none is shown as it came.

    >>> argument_object('{"a": 1}'), argument_object('{"a": NaN}')
    ({'a': 1}, {'malformed_arguments': '{"a": NaN}'})
    """
    text = argument_text(arguments)
    try:
        value = json.loads(text or "{}")
        json.dumps(value, allow_nan=False)  # `NaN` and `1e999` are numbers for Python alone
    except (ValueError, RecursionError):
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {_MALFORMED: text}


def object_text(arguments: str | Mapping[str, Any]) -> str:
    """A call's arguments as the text of an object: many servers parse what they are sent, and fail at anything else."""
    value = argument_object(arguments)
    return arguments if isinstance(arguments, str) and arguments and _MALFORMED not in value else json.dumps(value)


def sent_id(call_id: str) -> str:
    """The id of a call as every provider takes it; it may have come from another one, or from none.

    >>> sent_id("toolu_01A"), sent_id("functions.append:0")
    ('toolu_01A', 'call_09dac6059b9d94fb33543bff')
    """
    if call_id and len(call_id) <= _LONGEST_ID and not _UNFITTING.search(call_id):
        return call_id
    from hashlib import sha256

    return f"call_{sha256(call_id.encode(errors='surrogatepass')).hexdigest()[:24]}"


def sent_name(call: ToolCall) -> str:
    """The name of what a model called, as every provider takes it: models call what is not there by odd names.

    >>> sent_name(ToolCall("multi_tool_use.parallel"))
    'multi_tool_use_parallel'
    """
    return _UNFITTING.sub("_", call.name)[:_LONGEST_NAME] or "unnamed"


def without_tail(items: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    """The items up to the last that is not of `kinds`: a thought with nothing after it is refused."""
    end = len(items)
    while end and items[end - 1].get("type") in kinds:
        end -= 1
    return items[:end]


def kept_items(turn: ModelTurn, name: str, call: str) -> list[dict[str, Any]] | None:
    """What a provider wants back of a turn, with its calls as items of type `call`; None for turns of others."""
    given: object = turn.provider_data
    kept: object = cast("dict[str, Any]", given).get(name) if isinstance(given, dict) else None
    if not isinstance(kept, list):
        return None
    items = [cast("dict[str, Any]", item) for item in cast("list[object]", kept) if isinstance(item, dict)]
    return items if sum(item.get("type") == call for item in items) == len(turn.calls) else None


def encodable(value: Any) -> Any:
    """JSON values that can be written as UTF-8: half characters, which JSON's escapes can bring, become escapes again."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {encodable(name): encodable(one) for name, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [encodable(one) for one in cast("list[Any]", value)]
    return value
