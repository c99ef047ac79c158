"""`wink call`: one tool, on a workspace, through the whole pipeline."""

from __future__ import annotations

import json
from typing import Any, cast

import click

from wink.cli._compose import compose, open_workspace, workspace_options, wrong
from wink.cli._settings import installed_catalog
from wink.errors import ParseError
from wink.prompt import RenderedPrompt
from wink.runtime import ToolCall, ToolExecutor
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
        rendered = prompt.render(session=state, check=False)
        found = _find(rendered, tool)
        text = json_arguments if json_arguments is not None else json.dumps(_values(found, arguments))
        try:
            found.parse(text)
        except ParseError as error:
            raise wrong(f"the arguments of {tool} are not valid: {error}") from error
        with prompt.resources:
            reply = ToolExecutor(prompt=prompt, rendered=rendered, session=state).execute(ToolCall(tool, text))
    click.echo(reply.text, err=not reply.success)
    return 0 if reply.success else 1


def _find(rendered: RenderedPrompt, name: str) -> Tool[Any, Any]:
    tool = rendered.tool(name)
    if tool is None:
        from difflib import get_close_matches

        names = [known.name for known in rendered.tools]
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the tools are: {', '.join(names)}"
        raise wrong(f"there is no tool {name!r}; {hint}")
    return tool


def _values(tool: Tool[Any, Any], arguments: tuple[str, ...]) -> dict[str, Any]:
    schema = tool.schema()
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    values: dict[str, Any] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise wrong(f"{argument!r} is not KEY=VALUE; {tool.name} takes {', '.join(properties) or 'no arguments'}")
        if key in values:
            raise wrong(f"{key!r} is given twice")
        values[key] = value if _takes_text(properties.get(key, {}), schema) else _json(key, value)
    return values


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
    except json.JSONDecodeError as error:
        raise wrong(f"{key}={value!r} is not JSON ({error.msg}); {key} is not a text field") from error
