"""`wink serve`: give MCP clients a workspace's tools."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import click

from wink.cli._compose import compose, open_workspace, participants, workspace_options
from wink.cli._otel import traced
from wink.cli._print_config import print_config, print_config_option
from wink.cli._settings import installed_catalog
from wink.cli._tools import show_long_names
from wink.cli._wrong import wrong

if TYPE_CHECKING:
    from wink.mcp import Address


@click.command()
@workspace_options
@click.option("--http", metavar="HOST:PORT", help="Serve over HTTP at an address of this machine instead.")
@click.option("--port", metavar="PORT", help="The same as --http 127.0.0.1:PORT; 0 takes any that is free.")
@print_config_option
def serve(
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    http: str | None,
    port: str | None,
    client: str | None,
) -> int:
    """Serve a workspace's tools to an MCP client.

    The client starts this command and talks to it over standard input and output; with --http any number of clients
    talk to one server.
    """
    address = _address(http, port)
    if client is not None:
        return print_config(client, address)
    from wink.mcp import Serving, serve_stdio

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
            if address is None:
                if sys.stdin.isatty():
                    click.echo(
                        "wink: waiting for an MCP client on standard input; a client starts this itself", err=True
                    )
                status = serve_stdio(serving)
            else:
                from wink.mcp import serve_http

                status = serve_http(
                    serving, address, listening=lambda url: click.echo(f"wink: serving at {url}", err=True)
                )
    if _left_behind():
        from wink.mcp._stopping import end_now

        end_now(status)
    return status


def _address(http: str | None, port: str | None) -> Address | None:
    if http is not None and port is not None:
        raise wrong("give the address as --http or the port as --port, not both")
    text = http if http is not None else port
    if text is None:
        return None
    from wink.mcp import address_of

    return address_of(text)


def _left_behind() -> bool:
    """Whether threads run on that nothing could end: the process must not wait for them."""
    return any(
        thread.name == "wink-handler" or not thread.daemon
        for thread in threading.enumerate()
        if thread is not threading.main_thread()
    )
