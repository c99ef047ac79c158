"""`wink ui`: a local page to watch what agents do, and to take it back."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from functools import partial

import click

from wink.cli import check_settings, open_workspace, portable_names_for, visible, workspace_option, wrong
from wink.errors import WinkError


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@workspace_option
@click.option(
    "--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="Where to listen; 0 takes a free port."
)
@click.option("--open/--no-open", "opens", default=True, help="Whether to open the page in a browser.")
def ui(paths: tuple[str, ...], workspace: str, port: int, opens: bool) -> int:
    """Serve a page with the calls as they happen, their diffs, and what waits for you.

    Of the workspace at each PATH, with a list of them where there are several; otherwise of the one that is found.
    It listens on this machine only, and opens only with the address that is printed. Ctrl-C ends it.
    Where the workspace's settings make no sense, it shows and takes back what was done, and lets no call run.
    """
    from wink.workspace import workspace_root
    from wink_ui import leading_to, serve_page

    source = click.get_current_context().get_parameter_source("workspace")
    if paths and source is click.core.ParameterSource.COMMANDLINE:
        raise wrong("the workspace is named twice, by PATH and by --workspace; leave one of them out")

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

        return serve_page(
            _once([workspace_root(path) for path in paths or (workspace,)]),
            port,
            listening=listening,
            opening=partial(open_workspace, looking=True),
            portable_names=portable_names_for,
            check_settings=check_settings,
        )


def _once(roots: list[str]) -> list[str]:
    """The workspaces; raises `WrongInput` where one is named twice, in whatever way."""
    found: dict[tuple[int, int], str] = {}
    for root in roots:
        status = os.stat(root)
        first = found.setdefault((status.st_dev, status.st_ino), root)
        if first is not root:
            raise wrong(f"{root!r} is the same workspace as {first!r}; name each once")
    return roots


def _has_screen() -> bool:
    """Whether there is a screen; without one, only a browser that the user has chosen: one for the terminal would take that over."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _open(url: str) -> None:
    """Open a page, on a thread: some browsers keep whoever started them."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
