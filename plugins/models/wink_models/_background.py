"""An event loop on a thread of its own, for callers that block."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for threads that wait for them; its connections stay open from one to the next.

    The thread starts with the first coroutine, and never keeps the program alive. A process that was forked starts one of
    its own: threads do not come along.
    """

    __slots__ = ("_lock", "_loop", "_process")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = os.getpid()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine gives; it is cancelled when whoever waits is interrupted.

        Raises `ConnectionAbortedError` when `close` is called meanwhile.
        """
        with self._lock:  # so that `close` finds it begun, or not at all
            running = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return running.result()
        except CancelledError:
            raise ConnectionAbortedError("it was closed") from None
        except BaseException:
            running.cancel()
            raise

    def close(self, *closing: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Await `closing` on the thread, one after the other, and end it; the next coroutine starts another.

        Waits for nothing, so that it may be called from wherever objects are collected.
        """
        with self._lock:
            loop, self._loop = self.loop, None
        if loop is not None:
            loop.call_soon_threadsafe(lambda: loop.create_task(_close(loop, closing)))

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop, while the thread runs."""
        return self._loop if self._process == os.getpid() else None

    def _started(self) -> asyncio.AbstractEventLoop:
        loop = self.loop
        if loop is None:
            self._loop = loop = asyncio.new_event_loop()
            self._process = os.getpid()
            threading.Thread(target=_serve, args=(loop,), name="wink-model", daemon=True).start()
        return loop


async def _close(loop: asyncio.AbstractEventLoop, closing: Iterable[Callable[[], Coroutine[Any, Any, object]]]) -> None:
    try:
        for close in closing:
            with suppress(Exception):  # foreign code: an SDK's client, which is not needed any more
                await close()
    finally:
        loop.stop()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        under_way = asyncio.all_tasks(loop)
        for task in under_way:  # somebody waits for each
            task.cancel()
        loop.run_until_complete(asyncio.gather(*under_way, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
