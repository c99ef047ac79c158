"""uvicorn for clients that nobody has invited: each is let go when it is too slow, and none takes another's place.

Who connects and shows nothing can hold a socket, and with enough of them all descriptors of the process, those that tools open
files with, too. So connections are accepted one at a time; those on which nobody has been admitted yet are few, and when one
more comes, the oldest of them is ended. A client that is meant shows its token with its first request, some milliseconds
after it has connected; whoever holds connections without one only ever pushes out others of that kind.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Final, cast

import uvicorn
from starlette.types import ASGIApp, Scope

from wink_http._access import Access
from wink_http._connection import ADMIT, Connection, Limits

__all__ = ["HttpServer", "Limits", "admit"]

_PAUSE: Final = 0.05
"""Seconds until the next try when the system has no descriptor left."""


def admit(scope: Scope) -> bool:
    """Take whoever has sent a request for one that is meant; False where there are too many of those already."""
    return cast("Callable[[], bool]", scope.get(ADMIT, lambda: True))()


class HttpServer(uvicorn.Server):
    """Serves one application on a socket that listens, until `should_exit`; signals are left to whoever started it."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits | None = None) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            log_config=None,
            log_level="error",  # a line for every bad request would be for strangers to write
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self._access, self._limits = access, limits or _usual()
        self._strangers: dict[Connection, None] = {}
        self._admitted: set[Connection] = set()
        self._accepting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        assert sockets is not None, "it is given the socket that it listens on"
        await self.lifespan.startup()
        self.servers = []
        self._accepting = asyncio.create_task(self._accept(sockets[0]))
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and let those that are there end."""
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
        logging.getLogger("uvicorn.error").disabled = True  # it says of every connection that it did not wait for it
        await super().shutdown(sockets)
        held = {*self._strangers, *cast("set[Connection]", self.server_state.connections)}
        for connection in held:
            connection.let_go()
        while held and (self._strangers or self.server_state.connections):
            await asyncio.sleep(0)  # until each has been told, and has closed its socket

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: let go of those who have stood still for too long."""
        now = asyncio.get_running_loop().time()
        for connection in tuple(cast("set[Connection]", self.server_state.connections)):
            if connection.is_overdue(now, self._limits):
                connection.let_go()
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture none."""
        yield

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError:  # no descriptor is left, or the client has gone again
                self._make_room(0)
                await asyncio.sleep(_PAUSE)
                continue
            self._make_room(self._limits.strangers - 1)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a machine that has vanished says nothing
            connection = Connection(self.config, self.server_state, self._admit, self._forget)
            self._strangers[connection] = None
            connection.arriving = asyncio.create_task(self._welcome(connection, accepted))
            connection.arriving.add_done_callback(partial(self._arrived, connection, accepted))

    async def _welcome(self, connection: Connection, accepted: socket.socket) -> None:
        # Its own limit, since there is no transport to look at before the handshake is over.
        patience = None if self._access.tls is None else self._limits.head
        await connection.loop.connect_accepted_socket(
            lambda: connection, accepted, ssl=self._access.tls, ssl_handshake_timeout=patience
        )

    def _arrived(self, connection: Connection, accepted: socket.socket, welcoming: asyncio.Task[None]) -> None:
        # Not in the task: one that is cancelled before it has begun runs no `except` of its own.
        if (
            welcoming.cancelled() or welcoming.exception() is not None
        ):  # it speaks no TLS, has gone, or had to make room
            self._forget(connection)
            accepted.close()

    def _make_room(self, most: int) -> None:
        """End the oldest connections of strangers until there are at most so many."""
        while len(self._strangers) > most:
            oldest = next(iter(self._strangers))
            self._forget(oldest)
            oldest.let_go()

    def _admit(self, connection: Connection) -> bool:
        if connection in self._admitted:
            return True
        if len(self._admitted) >= self._limits.admitted:
            return False
        self._strangers.pop(connection, None)
        self._admitted.add(connection)
        return True

    def _forget(self, connection: Connection) -> None:
        self._strangers.pop(connection, None)
        self._admitted.discard(connection)


def _usual() -> Limits:
    """The usual limits, lowered where the process may have few descriptors: tools need some as well."""
    usual, (most, _) = Limits(), resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return usual
    return usual._replace(strangers=min(usual.strangers, most // 8), admitted=min(usual.admitted, most // 4))
