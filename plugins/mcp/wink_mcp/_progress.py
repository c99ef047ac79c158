"""Tell a client that a call is alive, each time its handler says so."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from wink.limits import Heartbeat

MOST_WAITING: Final = 32
"""Of beats that come faster than the client reads, the oldest beyond so many are left out."""


class Progress:
    """Sends the number of each beat of one call, in order, and nothing after the call's end.

    Beats come from the handler's thread; everything else happens on the event loop.
    """

    def __init__(self, send: Callable[[int], Awaitable[object]]) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[int] = deque(maxlen=MOST_WAITING)
        self._sending: asyncio.Task[None] | None = None
        self._beats = -1  # the executor beats once itself, before the handler
        self._is_over = False

    def heartbeat(self) -> Heartbeat:
        """What the call is to beat."""
        heartbeat = Heartbeat()
        heartbeat.add_callback(self._beat)
        return heartbeat

    async def end(self) -> None:
        """Send what is waiting, and then no more."""
        self._is_over = True
        if self._sending is not None:
            await asyncio.wait([self._sending])

    def drop(self) -> None:
        """Send nothing more: nobody waits for this call."""
        self._is_over = True
        self._waiting.clear()
        if self._sending is not None:
            self._sending.cancel()

    def _beat(self) -> None:
        with suppress(RuntimeError):  # the loop has been closed: a thread that was left behind beats on
            self._loop.call_soon_threadsafe(self._note)

    def _note(self) -> None:
        self._beats += 1
        if self._is_over or self._beats < 1:
            return
        self._waiting.append(self._beats)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        while self._waiting:
            try:
                await self._send(self._waiting.popleft())
            except Exception:  # foreign code: the transport; the call's result will find out
                self._waiting.clear()
