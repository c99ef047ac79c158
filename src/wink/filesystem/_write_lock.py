"""Let one mutating call at a time onto a tree, in the order in which they asked."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from wink.errors import WorkspaceBusy

if TYPE_CHECKING:
    from concurrent.futures import Future

_SHORTEST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.02
_IN_LINE: Final = 0.002
"""So many seconds a coroutine keeps its event loop: who never waits in line loses to those who do."""


class WriteLock:
    """A fair lock that threads and coroutines can share.

    A coroutine must not block its event loop while another task of the same loop holds the turn, and a thread has no
    loop to wait on; so each waiter leaves a future, which whoever releases completes. The turn belongs to the call and
    not to a thread: it may be given back by another thread than the one that took it.

    `locked` runs when a turn has been taken (it takes a lock that other processes see, and may wait up to the seconds
    that it is given before it raises `WorkspaceBusy`), `unlocked` just before the turn is passed on.
    """

    __slots__ = ("_held", "_lock", "_locked", "_loop", "_name", "_unlocked", "_waiting")

    def __init__(
        self,
        name: str = "the workspace",
        *,
        locked: Callable[[float], None] | None = None,
        unlocked: Callable[[], None] | None = None,
    ) -> None:
        self._name, self._locked, self._unlocked = name, locked, unlocked
        self._lock = threading.Lock()
        self._held = False
        # The event loops of the holder and of those who wait, None for threads.
        self._loop: object = None
        self._waiting: deque[tuple[Future[None], object]] = deque()

    @property
    def is_held(self) -> bool:
        """Whether some call has the turn now."""
        return self._held

    def acquire(self, timeout: float) -> None:
        """Wait at most `timeout` seconds for the turn; raises `WorkspaceBusy` when it does not come.

        On a thread whose event loop is what the turn waits for, waiting would never end: there it raises at once.
        """
        started = time.monotonic()
        ticket = self._queue(None)
        if ticket is None and self._locked is None:
            return
        if ticket is not None:
            try:
                ticket.result(0 if self._waits_for_this_thread() else timeout)
            except TimeoutError:
                self._leave_queue(ticket, started)
            except BaseException:
                self._give_up(ticket)
                raise
        try:
            self._lock_outside(started, timeout)
        except BaseException:
            self._pass_on()
            raise

    async def aacquire(self, timeout: float) -> None:
        """Like `acquire`, without blocking the event loop."""
        started = time.monotonic()
        loop = _running_loop()
        ticket = self._queue(loop)
        if ticket is not None:
            import asyncio

            try:
                # Not `wait_for`: before Python 3.12 it may swallow a cancellation that comes with the result.
                await asyncio.wait([asyncio.wrap_future(ticket)], timeout=timeout)
            except BaseException:
                self._give_up(ticket)
                raise
            self._leave_queue(ticket, started)
        try:
            await self._alock_outside(started, timeout)
        except BaseException:
            self._pass_on()
            raise

    def release(self) -> None:
        """Give the turn to the next in line."""
        try:
            if self._unlocked is not None:
                self._unlocked()
        finally:
            self._pass_on()

    def _queue(self, loop: object) -> Future[None] | None:
        """Take the turn if it is free, otherwise a ticket; `loop` is the event loop that the caller runs on."""
        with self._lock:
            if not self._held:
                self._held, self._loop = True, loop
                return None
            from concurrent.futures import Future

            ticket: Future[None] = Future()
            self._waiting.append((ticket, loop))
            return ticket

    def _waits_for_this_thread(self) -> bool:
        """Whether somebody in front cannot go on before the event loop of this thread does."""
        loop = _running_loop()
        if loop is None:
            return False
        with self._lock:
            return loop is self._loop or any(loop is theirs for ticket, theirs in self._waiting if not ticket.done())

    def _leave_queue(self, ticket: Future[None], started: float) -> None:
        # A ticket that cannot be cancelled was called, perhaps in this very moment: the turn is ours after all.
        if ticket.cancel():
            raise WorkspaceBusy(self._name, time.monotonic() - started) from None

    def _give_up(self, ticket: Future[None]) -> None:
        if not ticket.cancel():
            self._pass_on()

    def _lock_outside(self, started: float, timeout: float) -> None:
        """Take the lock that other processes see."""
        if self._locked is not None:
            self._locked(max(0.0, timeout - (time.monotonic() - started)))

    async def _alock_outside(self, started: float, timeout: float) -> None:
        # Asked for again and again, not on a thread: a thread that waits cannot be stopped, and would take the lock
        # for somebody who has gone.
        pause = _SHORTEST_PAUSE
        while True:
            try:
                return self._lock_outside(time.monotonic(), min(_IN_LINE, timeout))
            except WorkspaceBusy as busy:
                waited = time.monotonic() - started
                if waited >= timeout:
                    raise WorkspaceBusy(busy.workspace, waited, busy.holder) from None
            import asyncio

            await asyncio.sleep(min(pause, timeout - waited))
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _pass_on(self) -> None:
        with self._lock:
            while self._waiting:
                ticket, loop = self._waiting.popleft()
                if ticket.set_running_or_notify_cancel():
                    self._loop = loop
                    ticket.set_result(None)
                    return
            self._held, self._loop = False, None


def _running_loop() -> object:
    """The event loop of this thread; asyncio is not imported to find that there is none."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
