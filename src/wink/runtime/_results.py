"""Judge what a handler returned, and put it into the words that the model is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, cast, get_args

from wink.serde import dumps
from wink.tools import Attachment, Tool, ToolResult


def check_result(tool: Tool[Any, Any], returned: object) -> str | None:
    """What is wrong with a handler's return value; None when it is what the tool declares."""
    if not isinstance(returned, ToolResult):
        return f"{tool.name} returned {_kind(returned)} where a ToolResult was expected"
    returned = cast("ToolResult[Any]", returned)
    if type(returned.success) is not bool or not isinstance(cast("object", returned.message), str):
        return f"{tool.name} returned a ToolResult whose message is not text or whose success is not a bool"
    if returned.attachments != () and not _are_attachments(returned.attachments):
        return (
            f"{tool.name} returned a ToolResult whose attachments are not a tuple of Image, Audio and EmbeddedResource"
        )
    declared, value = tool.result_type, returned.value
    if declared is None or value is None or not returned.success:
        return None
    if tool.result_container == "object":
        return None if isinstance(value, declared) else _mismatch(tool, declared.__name__, _kind(value))
    if not isinstance(value, list | tuple):
        return _mismatch(tool, f"a list of {declared.__name__}", _kind(value))
    for item in cast("Sequence[object]", value):
        if not isinstance(item, declared):
            return _mismatch(tool, f"a list of {declared.__name__}", f"a list with {_kind(item)} in it")
    return None


def rendered(tool: Tool[Any, Any], result: ToolResult[Any]) -> str:
    """The text that the model is sent: never empty, and always encodable as UTF-8.

    A value that cannot be stored is refused here, whether or not the text shows it, so that a tool behaves the same
    with and without a record.
    """
    if result.value is not None:
        dumps(result.value)
    text = cast("object", result.text)
    if not isinstance(text, str):
        raise TypeError(f"render() returned {_kind(text)}")
    if not text.strip():
        text = "OK" if result.success else f"{tool.name} failed"
    if not result.success and result.attachments:  # no protocol shows them with a failure
        text = "\n".join([text, *(f"[{one.described}; not shown]" for one in result.attachments if not one.text)])
    return printable(text)


def printable(text: str) -> str:
    """The text, with lone surrogates escaped."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text


def new_values(result: ToolResult[Any]) -> tuple[Any, ...]:
    """The dataclass instances in a result, which the session's reducers are told of."""
    value = result.value
    if value is None:
        return ()
    if hasattr(value, "__dataclass_fields__"):  # as `is_dataclass` asks, in one step
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(item for item in cast("Sequence[Any]", value) if is_dataclass(item))
    return ()


def json_text(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call as JSON for the record, whatever they are."""
    import json

    try:
        return json.dumps(arguments, default=repr, separators=(",", ":"))
    except Exception:  # foreign code: keys that JSON has not, circles, a `__repr__` that raises
        return json.dumps(f"arguments of type {type(arguments).__name__} that JSON cannot express")


def unknown_tool(name: str, names: Sequence[str]) -> str:
    """What a model is told that called a tool which is not among these."""
    if not names:
        return f"there is no tool {name!r}; this prompt has no tools"
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}? The" if close else "; the"
    return f"there is no tool {name!r}{hint} tools are: {', '.join(names)}"


def _mismatch(tool: Tool[Any, Any], expected: str, got: str) -> str:
    return f"{tool.name} returned a value of the wrong type: {expected} was expected, not {got}"


def _are_attachments(found: object) -> bool:
    if not isinstance(found, tuple):
        return False
    return all(isinstance(one, get_args(Attachment)) for one in cast("tuple[object, ...]", found))


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
