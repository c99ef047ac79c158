"""Threads with an event loop each, which are used again: making a loop costs more than most calls take."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

BUSY: Final = "wink-handler"
"""The name of a thread that runs a call: whoever ends the process does not wait for it."""

_IDLE: Final = "wink-idle"
_MOST_IDLE: Final = 4

_idle: list[_Loop] = []


class Running(Generic[T]):
    """A coroutine on a loop of its own."""

    def __init__(self, call: Callable[[], Coroutine[Any, Any, T]], context: contextvars.Context) -> None:
        self.ended: Future[T] = Future()
        self._call, self._context = call, context
        self._task: asyncio.Task[None] | None = None
        self.ended.set_running_or_notify_cancel()
        try:
            self._loop = _idle.pop()
        except IndexError:
            self._loop = _Loop()
        self._loop.name = BUSY
        self._loop.loop.call_soon_threadsafe(self._begin)

    def cancel(self) -> None:
        """Cancel it, from any thread."""
        with suppress(RuntimeError):  # the loop has been closed: it has ended
            self._loop.loop.call_soon_threadsafe(self._cancel)

    def _begin(self) -> None:
        self._task = self._loop.loop.create_task(self._run(), context=self._context)
        self._task.add_done_callback(self._over)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        # Nothing leaves this task: what ends a program would end the loop, and not the program.
        try:
            value = await self._call()
        except BaseException as error:  # foreign code; raised again where it is waited for
            self._loop.rest()
            self.ended.set_exception(error)
        else:
            self._loop.rest()
            self.ended.set_result(value)

    def _over(self, task: asyncio.Task[None]) -> None:  # noqa: ARG002
        if not self.ended.done():  # cancelled before its first step
            self._loop.rest()
            self.ended.set_exception(asyncio.CancelledError())
        self._loop.stop_unless_resting()


class _Loop(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name=BUSY, daemon=True)
        self.loop = asyncio.new_event_loop()
        self._rests = self._is_over = False
        self.start()

    def run(self) -> None:
        """Run the loop until it is not wanted any more."""
        try:
            while not self._is_over:
                with suppress(
                    BaseException
                ):  # foreign code: what a task lets out that a policy or a reducer has left here
                    self.loop.run_forever()
        finally:
            self.loop.close()

    def rest(self) -> None:
        """Be free for the next call, if it is wanted; on the loop's thread, at the end of a call."""
        self._rests = len(_idle) < _MOST_IDLE
        if self._rests:
            self.name = _IDLE
            _idle.append(self)

    def stop_unless_resting(self) -> None:
        """End the loop when it is not kept; on the loop's thread."""
        if not self._rests:
            self._is_over = True
            self.loop.stop()


# Of the threads only the one that forks is there in the child.
os.register_at_fork(after_in_child=_idle.clear)
