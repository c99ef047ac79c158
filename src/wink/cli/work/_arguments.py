"""Read a tool's arguments as they are typed: KEY=VALUE, text where the tool wants text, otherwise JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from wink.cli._wrong import nearest, wrong
from wink.errors import ParseError

if TYPE_CHECKING:
    from wink.prompt import RenderedPrompt
    from wink.tools import Tool


def find_tool(rendered: RenderedPrompt, name: str) -> Tool[Any, Any]:
    """The tool of this name; wrong input where there is none."""
    tool = rendered.tool(name)
    if tool is None:
        names = [known.name for known in rendered.tools]
        raise wrong(f"there is no tool {name!r}; {nearest(name, names, otherwise=f'the tools are: {_and(names)}')}")
    return tool


def arguments_text(tool: Tool[Any, Any], arguments: tuple[str, ...], as_json: str | None) -> str:
    """The arguments as JSON text, given as KEY=VALUE or all `as_json`; wrong input where the tool does not take them."""
    if as_json is not None and arguments:
        raise wrong("give the arguments as KEY=VALUE or as JSON, not both")
    text = as_json if as_json is not None else json.dumps(_values(tool, arguments))
    try:
        tool.parse(text)
    except ParseError as error:
        raise wrong(f"the arguments of {tool.name} are not valid: {error}") from error
    return text


def _values(tool: Tool[Any, Any], arguments: tuple[str, ...]) -> dict[str, Any]:
    schema = tool.schema()
    fields = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    is_open = bool(schema.get("additionalProperties", False))
    values: dict[str, Any] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise wrong(f"{argument!r} is not KEY=VALUE; {tool.name} takes {_and(fields)}")
        if key in values:
            raise wrong(f"{key!r} is given twice")
        if key not in fields and not is_open:
            raise wrong(f"{tool.name} has no {key!r}; {nearest(key, fields, otherwise=f'it takes {_and(fields)}')}")
        if not _is_unicode(value):
            raise wrong(f"the value of {key} is not valid Unicode; give text in UTF-8")
        values[key] = value if _takes_text(fields.get(key, {}), schema) else _json(key, value)
    return values


def _and(names: Iterable[str]) -> str:
    return ", ".join(names) or "no arguments"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _takes_text(field: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether a field's schema allows a string: then the value is taken as it stands."""
    reference = field.get("$ref")
    if isinstance(reference, str):
        return _takes_text(schema.get("$defs", {}).get(reference.rpartition("/")[2], {}), schema)
    choices = [*field.get("anyOf", ()), *field.get("oneOf", ())]
    if choices:
        return any(_takes_text(choice, schema) for choice in choices)
    kind = field.get("type", ())
    if "string" in ([kind] if isinstance(kind, str) else kind):
        return True
    return any(isinstance(value, str) for value in (*field.get("enum", ()), field.get("const")))


def _json(key: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise wrong(f"{key}={value!r} is not JSON ({reason}); {key} is no text field, so it takes JSON") from error
