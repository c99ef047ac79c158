"""Run calls away from the server's loop, so that nothing of them can hold it up, and take them back when they are given up."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from wink.runtime import in_thread
from wink.transactions import Transaction, current_transaction
from wink_mcp._loops import Running

T = TypeVar("T")

PATIENCE: Final = 1.5
"""How many seconds a call that is given up may take to end by itself; then it is taken back from outside."""

AT_ONCE: Final = 32
"""So many calls of all clients and sessions may run at once, of those that only read and of the others."""


class Apart:
    """The threads that calls run on, each with an event loop of its own.

    Policies, reducers and whatever else a call brings may block; that is nobody's business but the call's.
    """

    def __init__(self) -> None:
        self._contexts: dict[asyncio.Future[Any], contextvars.Context] = {}
        self._room = {True: asyncio.Semaphore(AT_ONCE), False: asyncio.Semaphore(AT_ONCE)}

    def open_transactions(self) -> tuple[Transaction, ...]:
        """The transactions of the calls that are running; may be asked from any thread."""
        found = (current_transaction(context) for context in tuple(self._contexts.values()))
        return tuple(transaction for transaction in found if transaction is not None)

    async def run(self, call: Callable[[], Coroutine[Any, Any, T]], *, only_reads: bool) -> T:
        """Run a call on a thread; when this is cancelled, the call is taken back before the cancellation goes on."""
        async with self._room[only_reads]:
            context = contextvars.copy_context()
            own = Running(call, context)
            running = asyncio.wrap_future(own.ended)
            self._contexts[running] = context
            running.add_done_callback(self._forget)
            try:
                await asyncio.wait([running])
            except asyncio.CancelledError:
                own.cancel()
                await _end_of(running, PATIENCE)
                if not running.done():
                    await self._take_back(context)
                raise
            return running.result()

    def _forget(self, ended: asyncio.Future[Any]) -> None:
        self._contexts.pop(ended, None)
        if not ended.cancelled():
            ended.exception()  # nobody may wait for it any more

    async def _take_back(self, context: contextvars.Context) -> None:
        """Take back what a call has changed that hangs in a policy or a reducer: it finds its handles revoked."""
        transaction = current_transaction(context)
        if transaction is not None:
            undoing = asyncio.wrap_future(in_thread(transaction.abort))
            await _end_of(undoing)
            if not undoing.cancelled():
                undoing.exception()  # the executor's own attempt, or recovery, will say


async def _end_of(running: asyncio.Future[Any], timeout: float | None = None) -> None:
    """Wait for an end, whoever cancels the waiting meanwhile: what has begun to be taken back is taken back."""
    until = None if timeout is None else time.monotonic() + timeout
    while not running.done():
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            return
        try:
            await asyncio.wait([running], timeout=left)
        except asyncio.CancelledError:
            continue
