"""`wink tools`: what a model would be shown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from wink.cli._calls import offered_by
from wink.cli._compose import compose, workspace_options
from wink.cli._opening import open_workspace
from wink.cli._shorten import one_line
from wink.cli.settings import installed_catalog

if TYPE_CHECKING:
    from wink.tools import Tool

LONGEST_NAME: Final = 48
"""MCP clients put a prefix such as `mcp__wink__` before a name, and model providers take at most 64 characters."""


@click.command()
@workspace_options
@click.option("--schema", is_flag=True, help="Print each tool's JSON Schema too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def tools(
    workspace: str, session: str, sections: tuple[str, ...], policies: tuple[str, ...], schema: bool, as_json: bool
) -> None:
    """List the tools that a template would show a model."""
    with open_workspace(workspace) as opened:
        prompt = compose(opened, installed_catalog(workspace), sections=sections, policies=policies)
        rendered = prompt.render(session=opened.session(session))
    show_long_names(rendered.tools)
    origins = {name: offered_by(told) for name, told in rendered.origins.items()}
    if as_json:
        rows = [
            {
                "name": tool.name,
                "description": tool.description,
                "effects": tool.effects,
                "plugin": origins.get(tool.name),
                **({"schema": tool.schema()} if schema else {}),
            }
            for tool in rendered.tools
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    places = {name: one_line(" ".join((one["distribution"], one["version"]))) for name, one in origins.items()}
    width = max((len(tool.name) for tool in rendered.tools), default=0)
    wide = max(map(len, places.values()), default=0)
    for tool in rendered.tools:
        click.echo(f"{tool.name:<{width}}  {tool.effects:<9}  {places.get(tool.name, ''):<{wide}}  {tool.description}")
        if schema:
            click.echo("  " + json.dumps(tool.schema(), indent=2).replace("\n", "\n  "))


def show_long_names(tools: Iterable[Tool[Any, Any]]) -> None:
    """Say on standard error which names MCP clients may refuse or cut once they have put their prefix before them."""
    names = [tool.name for tool in tools if len(tool.name) > LONGEST_NAME]
    if names:
        named = f"the name {names[0]}" if len(names) == 1 else f"the names {', '.join(names)}"
        click.echo(
            f"wink: {named}: more than {LONGEST_NAME} characters, which some MCP clients cut or refuse", err=True
        )
