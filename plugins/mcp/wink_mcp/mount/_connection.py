"""Keep one connection with an MCP server on a thread of its own, for callers on any thread or event loop.

Nothing is started before the first use. A connection that is lost is made anew by the next use, not sooner than a
back-off allows, and a request that was sent is never sent again.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar, cast

from mcp import Client, MCPError
from mcp.client._transport import TransportStreams  # pyright: ignore[reportPrivateUsage]
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, Implementation, ToolListChangedNotification

from wink_mcp._errors import McpServerFailed

T = TypeVar("T")

BACK_OFF_SECONDS: Final = (0.0, 1.0, 2.0, 5.0, 15.0, 60.0)
"""How long after the first, second, … failure in a row the next attempt has to wait."""

SILENT_CALLS: Final = 2
"""So many calls in a row may run out of time, with nothing heard in between, before the server counts as hung."""

LOST_SECONDS: Final = 1.0
"""How long after the SDK's word that a connection is closed its end may take."""

_CLOSING_SECONDS: Final = 15.0


class Opening(Protocol):
    """One attempt to reach the server: its streams, and what can be said when they end."""

    lost: asyncio.Event
    why: str

    def reason(self) -> str:
        """Why it ended."""
        ...

    def streams(self) -> AbstractAsyncContextManager[TransportStreams]:
        """Its streams of messages."""
        ...


@dataclass(eq=False)
class Live:
    """A connection that stands, or has stood."""

    client: Client
    opening: Opening
    host: asyncio.Task[None]
    closing: asyncio.Event
    changes: int = 0
    """How often the server has said that its tools have changed."""
    heard: int = 0
    silent: int = 0

    @property
    def lost(self) -> bool:
        """Whether nothing can be sent over it any more."""
        return self.opening.lost.is_set() or self.closing.is_set() or self.host.done()


@dataclass(eq=False)
class _Background:
    """The thread and the loop of a connection, in one process."""

    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    pid: int = field(default_factory=os.getpid)
    working: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    hosts: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


