"""Serve the page on this machine's own address, until a signal comes, and lead a browser to it."""

from __future__ import annotations

import asyncio
import html
import os
import secrets
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from wink.errors import WinkError
from wink.limits import Stopping
from wink.state import key_problem, opened_directory, replace_file, user_directory
from wink.workspace import Workspace
from wink_http import Access, Address, HttpServer
from wink_ui._app import Page, never
from wink_ui._several import Pages, roots_of

_LEADING: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><title>wink</title><p><a href="{url}">Open the page</a></p></html>\n'
)


def serve_page(
    paths: Sequence[str],
    port: int = 0,
    *,
    listening: Callable[[str], object],
    token: str = "",
    opening: Callable[[str], Workspace] = Workspace.open,
    portable_names: Callable[[str], bool] = never,
    check_settings: Callable[[str], object] = never,
) -> int:
    """Serve the page of the workspaces at `paths` until it is asked to end; the exit status.

    Of several, `/` is a list, and each has its pages below `/w/` and its name. `opening` opens one; where it raises, the page says why, and it is asked again. `listening` is told the address to open. Port 0 takes any that is free; raises `AddressRefused` where one is taken.
    `portable_names` is asked at each accept whether a workspace refuses new names that Windows cannot hold.
    `check_settings` raises what is wrong with its settings before a call is approved or a try accepted.
    """
    token, stopping = token or secrets.token_urlsafe(32), Stopping(tuple)
    roots = roots_of(paths) if len(paths) > 1 else [""]
    pages = Pages(
        [
            Page(path, root, opening=opening, portable_names=portable_names, check_settings=check_settings)
            for path, root in zip(paths, roots, strict=True)
        ]
    )
    with Address("127.0.0.1", port).bind() as socket:
        listening(f"http://127.0.0.1:{socket.getsockname()[1]}/?token={token}")
        with stopping.on_signals():
            asyncio.run(_serve(pages, token, stopping, socket))
    pages.close()
    stopping.over()
    return stopping.status


async def _serve(pages: Pages, token: str, stopping: Stopping, socket: Any) -> None:
    http, loop = HttpServer(pages.app(token), Access(token)), asyncio.get_running_loop()

    def end() -> None:
        pages.end()
        http.should_exit = True

    stopping.when_asked(lambda: loop.call_soon_threadsafe(end))
    await http.serve([socket])


@contextmanager
def leading_to(url: str) -> Generator[str]:
    """The address of a file that only this user can read, and that leads a browser to a page.

    The command line of a browser is for every user of the machine to read, so the page's own address, which has its token,
    must not stand there.
    """
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
