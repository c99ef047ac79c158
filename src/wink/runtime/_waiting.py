"""Wait for leases, siblings and handlers: once for threads, once for coroutines.

The executor is one coroutine for both. With `Blocking` it never suspends, so that `drive` runs it to its end without an
event loop, on the caller's thread; with `Cooperative` it is awaited like any other.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from wink.filesystem import Turns

T = TypeVar("T")


class HandlerTimedOut(Exception):
    """The handler did not return in time; it may still be running, behind revoked handles."""


class Waiting(Protocol):
    """How one way of calling waits."""

    async def turn(self, turns: Turns, timeout: float) -> None:
        """Take the turn."""
        ...

    async def sibling(self, ended: Future[None]) -> None:
        """Wait until an earlier call of the batch has ended."""
        ...

    async def handler(self, call: Callable[[], Any], *, is_async: bool, timeout: float | None) -> Any:
        """Run a handler and give what it returned; raises `HandlerTimedOut` after `timeout` seconds."""
        ...


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("a blocking call tried to suspend")


class Blocking:
    """Waits by blocking the calling thread."""

    __slots__ = ()

    async def turn(self, turns: Turns, timeout: float) -> None:
        """Take the turn."""
        turns.acquire(timeout)

    async def sibling(self, ended: Future[None]) -> None:
        """Wait until an earlier call of the batch has ended."""
        ended.result()

    async def handler(self, call: Callable[[], Any], *, is_async: bool, timeout: float | None) -> Any:
        """Run a handler: on this thread when nothing limits its time, otherwise on one that can be left behind."""
        if is_async:
            call = _in_own_loop(call)
            if timeout is None and _loop_is_running():
                return _in_thread(call).result()
        if timeout is None:
            return call()
        return _result(_in_thread(call), timeout)


class Cooperative:
    """Waits without blocking the event loop, except for sync handlers, which run on the loop's thread."""

    __slots__ = ()

    async def turn(self, turns: Turns, timeout: float) -> None:
        """Take the turn."""
        await turns.aacquire(timeout)

    async def sibling(self, ended: Future[None]) -> None:
        """Wait until an earlier call of the batch has ended."""
        if not ended.done():
            import asyncio

            # Shielded: cancelling this call must not cancel the gate, which its siblings need.
            await asyncio.shield(asyncio.wrap_future(ended))

    async def handler(self, call: Callable[[], Any], *, is_async: bool, timeout: float | None) -> Any:
        """Run a handler: awaited if it is async, on a thread that can be left behind if its time is limited."""
        if not is_async and timeout is None:
            return call()
        import asyncio

        running = asyncio.ensure_future(call()) if is_async else asyncio.wrap_future(_in_thread(call))
        try:
            await asyncio.wait([running], timeout=timeout)
        except asyncio.CancelledError:
            running.cancel()
            # Let a handler that cleans up do so before its changes are undone; it has no say in whether they are.
            await asyncio.wait([running], timeout=CLEANUP_SECONDS)
            raise
        if running.done():
            return running.result()
        running.cancel()
        running.add_done_callback(_forget)
        raise HandlerTimedOut


CLEANUP_SECONDS = 1.0
"""How long a cancelled handler may clean up."""


def _forget(ended: Any) -> None:
    """Look at an exception that nobody waits for any more, so that asyncio does not report it as lost."""
    if not ended.cancelled():
        ended.exception()


def _result(running: Future[Any], timeout: float) -> Any:
    try:
        return running.result(timeout)
    except TimeoutError:
        # The handler's own TimeoutError is a result like any other.
        if running.done():
            raise
        raise HandlerTimedOut from None


def _in_thread(call: Callable[[], Any]) -> Future[Any]:
    """Start `call` on a thread of its own, which sees this context's variables and never keeps the program alive."""
    ended: Future[Any] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            value = context.run(call)
        except BaseException as error:  # foreign code; raised again where it is waited for
            ended.set_exception(error)
        else:
            ended.set_result(value)

    threading.Thread(target=run, name="wink-handler", daemon=True).start()
    return ended


def _in_own_loop(call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        import asyncio

        async def main() -> Any:
            return await call()

        return asyncio.run(main())

    return run


def _loop_is_running() -> bool:
    import sys

    if "asyncio" not in sys.modules:
        return False
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