class Connection:
    """The way to one server. `open_one` makes an attempt to reach it; `run` has work done over the connection."""

    def __init__(self, server: str, open_one: Callable[[], Opening], *, connect_seconds: float) -> None:
        self.server = server
        self._open_one, self._connect_seconds = open_one, connect_seconds
        self._starting = threading.Lock()
        self._background: _Background | None = None
        self._connecting: asyncio.Lock | None = None
        self._live: Live | None = None
        self._failures, self._not_before, self._reason = 0, 0.0, ""

    # Called on any thread.

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, as far as is known."""
        live = self._live
        return live is not None and not live.lost

    def run(self, work: Callable[[Live], Awaitable[T]]) -> Awaitable[T]:
        """Have `work` done over the connection, which is made if need be; to be awaited on the caller's own loop.

        Whoever stops waiting cancels the work, and that tells the server. Raises `McpServerFailed`.
        """
        return asyncio.wrap_future(self._submit(work))

    def run_blocking(self, work: Callable[[Live], Awaitable[T]], timeout: float) -> T:
        """The same for callers without a loop; raises `TimeoutError`."""
        running = self._submit(work)
        try:
            return running.result(timeout)
        except BaseException:
            running.cancel()
            raise

    def close(self, *, wait: bool = True) -> threading.Thread | None:
        """End the connection, and the server if it is ours; what is running fails. The next use opens it again.

        Without `wait` gives the thread that is still busy with it.
        """
        with self._starting:
            background, self._background = self._background, None
            if background is None or background.pid != os.getpid() or not background.thread.is_alive():
                return None
            live, self._live = self._live, None
            self._connecting = None
            self._failures, self._not_before = 0, 0.0

        async def end() -> None:
            if live is not None:
                live.closing.set()
            for task in list(background.working):
                task.cancel()
            if background.hosts:
                await asyncio.wait(background.hosts, timeout=_CLOSING_SECONDS)
            background.loop.stop()

        asyncio.run_coroutine_threadsafe(end(), background.loop)
        if not wait or threading.current_thread() is background.thread:
            return background.thread
        background.thread.join(_CLOSING_SECONDS + 1)
        return None

    def _submit(self, work: Callable[[Live], Awaitable[T]]) -> Any:
        with self._starting:
            background = self._background
            if background is None or background.pid != os.getpid() or not background.thread.is_alive():
                # In a forked child the thread is gone, and the server is the parent's.
                background = self._background = _start(self.server)
                self._live, self._connecting = None, asyncio.Lock()
                _open_connections.add(self)
            return asyncio.run_coroutine_threadsafe(self._worked(work, background), background.loop)

    # Called on the background thread.

    async def _worked(self, work: Callable[[Live], Awaitable[T]], background: _Background) -> T:
        task = asyncio.current_task()
        assert task is not None, "a coroutine runs in a task"
        background.working.add(task)
        try:
            return await self._work(work, background)
        finally:
            background.working.discard(task)

    async def _work(self, work: Callable[[Live], Awaitable[T]], background: _Background) -> T:
        live = await self._connected(background)
        heard = live.heard
        try:
            result = await work(live)
        except TimeoutError:
            live.silent = live.silent + 1 if live.heard == heard else 0
            if live.silent >= SILENT_CALLS:
                self._drop(live, f"it did not say a word during {live.silent} calls")
            raise
        except MCPError as error:
            if await _is_lost(live, error):
                raise McpServerFailed(self.server, await self._lost(live, error), True) from error
            self._answered(live)
            raise
        except Exception as error:
            if live.lost:
                raise McpServerFailed(self.server, await self._lost(live, error), True) from error
            raise
        self._answered(live)
        return result

    def _answered(self, live: Live) -> None:
        live.silent = 0
        if live is self._live:
            self._failures = 0

    async def _connected(self, background: _Background) -> Live:
        assert self._connecting is not None, "work is submitted after the start"
        async with self._connecting:
            live = self._live
            if live is not None and not live.lost:
                return live
            if live is not None:
                await self._lost(live, None)
            wait = self._not_before - time.monotonic()
            if wait > 0:
                raise McpServerFailed(
                    self.server,
                    f"{self._reason}\n(it has failed {self._failures} times in a row; "
                    f"it will not be tried again within the next {wait:.0f} s)",
                )
            try:
                self._live = await self._connect(background)
            except McpServerFailed as error:
                self._failed(error.reason)
                raise
            return self._live

    async def _connect(self, background: _Background) -> Live:
        """Open a connection; one whose server dies of the newest protocol's first question is opened the old way."""
        until = time.monotonic() + self._connect_seconds
        try:
            return await self._attempt("auto", until, background)
        except _DiedOfQuestion:
            return await self._attempt("legacy", until, background)

    async def _attempt(self, mode: str, until: float, background: _Background) -> Live:
        opening, closing = self._open_one(), asyncio.Event()
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        live: Live | None = None

        async def hear(message: Any) -> None:
            if live is not None:
                live.heard += 1
                if isinstance(message, ToolListChangedNotification):
                    live.changes += 1

        async def host() -> None:
            try:
                async with Client(
                    opening.streams(),
                    mode=mode,
                    message_handler=hear,
                    client_info=Implementation(name="wink", version=_version()),
                ) as client:
                    if not ready.done():
                        ready.set_result(client)
                    ended = [asyncio.ensure_future(event.wait()) for event in (closing, opening.lost)]
                    try:
                        await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        for waiting in ended:
                            waiting.cancel()
                        closing.set()
            except BaseException as error:  # foreign code: a transport fails in many ways, in groups too
                first = _first(error)
                if not ready.done():
                    ready.set_exception(first)
                    ready.exception()
                elif not opening.why:
                    opening.why = _told(first)
            finally:
                opening.lost.set()

        task = asyncio.get_running_loop().create_task(host())
        background.hosts.add(task)
        task.add_done_callback(background.hosts.discard)
        try:
            client = await asyncio.wait_for(asyncio.shield(ready), until - time.monotonic())
        except TimeoutError:
            task.cancel()
            raise McpServerFailed(self.server, self._too_late(opening)) from None
        except asyncio.CancelledError:
            task.cancel()
            raise
        except McpServerFailed:
            raise
        except Exception as error:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(task), 1.0)
            if mode == "auto" and isinstance(error, MCPError) and error.error.code == CONNECTION_CLOSED:
                raise _DiedOfQuestion from error
            raise McpServerFailed(self.server, _why(opening, error)) from error
        live = Live(client, opening, task, closing)
        return live

    def _too_late(self, opening: Opening) -> str:
        said = opening.reason()
        tail = said.partition("; the last that it wrote was:\n")[2]
        late = f"it did not answer the first question within {self._connect_seconds:g} s"
        return f"{late}; the last that it wrote was:\n{tail}" if tail else late

    async def _lost(self, live: Live, error: BaseException | None) -> str:
        """Let go of a connection that broke, and say why it did."""
        live.closing.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(live.opening.lost.wait()), 1.0)
        if live is self._live:
            self._live = None
            self._failed(_why(live.opening, error))
        return _why(live.opening, error)

    def _drop(self, live: Live, reason: str) -> None:
        live.closing.set()
        if live is self._live:
            self._live = None
            self._failed(reason)

    def _failed(self, reason: str) -> None:
        wait = BACK_OFF_SECONDS[min(self._failures, len(BACK_OFF_SECONDS) - 1)]
        self._failures += 1
        self._not_before, self._reason = time.monotonic() + wait, reason


