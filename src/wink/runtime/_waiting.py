"""Wait for leases, siblings and handlers: once for threads, once for coroutines.

The executor is one coroutine for both. With `Blocking` it never suspends, so that `drive` runs it to its end without an
event loop, on the caller's thread; with `Cooperative` it is awaited like any other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

from wink.filesystem import WriteLock
from wink.limits import is_interruption
from wink.runtime._threads import in_thread

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

LEASE_SECONDS: Final = 60.0
"""How long a mutating call waits for the one before it when the run has no deadline."""


class HandlerTimedOut(Exception):
    """The handler did not return in time; it may still be running, behind revoked handles."""


class Waiting(Protocol):
    """How one way of calling waits."""

    gathers: ClassVar[bool]
    """Whether calls that are made at once are to run in the order in which they were made."""

    async def turn(self, turns: WriteLock, timeout: float) -> None:
        """Take the turn."""
        ...

    async def sibling(self, ended: Future[None]) -> None:
        """Wait until an earlier call of the batch has ended."""
        ...

    async def policies(self, work: Callable[[], T], left: Callable[[], float]) -> T:
        """Run what asks policies; raises `HandlerTimedOut` when `left()` seconds are over, where it can be left behind."""
        ...

    async def handler(
        self, call: Callable[[], Any], *, is_async: bool, timeout: float | None, apart: bool = False
    ) -> Any:
        """Run a handler and give what it returned; raises `HandlerTimedOut` after `timeout` seconds.

        `apart` keeps one that waits for programs from the thread of an event loop.
        """
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

    gathers: ClassVar = False  # a thread makes one after the other, and another thread may wait for what comes of it

    async def turn(self, turns: WriteLock, timeout: float) -> None:
        """Take the turn."""
        turns.acquire(timeout)

    async def sibling(self, ended: Future[None]) -> None:
        """Wait until an earlier call of the batch has ended."""
        ended.result()

    async def policies(self, work: Callable[[], T], left: Callable[[], float]) -> T:
        """Run what asks policies, on this thread: there is no time limit here, since nobody else waits for it."""
        del left
        return work()

    async def handler(
        self, call: Callable[[], Any], *, is_async: bool, timeout: float | None, apart: bool = False
    ) -> Any:
        """Run a handler: on this thread when nothing limits its time, otherwise on one that can be left behind."""
        del apart  # no loop waits for this thread
        if not is_async:
            returned = call() if timeout is None else _result(in_thread(call), timeout)
            if not hasattr(returned, "__await__"):
                return returned
            # A function that only turns out to be asynchronous when it is called.
            call = _awaited(returned)
        return in_own_loop(call, timeout)


def in_own_loop(call: Callable[[], Any], timeout: float | None = None) -> Any:
    """Run a coroutine function in an event loop of its own, beside one that may be running on this thread.

    Raises `HandlerTimedOut` after `timeout` seconds.
    """
    own = OwnLoop(call)
    if timeout is None and not _loop_is_running():
        return own()
    running = in_thread(own)
    try:
        return running.result() if timeout is None else _result(running, timeout)
    except BaseException:
        own.cancel()
        raise


class Cooperative:
    """Waits without blocking the event loop: what is sync runs on a thread, which can be left behind."""

    __slots__ = ()

    gathers: ClassVar = True

    async def turn(self, turns: WriteLock, timeout: float) -> None:
        """Take the turn."""
        await turns.aacquire(timeout)

    async def sibling(self, ended: Future[None]) -> None:
        """Wait until an earlier call of the batch has ended."""
        if not ended.done():
            import asyncio

            # Shielded: cancelling this call must not cancel the gate, which its siblings need.
            await asyncio.shield(asyncio.wrap_future(ended))

    async def policies(self, work: Callable[[], T], left: Callable[[], float]) -> T:
        """Run what asks policies on a thread, which is left behind when its time is over."""
        import asyncio

        running: asyncio.Future[T] = asyncio.wrap_future(in_thread(work))
        running.add_done_callback(_forget)
        while not running.done():
            seconds = left()
            if seconds <= 0:
                raise HandlerTimedOut
            await asyncio.wait([running], timeout=seconds)
        return running.result()

    async def handler(
        self, call: Callable[[], Any], *, is_async: bool, timeout: float | None, apart: bool = False
    ) -> Any:
        """Run a handler: awaited if it is async, otherwise on a thread that can be left behind."""
        del apart  # a sync one always is
        import asyncio

        if is_async:
            work = _contained(call)
        else:
            on_thread = asyncio.wrap_future(in_thread(call))
            on_thread.add_done_callback(_forget)
            work = _contained(lambda: _finished(on_thread))
        running = asyncio.ensure_future(work)
        try:
            await asyncio.wait([running], timeout=timeout)
        except BaseException:
            running.cancel()
            # Let a handler that cleans up do so before its changes are undone; it has no say in whether they are.
            await asyncio.wait([running], timeout=CLEANUP_SECONDS)
            raise
        if running.done():
            return running.result().outcome()
        running.cancel()
        raise HandlerTimedOut


class Apart(Cooperative):
    """Waits like `Cooperative`, and keeps every handler away from the loop's thread, on one that can be left behind.

    For a server: whatever a handler does, its loop goes on answering. An async handler gets an event loop of its own.
    """

    __slots__ = ()

    gathers: ClassVar = False  # each call has a loop of its own there; the server keeps the order

    async def handler(
        self, call: Callable[[], Any], *, is_async: bool, timeout: float | None, apart: bool = False
    ) -> Any:
        """Run a handler on a thread; one that is given up cannot change anything any more."""
        del apart  # all are
        import asyncio

        on_thread = _OnThread(call, is_async=is_async)
        running = asyncio.wrap_future(in_thread(on_thread))
        running.add_done_callback(_forget)
        try:
            await asyncio.wait([running], timeout=timeout)
        except BaseException:
            if on_thread.cancel():
                # As above: it may clean up. A sync one cannot be interrupted, so nothing would be gained by waiting.
                await asyncio.wait([running], timeout=CLEANUP_SECONDS)
            raise
        if running.done():
            return running.result()
        on_thread.cancel()
        raise HandlerTimedOut


CLEANUP_SECONDS = 1.0
"""How long a cancelled handler may clean up."""


class OwnLoop:
    """Runs a coroutine function in an event loop of its own, from which it can be called back."""

    __slots__ = ("_call", "_cancel", "_cancelled")

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._cancel: Callable[[], object] | None = None
        self._cancelled = False

    def __call__(self) -> Any:
        import asyncio

        return asyncio.run(self._main()).outcome()

    def cancel(self) -> None:
        """Cancel what is running, from any thread, so that a thread and its loop do not wait for nobody."""
        self._cancelled = True
        cancel = self._cancel
        if cancel is not None:
            with suppress(RuntimeError):  # the loop has been closed: it has ended by itself
                cancel()

    async def _main(self) -> _Ended:
        import asyncio

        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None, "a coroutine runs in a task"
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._cancelled:
            raise asyncio.CancelledError
        return await _contained(self._call)


class _OnThread:
    """A handler as a thread runs it: in an event loop of its own as soon as it turns out to be asynchronous."""

    __slots__ = ("_call", "_cancelled", "_own")

    def __init__(self, call: Callable[[], Any], *, is_async: bool) -> None:
        self._call = call
        self._own: OwnLoop | None = OwnLoop(call) if is_async else None
        self._cancelled = False

    def __call__(self) -> Any:
        if self._own is None:
            returned = self._call()
            if not hasattr(returned, "__await__"):
                return returned
            self._own = OwnLoop(_awaited(returned))
            if self._cancelled:
                self._own.cancel()
        return self._own()

    def cancel(self) -> bool:
        """Cancel it where that is possible; whether it is."""
        self._cancelled = True
        own = self._own
        if own is not None:
            own.cancel()
        return own is not None


class _Ended:
    """What a handler came to, as the plain value of a task.

    `SystemExit` would end the loop, and with it all that runs there; and asyncio asks for the representation of what a task
    raised or returned, where anything can happen (on the main thread it then leaves its handler of SIGINT behind).
    """

    __slots__ = ("_error", "_value")

    def __init__(self, value: Any, error: BaseException | None = None) -> None:
        self._value, self._error = value, error

    def outcome(self) -> Any:
        """What the handler returned; raises what it raised."""
        if self._error is None:
            return self._value
        try:
            raise self._error
        finally:
            self._error = None  # or else the exception would hold us, by its traceback, and we the exception


async def _contained(call: Callable[[], Any]) -> _Ended:
    """Await a coroutine function; only a cancellation of this very task is let out."""
    try:
        return _Ended(await call())
    except BaseException as error:  # foreign code; raised again where it is waited for
        from asyncio import CancelledError

        if isinstance(error, CancelledError) and is_interruption(error):
            raise
        return _Ended(None, error)


def _awaited(returned: Any) -> Callable[[], Any]:
    async def wait() -> Any:
        return await returned

    return wait


async def _finished(ended: Awaitable[Any]) -> Any:
    """What a sync handler returned on its thread; awaited if that is what it turned out to need."""
    returned = await ended
    return await returned if hasattr(returned, "__await__") else returned


def _forget(ended: Any) -> None:
    """Look at an exception that nobody may wait for any more, so that asyncio does not report it as lost."""
    if not ended.cancelled():
        ended.exception()


def _result(running: Future[Any], timeout: float) -> Any:
    try:
        return running.result(timeout)
    except TimeoutError:
        # The handler's own TimeoutError, or a result in the last moment, is a result like any other.
        if running.done():
            return running.result()
        raise HandlerTimedOut from None


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
