"""Serve any number of clients over streamable HTTP, on addresses of this machine only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Final

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from wink.mcp._address import Address, is_of_this_machine
from wink.mcp._lines import LONGEST_LINE
from wink.mcp._server import SESSION_IN_SCOPE
from wink.mcp._serving import Serving
from wink.mcp._stopping import Stopping

PATH: Final = "/mcp"
"""Where the server is found; `/mcp/NAME` is the same in the session NAME."""

_LET_GO: Final = 0.5
"""How many seconds connections have to close by themselves."""


def serve_http(serving: Serving, address: Address, *, listening: Callable[[str], object]) -> int:
    """Serve at an address until a signal comes; the exit status. `listening` is told the URL; raises `AddressRefused`."""
    stopping = Stopping(serving.calls.open_transactions)
    with address.bind() as socket:
        host = f"[{address.host}]" if ":" in address.host else address.host
        listening(f"http://{host}:{socket.getsockname()[1]}{PATH}")
        with stopping.on_signals():
            asyncio.run(_serve(serving, stopping, socket))
    return stopping.status  # the end of the process is seen to as well: what has been mounted may not want to close


async def _serve(serving: Serving, stopping: Stopping, socket: Any) -> None:
    manager = StreamableHTTPSessionManager(serving.server(), max_request_body_size=LONGEST_LINE)
    gate = Gate(manager)
    config = uvicorn.Config(
        gate,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    http, asked, loop = _Server(config), asyncio.Event(), asyncio.get_running_loop()
    stopping.when_asked(lambda: loop.call_soon_threadsafe(asked.set))
    serving_http = asyncio.create_task(http.serve([socket]))
    async with manager.run():
        await asyncio.wait([serving_http, asyncio.create_task(asked.wait())], return_when=asyncio.FIRST_COMPLETED)
        gate.is_open = False
        await serving.calls.end()
    http.should_exit = True
    logging.getLogger("uvicorn.error").disabled = True  # it says of every connection that it did not wait for it
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(serving_http), _LET_GO)
    http.force_exit = True
    await serving_http


class Gate:
    """Lets in who speaks to this machine by its own name, and sends them on with the session that the path names."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager
        self.is_open = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        problem = self._problem(scope)
        if problem is not None:
            status, text = problem
            await PlainTextResponse(text + "\n", status_code=status)(scope, receive, send)
            return
        name = scope["path"].removeprefix(PATH).strip("/")
        await self._manager.handle_request({**scope, SESSION_IN_SCOPE: name or None}, receive, send)

    def _problem(self, scope: Scope) -> tuple[int, str] | None:
        hosts = _header(scope, b"host")
        if len(hosts) != 1 or not is_of_this_machine(hosts[0]):
            return 421, "wink: this server answers only to 127.0.0.1, localhost and [::1]"
        for origin in _header(scope, b"origin"):
            scheme, separator, host = origin.partition("://")
            if not separator or scheme not in ("http", "https") or not is_of_this_machine(host):
                return 403, "wink: this server does not answer to pages of the web"
        path = scope["path"]
        if path != PATH and not (path.startswith(PATH + "/") and "/" not in path[len(PATH) + 1 :]):
            return 404, f"wink: there is nothing here; the server is at {PATH}, or {PATH}/NAME for the session NAME"
        return None if self.is_open else (503, "wink: the server is ending")


class _Server(uvicorn.Server):
    """uvicorn, with signals left to whoever started it."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture none."""
        yield


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
