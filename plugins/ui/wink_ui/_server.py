"""Serve the page on this machine's own address, until a signal comes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from wink.limits import Stopping
from wink.workspace import Workspace
from wink_http import Access, Address, HttpServer
from wink_ui._app import Page, page_app


def serve_page(
    opening: Callable[[], Workspace],
    port: int = 0,
    *,
    listening: Callable[[str], object],
    token: str = "",
    portable_names: Callable[[], bool] = bool,
    check_settings: Callable[[], object] = bool,
) -> int:
    """Serve the page of a workspace until it is asked to end; the exit status.

    `opening` opens the workspace; where it raises, the page says why, and it is asked again. `listening` is told the address to open. Port 0 takes any that is free; raises `AddressRefused` where one is taken.
    `portable_names` is asked at each accept whether it refuses new names that Windows cannot hold.
    `check_settings` raises what is wrong with the settings before a call is approved or a try accepted.
    """
    token = token or secrets.token_urlsafe(32)
    page, stopping = Page(opening, portable_names=portable_names, check_settings=check_settings), Stopping(tuple)
    with Address("127.0.0.1", port).bind() as socket:
        listening(f"http://127.0.0.1:{socket.getsockname()[1]}/?token={token}")
        with stopping.on_signals():
            asyncio.run(_serve(page, token, stopping, socket))
    page.close()
    stopping.over()
    return stopping.status


async def _serve(page: Page, token: str, stopping: Stopping, socket: Any) -> None:
    http, loop = HttpServer(page_app(page, token), Access(token)), asyncio.get_running_loop()

    def end() -> None:
        page.live.end()
        http.should_exit = True

    stopping.when_asked(lambda: loop.call_soon_threadsafe(end))
    await http.serve([socket])
