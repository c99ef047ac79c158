"""`wink ui`: a local page to watch what agents do, and to take it back."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import click

from wink.cli._calls import opened_for_reading, workspace_option
from wink.cli._shorten import visible
from wink.errors import WinkError

_LEADING: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><title>wink</title><p><a href="{url}">Open the page</a></p></html>\n'
)


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

    with ExitStack() as page:

        def listening(url: str) -> None:
            click.echo(url)
            click.echo("wink: the page is open to whoever has this address; Ctrl-C ends it", err=True)
            sys.stdout.flush()
            if not opens or not _has_screen():
                return
            try:
                _open(page.enter_context(leading_to(url)))
            except (WinkError, OSError) as error:
                click.echo(visible(f"wink: open the address yourself; no file could be made for it: {error}"), err=True)

        root = workspace_root(workspace)
        return serve_page(lambda: opened_for_reading(root), port, listening=listening)


@contextmanager
def leading_to(url: str) -> Generator[str]:
    """The address of a file that only this user can read, and that leads a browser to a page.

    The command line of a browser is for every user of the machine to read, so the page's own address, which has its token,
    must not stand there.
    """
    from wink.state import key_problem, opened_directory, replace_file, user_directory

    above = user_directory()
    problem = key_problem()  # which makes that directory, and tells whether others may write there
    if above is None or problem is not None:
        raise WinkError(problem or "there is no directory of yours for it")
    directory = os.path.join(os.path.realpath(above), "pages")
    name = f"{os.getpid()}.html"
    with opened_directory(directory, make=True) as fd:
        replace_file(fd, name, _LEADING.format(url=html.escape(url)).encode())
        try:
            yield Path(directory, name).as_uri()
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=fd)


def _has_screen() -> bool:
    """Whether there is a screen; without one, only a browser that the user has chosen: one for the terminal would take that over."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _open(url: str) -> None:
    """Open a page, on a thread: some browsers keep whoever started them."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
