"""`wink serve`: give MCP clients a workspace's tools."""

from __future__ import annotations

import sys
import threading

import click

from wink.cli._compose import compose, open_workspace, workspace_options
from wink.cli._print_config import print_config, print_config_option
from wink.cli._settings import installed_catalog
from wink.mcp import Serving, serve_stdio


@click.command()
@workspace_options
@print_config_option
def serve(
    workspace: str, session: str, sections: tuple[str, ...], policies: tuple[str, ...], client: str | None
) -> int:
    """Serve a workspace's tools to an MCP client.

    The client starts this command and talks to it over standard input and output.
    """
    if client is not None:
        return print_config(client)
    with open_workspace(workspace) as opened:
        prompt = compose(opened, installed_catalog(workspace), sections=sections, policies=policies)
        with prompt.resources:
            serving = Serving(prompt, opened.session, default=opened.session(session).name)
            status = serve_stdio(serving)
    if _left_behind():
        from wink.mcp._stopping import end_now

        end_now(status)
    return status


def _left_behind() -> bool:
    """Whether threads run on that nothing could end: the process must not wait for them."""
    sys.stdout.flush()
    return any(
        thread.name == "wink-handler" or not thread.daemon
        for thread in threading.enumerate()
        if thread is not threading.main_thread()
    )
