"""Serve one client over standard input and output, which belong to the protocol from here on.

The SDK's own transport reads lines of any length, and ends at the first character that UTF-8 does not have.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import select
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from wink.limits import Stopping
from wink_mcp._lines import Lines, TooLong
from wink_mcp._messages import is_refusal, message_of, too_much
from wink_mcp._serving import Serving
from wink_mcp._standard import standard_streams

Streams: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Answers: TypeAlias = MemoryObjectSendStream[SessionMessage]

GRACE: Final = 1.0
"""How many seconds calls that are running have to end after the client has closed our input and still reads."""

MOST_HELD: Final = 64 * 1024 * 1024
"""How many bytes all requests that wait for an answer may have together."""

_CHUNK: Final = 1 << 16


class Wire:
    """Messages in lines over a pair of descriptors, each with a thread that may block on it."""

    def __init__(self, read: int, write: int, *, ended: Callable[[], object], most_held: int = MOST_HELD) -> None:
        self._read, self._write, self._when_ended = read, write, ended
        self._loop = asyncio.get_running_loop()
        self._incoming: asyncio.Queue[tuple[JSONRPCMessage, int] | None] = asyncio.Queue()
        self._outgoing: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        self._unanswered: dict[int | str, int] = {}
        self._most_held = most_held
        self._settled = asyncio.Event()
        self._is_closed = False

    async def run(self, serve: Callable[[Streams, Answers], Awaitable[None]]) -> None:
        """Let `serve` talk to the client until it is gone, or until `close`."""
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        refusals = to_client.clone()
        for work in (self._read_lines, self._write_lines):
            threading.Thread(target=work, name=f"wink{work.__name__}", daemon=True).start()
        async with anyio.create_task_group() as group:
            group.start_soon(self._hand_on, to_server, refusals)
            group.start_soon(self._send_all, from_server)
            await serve(from_client, to_client)
            self.close()

    def close(self) -> None:
        """Take no more messages and wait for no answers; the server then takes back what is running."""
        self._is_closed = True
        self._incoming.put_nowait(None)
        self._settled.set()

    # -- from the client

    def _read_lines(self) -> None:
        lines = Lines()
        with suppress(OSError):
            while chunk := os.read(self._read, _CHUNK):
                for line in lines.feed(chunk):
                    self._take(line)
        for line in lines.end():
            self._take(line)
        self._call(self._incoming.put_nowait, None)
        self._when_ended()

    def _take(self, line: bytes | TooLong) -> None:
        message = message_of(line)
        if message is not None:
            self._call(self._incoming.put_nowait, (message, len(line) if isinstance(line, bytes) else 0))

    def _call(self, what: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has been closed
            self._loop.call_soon_threadsafe(what, *arguments)

    async def _hand_on(self, server: MemoryObjectSendStream[SessionMessage | Exception], refusals: Answers) -> None:
        async with server, refusals:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                while (item := await self._incoming.get()) is not None:
                    message = self._admitted(*item)
                    if is_refusal(message):
                        await refusals.send(SessionMessage(message))
                    else:
                        await server.send(SessionMessage(message))
                # The client may have closed our input and still wait for answers, as in `printf … | wink serve`.
                if self._unanswered and not self._is_closed and not self._nobody_reads():
                    self._settled.clear()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._settled.wait(), GRACE)

    def _admitted(self, message: JSONRPCMessage, size: int) -> JSONRPCMessage:
        """The message, once it is noted who waits for what; or the refusal of one for which there is no room now."""
        if isinstance(message, JSONRPCRequest):
            if self._unanswered and sum(self._unanswered.values()) + size > self._most_held:
                return too_much(message.id)
            self._unanswered[message.id] = size
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            given_up: object = (message.params or {}).get("requestId")
            if isinstance(given_up, int | str):
                self._unanswered.pop(given_up, None)
        return message

    def _nobody_reads(self) -> bool:
        poll = select.poll()
        poll.register(self._write, 0)
        return bool(poll.poll(0))

    # -- to the client

    async def _send_all(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with answers:
            async for item in answers:
                written: asyncio.Future[None] = self._loop.create_future()
                self._outgoing.put((line_of(item.message), written))
                try:
                    await written
                except OSError:  # nobody reads any more; what is running is of no use to anybody
                    self.close()
                    self._when_ended()
                    return
                self._note_answer(item.message)

    def _note_answer(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._unanswered.pop(message.id, None)
            if not self._unanswered:
                self._settled.set()

    def _write_lines(self) -> None:
        while True:
            line, written = self._outgoing.get()
            try:
                while line:
                    line = line[os.write(self._write, line) :]
            except OSError as error:
                self._call(_settle, written, error)
                return
            self._call(_settle, written, None)


def line_of(message: JSONRPCMessage) -> bytes:
    """A message as one line of UTF-8, whatever characters are in it."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:  # half of a pair of surrogates
        text = json.dumps(message.model_dump(mode="python", by_alias=True, exclude_unset=True), ensure_ascii=False)
    return text.encode(errors="replace") + b"\n"


def _settle(written: asyncio.Future[None], error: OSError | None) -> None:
    if written.cancelled():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)


def serve_stdio(serving: Serving) -> int:
    """Serve the client at standard input and output until it closes them or a signal comes; the exit status."""
    stopping = Stopping(serving.calls.open_transactions)
    with standard_streams() as (read, write), stopping.on_signals():
        asyncio.run(_serve(serving, stopping, read, write))
    return stopping.status


async def _serve(serving: Serving, stopping: Stopping, read: int, write: int) -> None:
    server = serving.server()
    wire = Wire(read, write, ended=stopping.watch)
    loop = asyncio.get_running_loop()
    stopping.when_asked(lambda: loop.call_soon_threadsafe(wire.close))

    async def run(reading: Streams, writing: Answers) -> None:
        await server.run(reading, writing, server.create_initialization_options())

    await wire.run(run)
