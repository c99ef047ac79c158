"""`wink call`: one tool, on a workspace, through the whole pipeline."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, cast

import click

from wink.cli._compose import compose, open_workspace, workspace_options
from wink.cli._settings import installed_catalog
from wink.cli._shorten import visible
from wink.cli._wrong import nearest, wrong
from wink.errors import ParseError
from wink.prompt import RenderedPrompt
from wink.runtime import ToolCall, ToolExecutor, with_read_result
from wink.tools import Tool


@click.command()
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@workspace_options
@click.option(
    "--json", "json_arguments", metavar="JSON", help="All arguments as one JSON object, instead of KEY=VALUE."
)
def call(
    tool: str,
    arguments: tuple[str, ...],
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    json_arguments: str | None,
) -> int:
    """Run one TOOL on a workspace, with policies, transaction and record.

    A value is taken as it stands where the tool wants a string, otherwise as JSON. The session lives in the workspace:
    what one call has read, the next may write.
    """
    if json_arguments is not None and arguments:
        raise wrong("give the arguments as KEY=VALUE or as --json, not both")
    with open_workspace(workspace) as opened:
        prompt = compose(opened, installed_catalog(workspace), sections=sections, policies=policies)
        state = opened.session(session)
        rendered = with_read_result(prompt.render(session=state, check=False), state)
        found = _find(rendered, tool)
        text = json_arguments if json_arguments is not None else json.dumps(_values(found, arguments))
        try:
            found.parse(text)
        except ParseError as error:
            raise wrong(f"the arguments of {tool} are not valid: {error}") from error
        with prompt.resources:
            reply = ToolExecutor(prompt=prompt, rendered=rendered, session=state).execute(ToolCall(tool, text))
    stream = sys.stdout if reply.success else sys.stderr
    # A file's bytes go through a pipe as they are; a terminal would obey them.
    click.echo(visible(reply.text) if stream.isatty() else reply.text, file=stream, color=True)
    return 0 if reply.success else 1


def _find(rendered: RenderedPrompt, name: str) -> Tool[Any, Any]:
    tool = rendered.tool(name)
    if tool is None:
        names = [known.name for known in rendered.tools]
        raise wrong(f"there is no tool {name!r}; {nearest(name, names, otherwise=f'the tools are: {_and(names)}')}")
    return tool


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
