"""`wink serve`: give MCP clients a workspace's tools."""

from __future__ import annotations

import logging
import sys
import threading

import click

from wink.cli import (
    compose,
    installed_catalog,
    note_files,
    open_workspace,
    participants,
    show_long_names,
    traced,
    visible,
    workspace_options,
    wrong,
)
from wink_mcp.commands._http_options import HttpOptions, Listening, http_options
from wink_mcp.commands._print_config import print_config, print_config_option, write_option


@click.command()
@click.argument("files", nargs=-1, metavar="[TOOLS.py]...", type=click.Path(), expose_value=False, callback=note_files)
@workspace_options
@http_options
@print_config_option
@write_option
def serve(
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    at: HttpOptions,
    client: str | None,
    write: bool,
) -> int:
    """Serve a workspace's tools to an MCP client, and those of files of functions.

    The client starts this command and talks to it over standard input and output; with --http any number of clients
    talk to one server. They show it a token, which --print-config puts into what it prints.
    """
    logging.raiseExceptions = False  # a tool may close the stream that is logged to: no reason to answer nobody
    if client is not None:
        return print_config(client, at, write=write)
    if write:
        raise wrong("--write says where to put what --print-config CLIENT prints; name the client, too")
    listening = at.listening(workspace)
    from wink_mcp import Serving, serve_stdio

    with open_workspace(workspace) as opened:
        catalog = installed_catalog(workspace)
        prompt = compose(opened, catalog, sections=sections, policies=policies)
        taking_part = participants(catalog, sections, policies)
        with prompt.resources:
            serving = Serving(
                prompt,
                lambda name: traced(taking_part.watch(opened.session(name))),
                default=opened.session(session).name,
            )
            show_long_names(serving.views.shown().rendered.tools)
            if listening is None:
                if sys.stdin.isatty():
                    click.echo(
                        "wink: waiting for an MCP client on standard input; a client starts this itself", err=True
                    )
                status = serve_stdio(serving)
            else:
                from wink_mcp import serve_http

                status = serve_http(
                    serving,
                    listening.address,
                    listening.access,
                    listening=lambda url, address: _tell(url, listening._replace(address=address)),
                )
    if _left_behind():
        from wink.limits import end_now

        end_now(status)
    return status


def _tell(url: str, listening: Listening) -> None:
    """Say where the server is, and where its token; not the token itself, since what is said here is often kept."""
    click.echo(f"wink: serving at {url}", err=True)
    if listening.access.is_behind_proxy:
        click.echo(f"wink: the proxy reaches it at {listening.address}", err=True)
    if listening.token_file is None:
        click.echo("wink: it asks for no token: every user of this machine may use it", err=True)
    else:
        place = visible(listening.token_file)
        click.echo(
            f"wink: clients show the token in {place}; with --print-config CLIENT it is printed for one", err=True
        )


def _left_behind() -> bool:
    """Whether threads run on that nothing could end: the process must not wait for them."""
    return any(
        thread.name == "wink-handler" or not thread.daemon
        for thread in threading.enumerate()
        if thread is not threading.main_thread()
    )
