"""`wink call`: one tool, on a workspace, through the whole pipeline."""

from __future__ import annotations

import sys

import click

from wink.cli._compose import compose, participants, workspace_options
from wink.cli._opening import open_workspace
from wink.cli._otel import traced
from wink.cli._shorten import visible
from wink.cli._wrong import wrong
from wink.cli.settings import installed_catalog
from wink.cli.work._arguments import arguments_text, find_tool


@click.command()
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@workspace_options
@click.option(
    "--json", "json_arguments", metavar="JSON", help="All arguments as one JSON object, instead of KEY=VALUE."
)
@click.option("--no-input", is_flag=True, help="Never ask; what a person has to approve is denied until they have.")
def call(
    tool: str,
    arguments: tuple[str, ...],
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    json_arguments: str | None,
    no_input: bool,
) -> int:
    """Run one TOOL on a workspace, with policies, transaction and record.

    A value is taken as it stands where the tool wants a string, otherwise as JSON. The session lives in the workspace:
    what one call has read, the next may write.
    """
    if json_arguments is not None and arguments:
        raise wrong("give the arguments as KEY=VALUE or as --json, not both")
    from wink.cli.work._ask import approvals_for
    from wink.runtime import ToolCall, ToolExecutor, with_read_result

    with open_workspace(workspace) as opened:
        catalog = installed_catalog(workspace)
        prompt = compose(opened, catalog, sections=sections, policies=policies)
        state = traced(participants(catalog, sections, policies).watch(opened.session(session)))
        rendered = with_read_result(prompt.render(session=state, check=False), state)
        text = arguments_text(find_tool(rendered, tool), arguments, json_arguments)
        with prompt.resources:
            people = approvals_for(opened.filesystem, no_input=no_input, suspends=False)
            executor = ToolExecutor(prompt=prompt, rendered=rendered, session=state, approvals=people)
            reply = executor.execute(ToolCall(tool, text))
    stream = sys.stdout if reply.success else sys.stderr
    # A file's bytes go through a pipe as they are; a terminal would obey them.
    click.echo(visible(reply.text) if stream.isatty() else reply.text, file=stream, color=True)
    for one in reply.result.attachments:
        if reply.success and not one.text:
            click.echo(
                visible(f"wink: the result has an attachment, which is not shown here: {one.described}"), err=True
            )
    return 0 if reply.success else 1