async def _is_lost(live: Live, error: MCPError) -> bool:
    """Whether the SDK made an error up because no answer can come any more; a server may use the same numbers itself."""
    code, message = error.error.code, error.error.message
    if error.error.data is not None:
        return False
    if code == INVALID_REQUEST:
        return message == "Session terminated"
    if code != CONNECTION_CLOSED:
        return False
    if message.startswith("SSE stream "):
        return True
    if message == "Connection closed":
        with suppress(TimeoutError):
            await asyncio.wait_for(live.opening.lost.wait(), LOST_SECONDS)
        return live.lost
    return False


class _DiedOfQuestion(Exception):
    """A server ended the connection at the first question, which old ones may not know."""


def _start(server: str) -> _Background:
    loop = asyncio.new_event_loop()

    def main() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            if left:
                loop.run_until_complete(asyncio.wait(left, timeout=1.0))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    thread = threading.Thread(target=main, name=f"wink-mcp-{server}", daemon=True)
    thread.start()
    return _Background(loop, thread)


def _first(error: BaseException) -> BaseException:
    """The error itself, out of the groups that it comes in."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, asyncio.CancelledError):
        return MCPError(code=CONNECTION_CLOSED, message="Connection closed")
    return error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")


def _why(opening: Opening, error: BaseException | None) -> str:
    reason = opening.reason()
    is_told = error is None or (isinstance(error, MCPError) and error.error.code == CONNECTION_CLOSED)
    if is_told and reason:
        return reason
    told = "" if error is None else _told(error)
    return f"{told}; {reason}" if reason and told else told or reason


def _told(error: BaseException) -> str:
    """What an error says; most of a transport's say nothing without their name."""
    return error.error.message if isinstance(error, MCPError) else f"{type(error).__name__}: {error}"


def _version() -> str:
    from wink import __version__

    return __version__


_open_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Let no server outlive the program; those that were not told to end are told now, all at once."""
    threads = [connection.close(wait=False) for connection in list(_open_connections)]
    for thread in threads:
        if thread is not None:
            thread.join(_CLOSING_SECONDS + 1)
