"""Let one mutating call at a time onto a tree, in the order in which they asked."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from wink.errors import WorkspaceBusy

if TYPE_CHECKING:
    from concurrent.futures import Future


class Turns:
    """A fair lock that threads and coroutines can share.

    A coroutine must not block its event loop while another task of the same loop holds the turn, and a thread has no
    loop to wait on; so each waiter leaves a future, which whoever releases completes. The turn belongs to the call and
    not to a thread: it may be given back by another thread than the one that took it.

    `locked` runs when a turn has been taken (it takes a lock that other processes see, and may wait up to the seconds
    that it is given before it raises `WorkspaceBusy`), `unlocked` just before the turn is passed on.
    """

    __slots__ = ("_held", "_lock", "_locked", "_name", "_unlocked", "_waiting")

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
        self._waiting: deque[Future[None]] = deque()

    @property
    def is_held(self) -> bool:
        """Whether some call has the turn now."""
        return self._held

    def acquire(self, timeout: float) -> None:
        """Wait at most `timeout` seconds for the turn; raises `WorkspaceBusy` when it does not come."""
        started = time.monotonic()
        ticket = self._queue()
        if ticket is not None:
            try:
                ticket.result(timeout)
            except TimeoutError:
                self._leave_queue(ticket, started)
        self._lock_outside(started, timeout)

    async def aacquire(self, timeout: float) -> None:
        """Like `acquire`, without blocking the event loop."""
        started = time.monotonic()
        ticket = self._queue()
        if ticket is not None:
            import asyncio

            try:
                await asyncio.wait_for(asyncio.wrap_future(ticket), timeout)
            except TimeoutError:
                self._leave_queue(ticket, started)
            except asyncio.CancelledError:
                if not ticket.cancel():
                    self._pass_on()
                raise
        try:
            self._lock_outside(started, 0.0, keep_turn=True)
        except WorkspaceBusy:
            await self._lock_outside_in_thread(started, timeout)

    def release(self) -> None:
        """Give the turn to the next in line."""
        try:
            if self._unlocked is not None:
                self._unlocked()
        finally:
            self._pass_on()

    def _queue(self) -> Future[None] | None:
        """Take the turn if it is free, otherwise a ticket."""
        with self._lock:
            if not self._held:
                self._held = True
                return None
            from concurrent.futures import Future

            ticket: Future[None] = Future()
            self._waiting.append(ticket)
            return ticket

    def _leave_queue(self, ticket: Future[None], started: float) -> None:
        # A ticket that cannot be cancelled was called in this very moment: the turn is ours after all.
        if ticket.cancel():
            raise WorkspaceBusy(self._name, time.monotonic() - started) from None

    def _lock_outside(self, started: float, timeout: float, *, keep_turn: bool = False) -> None:
        """Take the lock that other processes see; `keep_turn` for who will try again when it is busy."""
        if self._locked is None:
            return
        try:
            self._locked(max(0.0, timeout - (time.monotonic() - started)))
        except BaseException as error:
            if not (keep_turn and isinstance(error, WorkspaceBusy)):
                self._pass_on()
            raise

    async def _lock_outside_in_thread(self, started: float, timeout: float) -> None:
        import asyncio

        waiting = asyncio.ensure_future(asyncio.to_thread(self._lock_outside, started, timeout))
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            # The thread cannot be stopped: if it gets the lock after all, the turn goes straight to the next in line.
            def give_back(done: asyncio.Future[None]) -> None:
                if not done.cancelled() and done.exception() is None:
                    self.release()

            waiting.add_done_callback(give_back)
            raise

    def _pass_on(self) -> None:
        with self._lock:
            while self._waiting:
                ticket = self._waiting.popleft()
                if ticket.set_running_or_notify_cancel():
                    ticket.set_result(None)
                    return
            self._held = False
