"""`wink serve --print-config CLIENT`: the snippet with which a client reaches the server that is described."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from wink.cli import installed_catalog, one_line, wrong
from wink_mcp.clients import CLIENTS, Endpoint, Program, client_config
from wink_mcp.commands._http_options import HttpOptions, Listening, served_directory

_USERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME")

print_config_option = click.option(
    "--print-config",
    "client",
    type=click.Choice(list(CLIENTS)),
    metavar="CLIENT",
    help=f"Print what a client has to be told to use this server, and end: {', '.join(CLIENTS)}.",
)
write_option = click.option(
    "--write",
    is_flag=True,
    help="With --print-config, write it into the client's file in the workspace, beside what is there, instead.",
)


def print_config(client: str, at: HttpOptions, *, write: bool = False) -> int:
    """Print the snippet for a client, with the options of the command that runs; where it belongs goes to stderr.

    With `write` it is put into the client's file in the workspace, and what was written is told. The client starts the server
    itself, unless it is to run at an address.
    """
    context = click.get_current_context()
    workspace = served_directory(context.params["workspace"])
    listening = at.listening(workspace)
    catalog = installed_catalog(workspace)
    # A name that does not exist is told here, since clients tend to hide why a server does not start.
    for name in context.params["sections"]:
        catalog.use("section", name)
    for name in context.params["policies"]:
        catalog.use("policy", name)
    command = [*own_command(), "serve", *given_options(context, workspace)]
    program = Program(command[0], tuple(command[1:]), _variables())
    config = client_config(client, program if listening is None else _reached(listening))
    has_token = listening is not None and listening.access.token is not None
    if write:
        if not config.file:
            raise wrong(
                f"{client} reads no file of the workspace, and none outside is written; without --write, {config.place}"
            )
        from wink_mcp.commands._write_config import write_config  # which `--help` does not need

        click.echo(one_line(write_config(workspace, config, is_secret=has_token)))
    else:
        click.echo(config.text, nl=False)
        click.echo(f"wink: {config.place}", err=True)
    if listening is not None:
        if has_token:
            click.echo(
                "wink: it holds the server's token, so keep it out of what others see, such as a commit", err=True
            )
        click.echo(f"wink: and start the server, before the client: {shlex.join(command)}", err=True)
    return 0


def _variables() -> dict[str, str]:
    """Where the user's settings and key are, if elsewhere than usual: most clients keep all but a few variables from a server."""
    return {name: os.environ[name] for name in _USERS if os.path.isabs(os.environ.get(name, ""))}


def _reached(listening: Listening) -> Endpoint:
    address, access, _ = listening
    if address.port == 0:
        raise wrong("a client has to be told the port; name one, such as 8765")
    headers = {} if access.token is None else {"Authorization": f"Bearer {access.token}"}
    return Endpoint(f"{access.url(address)}/mcp", headers)


def own_command() -> tuple[str, ...]:
    """How to start this wink from any directory, and whatever lies in it."""
    started = shutil.which(sys.argv[0]) if os.path.basename(sys.argv[0]) == "wink" else None
    beside = os.path.join(os.path.dirname(sys.executable), "wink")
    for script in (started, beside):
        if script is not None and os.access(script, os.X_OK):
            return (os.path.abspath(script),)
    return (sys.executable, "-P", "-m", "wink")  # -P: not with what lies in the directory where the client starts it


def given_options(context: click.Context, workspace: str) -> Iterator[str]:
    """The options that were given, and the workspace, as they would be typed again."""
    yield from ("--workspace", workspace)
    for path in context.meta.get("wink.tools", ()):
        yield from ("--tools", os.path.abspath(path))
    for option in context.command.params:
        name = option.name
        if not isinstance(option, click.Option) or name in (None, "workspace", "client", "tools", "write"):
            continue
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        # `--overrides` is no parameter of the commands; it waits in the context for whoever composes the prompt.
        value: Any = context.params[name] if name in context.params else context.meta[f"wink.{name}"]
        if option.is_flag:
            yield option.opts[-1] if value else option.secondary_opts[-1]
            continue
        values: tuple[Any, ...] = value if option.multiple else (value,)
        for one in values:
            text = os.path.abspath(str(one)) if isinstance(option.type, click.Path) else str(one)
            yield from (f"{option.opts[-1]}={text}",) if text.startswith("-") else (option.opts[-1], text)
