"""`wink acp`: stand between an editor and an agent."""

from __future__ import annotations

import os
import shutil
import sys

import click

from wink.cli import one_line, workspace_option, wrong


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- AGENT [ARGUMENT]...")
@workspace_option
@click.pass_context
def acp(context: click.Context, workspace: str, command: tuple[str, ...]) -> None:
    """Stand between an editor and an agent: what the agent delegates becomes calls.

    The editor starts this command in place of the agent, and talks the Agent Client Protocol over standard input and output.
    Files that the agent has the editor write, and terminals that it asks for, are judged by the rules, recorded in a turn for
    each prompt, and can be undone; everything else goes on unchanged. Without --workspace, the workspace is that of each
    session's directory. The exit status is the agent's.
    """
    if shutil.which(command[0]) is None:
        raise wrong(f"there is no program {command[0]!r} on the PATH")
    from wink.limits import end_now
    from wink_acp._serving import serve

    is_named = context.get_parameter_source("workspace") is click.core.ParameterSource.COMMANDLINE
    if sys.stdin.isatty():
        _tell("waiting for an editor on standard input; an editor starts this itself")
    try:
        status = serve(command, named=os.path.realpath(workspace) if is_named else None, tell=_tell)
    except OSError as error:
        raise wrong(f"{command[0]!r} cannot be started: {error.strerror or error}") from None
    end_now(status)  # threads still read what nobody will send


def _tell(text: str) -> None:
    click.echo(one_line(f"wink: {text}"), err=True)
