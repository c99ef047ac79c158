"""One connection of a client: how far its request has come, and whether it has stood still for too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

ADMIT: Final = "wink.admit"
"""The key in a request's ASGI scope that has what is called when the client has shown that it is one that is meant."""

_STEP: Final = 16
"""An answer is read on, if slowly, when 2 to the power of this many bytes of it are read within the limit's time."""


class Limits(NamedTuple):
    """How long each phase of a request may take, in seconds, and how many clients there may be at once."""

    head: float = 10.0
    """From the beginning of a connection, or from the last answer, to the end of the next request's headers."""
    body: float = 60.0
    answer: float = 30.0
    """For each 64 KiB of an answer that waits to be read."""
    closing: float = 5.0
    strangers: int = 64
    """Connections on which nobody has been admitted yet; the oldest makes room for a new one."""
    admitted: int = 256


class Connection(H11Protocol):
    """uvicorn's, which knows limits of its own only for connections that are idle."""

    def __init__(
        self,
        config: Config,
        state: ServerState,
        admit: Callable[[Connection], bool],
        lost: Callable[[Connection], None],
    ) -> None:
        super().__init__(config=config, server_state=state, app_state={})
        self.arriving: asyncio.Task[Any] | None = None
        """What waits for the handshake of TLS; only then is there a transport."""
        self._admit, self._lost = admit, lost
        self._pauses = 0
        self._phase: tuple[object, ...] = ()
        self._since = self.loop.time()
        self._app = self.app
        self.app = self._with_admission  # type: ignore[assignment]

    async def _with_admission(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app({**scope, ADMIT: self._is_admitted}, receive, send)

    def _is_admitted(self) -> bool:
        return self._admit(self)

    def pause_writing(self) -> None:
        """More of an answer waits than the system takes."""
        self._pauses += 1
        super().pause_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over, whoever ended it."""
        self._lost(self)
        super().connection_lost(exc)

    def is_overdue(self, now: float, limits: Limits) -> bool:
        """Whether it has been in one phase for longer than that may take; to be asked again and again."""
        phase, most = self._phase_now(limits)
        if phase != self._phase:
            self._phase, self._since = phase, now
        return most is not None and now - self._since > most

    def _phase_now(self, limits: Limits) -> tuple[tuple[object, ...], float | None]:
        """What it waits for, and for how long it may; a request of its own, and each step of an answer, begin anew."""
        waiting: int = self.transport.get_write_buffer_size() >> _STEP
        if self.transport.is_closing():
            return ("closing", waiting), limits.closing
        if self.flow.write_paused:
            return ("answer", self._pauses, waiting), limits.answer
        if self.conn.their_state is h11.SEND_BODY:
            return ("body", self.cycle), limits.body
        if self.conn.their_state is h11.IDLE:
            return ("head", self.cycle), limits.head
        return ("work", self.cycle), None

    def let_go(self) -> None:
        """End it at once, whatever is still to be sent."""
        if self.transport is not None:  # pyright: ignore[reportUnnecessaryComparison]  # None until the handshake is over
            self.transport.abort()
        elif self.arriving is not None:
            self.arriving.cancel()
