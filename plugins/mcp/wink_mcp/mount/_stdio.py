"""Speak MCP with a child process over its pipes, whatever the child does.

The SDK's own transport inherits variables, reads lines of any length, and leaves a child that ignores the end of its
input running when we are killed; so this one is ours.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from mcp.client._transport import TransportStreams  # pyright: ignore[reportPrivateUsage]
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from wink_mcp._errors import McpServerFailed

GRACE_SECONDS: Final = 2.0
"""How long a server may take to leave once its input has ended, before it is told by signals."""

FLUSH_SECONDS: Final = 0.5

_GUARD: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_guard.py")
_CHUNK: Final = 1 << 16
_TAIL: Final = 2000


@dataclass(eq=False)
class StdioServer:
    """One run of a server's command; `async with server.streams()` is its life.

    `env` is all of its environment. `message_bytes` bounds one line from it: a longer one ends the connection, since
    nothing that follows could be trusted to be where it belongs.
    """

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    message_bytes: int
    said: bytearray = field(default_factory=bytearray)
    """The end of what it wrote that is not MCP: its standard error, and other lines on its standard output."""
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing more will come from it."""
    why: str = ""

    def reason(self) -> str:
        """Why it is lost, with its own last words."""
        tail = self.said.decode(errors="replace").strip()[-_TAIL:]
        why = self.why or "it closed the connection"
        return f"{why}; the last that it wrote was:\n{tail}" if tail else why

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[TransportStreams]:
        """Start the server, and give the streams of messages to and from it."""
        program = self._program()
        heard, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, sending = anyio.create_memory_object_stream[SessionMessage](0)
        ours, lifeline = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", _GUARD, str(ours), "--", program, *self.command[1:],
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                env=dict(self.env), cwd=self.cwd, pass_fds=(ours,), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            os.close(lifeline)
            raise McpServerFailed(self.name, f"it cannot be started: {error.strerror or error}") from error
        finally:
            os.close(ours)
        tasks = [
            asyncio.ensure_future(self._hear(process, heard)),
            asyncio.ensure_future(self._send(process, sending)),
            asyncio.ensure_future(self._overhear(process)),
        ]
        try:
            yield inbox, outbox
        finally:
            with anyio.CancelScope(shield=True):
                inbox.close()
                outbox.close()
                await asyncio.shield(asyncio.ensure_future(self._end(process, lifeline, tasks)))
                heard.close()
                sending.close()

    def _program(self) -> str:
        """The file to execute; looked up here, where a name that is not found can be said in words."""
        name = self.command[0]
        found = shutil.which(name, path=self.env.get("PATH", os.defpath))
        if found is None:
            raise McpServerFailed(self.name, f"its command {name!r} was not found on the PATH that it is given")
        return found

    async def _hear(self, process: asyncio.subprocess.Process, heard: Any) -> None:
        """Hand on each line that is a message, until there are no more."""
        assert process.stdout is not None, "it was started with pipes"
        try:
            line = bytearray()
            while chunk := await process.stdout.read(_CHUNK):
                *ended, rest = chunk.split(b"\n")
                for part in ended:
                    line += part
                    if len(line) > self.message_bytes:
                        break
                    await self._take(bytes(line), heard)
                    line.clear()
                else:
                    line += rest
                if len(line) > self.message_bytes:
                    self.why = f"it sent a message of more than {self.message_bytes} bytes"
                    return
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # nobody listens any more
        finally:
            if not self.why:
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), 0.5)
                if process.returncode is not None:
                    self.why = f"it ended with status {process.returncode}"
            self.lost.set()
            heard.close()
            # A server that is stuck writing what nobody reads could not end by itself.
            with suppress(OSError):
                while await process.stdout.read(_CHUNK):
                    pass

    async def _take(self, line: bytes, heard: Any) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            try:
                message = _read_slowly(line)
            except (ValueError, RecursionError):
                self._note(line + b"\n")  # many servers print to where only messages should be
                return
        await heard.send(SessionMessage(message))

    async def _send(self, process: asyncio.subprocess.Process, sending: Any) -> None:
        assert process.stdin is not None, "it was started with pipes"
        with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for message in sending:
                process.stdin.write(_line(message))
                await process.stdin.drain()

    async def _overhear(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None, "it was started with pipes"
        while chunk := await process.stderr.read(_CHUNK):
            self._note(chunk)

    def _note(self, text: bytes) -> None:
        self.said += text[-4 * _TAIL :]
        del self.said[: -4 * _TAIL]

    async def _end(
        self, process: asyncio.subprocess.Process, lifeline: int, tasks: Sequence[asyncio.Future[None]]
    ) -> None:
        """See the server off: the end of its input, then, if it stays, signals by its guard."""
        assert process.stdin is not None, "it was started with pipes"
        await asyncio.wait([tasks[1]], timeout=FLUSH_SECONDS)  # a cancellation may be on its way
        process.stdin.close()
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE_SECONDS)
            if process.returncode is None:
                with suppress(OSError):
                    os.write(lifeline, b"!")
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), 3 * GRACE_SECONDS)
        finally:
            os.close(lifeline)
        if process.returncode is None:
            process.kill()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=GRACE_SECONDS)
        # A survivor outside of our reach may hold the other ends of the pipes; ours must not wait for it.
        transport: Any = getattr(process, "_transport", None)
        if transport is not None:
            transport.close()
            await asyncio.sleep(0.01)  # closing takes the loop a few turns


def _read_slowly(line: bytes) -> Any:
    """A message that pydantic cannot read: nested deeply, or with halves of surrogate pairs, which become `?`."""
    text = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
    return jsonrpc_message_adapter.validate_python(json.loads(text), by_name=False)


def _line(message: SessionMessage) -> bytes:
    try:
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:  # half of a surrogate pair, which UTF-8 cannot hold and JSON can
        text = json.dumps(message.message.model_dump(by_alias=True, exclude_unset=True), separators=(",", ":"))
    return text.encode() + b"\n"
