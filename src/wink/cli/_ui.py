"""`wink ui`: a local page to watch what agents do, and to take it back."""

from __future__ import annotations

import os
import sys

import click

from wink.cli._calls import opened_for_reading, workspace_option


@click.command()
@workspace_option
@click.option(
    "--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="Where to listen; 0 takes a free port."
)
@click.option("--open/--no-open", "opens", default=True, help="Whether to open the page in a browser.")
def ui(workspace: str, port: int, opens: bool) -> int:
    """Serve a page with the calls as they happen, their diffs, and what waits for you.

    It listens on this machine only, and opens only with the address that is printed. Ctrl-C ends it.
    """
    from wink.ui import serve_page
    from wink.workspace._root import workspace_root

    def listening(url: str) -> None:
        click.echo(url)
        click.echo("wink: the page is open to whoever has this address; Ctrl-C ends it", err=True)
        sys.stdout.flush()
        if opens:
            _open(url)

    root = workspace_root(workspace)
    return serve_page(lambda: opened_for_reading(root), port, listening=listening)


def _open(url: str) -> None:
    """Open the page, on a thread: some browsers keep whoever started them.

    Without a screen, only a browser that the user has chosen: one for the terminal would take that over.
    """
    import threading
    import webbrowser

    has_screen = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if not has_screen:
        return
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
