"""Serve any number of clients over streamable HTTP: those that show the token, under the server's own name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from wink.limits import Stopping
from wink_http import Access, Address, HttpServer, admit, bearer_problem, names_in
from wink_mcp._lines import LONGEST_LINE
from wink_mcp._server import SESSION_IN_SCOPE
from wink_mcp._serving import Serving

PATH: Final = "/mcp"
"""Where the server is found; `/mcp/NAME` is the same in the session NAME."""

MOST_SESSIONS: Final = 512
"""So many sessions of the transport may be open; one that nobody asks anything of for half an hour is closed."""

_LET_GO: Final = 0.5
"""How many seconds connections have to close by themselves."""
_SHOW: Final = (
    "wink: show the server's token, as in `Authorization: Bearer TOKEN`; `wink serve --print-config CLIENT`, with the options "
    "that the server has, prints it for a client"
)


def serve_http(
    serving: Serving, address: Address, access: Access, *, listening: Callable[[str, Address], object]
) -> int:
    """Serve at an address until a signal comes; the exit status.

    `access` says who may use it. `listening` is told the URL for clients, and the address. Raises `AddressRefused`.
    """
    access.check(address)
    stopping = Stopping(serving.calls.open_transactions)
    with address.bind() as socket:
        address = address._replace(port=socket.getsockname()[1])
        listening(access.url(address) + PATH, address)
        with stopping.on_signals():
            asyncio.run(_serve(serving, access, address, stopping, socket))
    return stopping.status  # the end of the process is seen to as well: what has been mounted may not want to close


async def _serve(serving: Serving, access: Access, address: Address, stopping: Stopping, socket: Any) -> None:
    manager = StreamableHTTPSessionManager(
        serving.server(), max_request_body_size=LONGEST_LINE, max_sessions=MOST_SESSIONS
    )
    gate = Gate(manager, access.names(address), access.token)
    http, asked, loop = HttpServer(gate, access), asyncio.Event(), asyncio.get_running_loop()
    stopping.when_asked(lambda: loop.call_soon_threadsafe(asked.set))
    serving_http = asyncio.create_task(http.serve([socket]))
    async with manager.run():
        await asyncio.wait([serving_http, asyncio.create_task(asked.wait())], return_when=asyncio.FIRST_COMPLETED)
        gate.is_open = False
        await serving.calls.end()
    http.should_exit = True
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(serving_http), _LET_GO)
    http.force_exit = True
    await serving_http


class Gate:
    """Lets in who calls the server by its name and shows the token, and sends them on with the session that the path names."""

    def __init__(self, manager: StreamableHTTPSessionManager, names: frozenset[str], token: str | None) -> None:
        self._manager, self._names, self._token = manager, names, token
        self.is_open = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        name = scope["path"].removeprefix(PATH).strip("/")
        # The SDK answers for a session of its own only to the user that began it, and to others as if there were none.
        # Here a path is a user: what it is asked for at one must not be had, listened to or ended at another.
        user = AuthenticatedUser(AccessToken(token="", client_id=scope["path"], scopes=[]))
        await self._manager.handle_request({**scope, SESSION_IN_SCOPE: name or None, "user": user}, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer instead; None for a request that may go on."""
        stranger = names_in(scope["headers"], self._names)
        if stranger is not None:
            return _told(*stranger)
        path = scope["path"]
        if path != PATH and not (path.startswith(PATH + "/") and "/" not in path[len(PATH) + 1 :]):
            return _told(
                404, f"wink: there is nothing here; the server is at {PATH}, or {PATH}/NAME for the session NAME"
            )
        problem = None if self._token is None else bearer_problem(scope["headers"], self._token)
        if problem is not None:
            return _told(401, _SHOW, {"www-authenticate": problem})
        if not self.is_open:
            return _told(503, "wink: the server is ending")
        if not admit(scope):
            return _told(503, "wink: too many clients are connected; close some of them")
        return None


def _told(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(text + "\n", status, headers)
