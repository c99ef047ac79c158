"""Tell a client that a call is alive, each time its handler says so."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple

from wink.limits import Heartbeat, ProgressReport

MOST_WAITING: Final = 32
"""Of beats that come faster than the client reads, the oldest beyond so many are left out."""


class Step(NamedTuple):
    """One notification: a number that only grows, of how many in all if that is known, and a line."""

    number: float
    total: float | None = None
    message: str | None = None


class Progress:
    """Sends each beat of one call, in order, and nothing after the call's end: its number, or how far the handler says it is.

    Beats come from the handler's thread; everything else happens on the event loop.
    """

    def __init__(self, send: Callable[[Step], Awaitable[object]]) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Step] = deque(maxlen=MOST_WAITING)
        self._sending: asyncio.Task[None] | None = None
        self._beats = -1  # the executor beats once itself, before the handler
        self._last = 0.0
        self._is_over = False

    def heartbeat(self) -> Heartbeat:
        """What the call is to beat."""
        heartbeat = Heartbeat()
        heartbeat.add_callback(lambda: self._beat(heartbeat.progress))
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

    def _beat(self, said: ProgressReport | None) -> None:
        with suppress(RuntimeError):  # the loop has been closed: a thread that was left behind beats on
            self._loop.call_soon_threadsafe(self._note, said)

    def _note(self, said: ProgressReport | None) -> None:
        self._beats += 1
        if self._is_over or self._beats < 1:
            return
        done = None if said is None else said.done
        # It has to grow with each notification, whatever a handler says.
        self._last = done if done is not None and done > self._last else self._last + 1
        total = said.total if said is not None and said.total is not None and said.total >= self._last else None
        self._waiting.append(Step(self._last, total, (said.message or None) if said is not None else None))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        while self._waiting:
            try:
                await self._send(self._waiting.popleft())
            except Exception:  # foreign code: the transport; the call's result will find out
                self._waiting.clear()
