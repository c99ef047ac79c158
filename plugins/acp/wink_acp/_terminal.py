"""A terminal that an agent has asked for: a command in a transaction, whose output it may look at while it runs."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final, Literal

from wink.dataclass import replace
from wink.tools import ToolResult
from wink_shell import CommandResult

MOST_BYTES: Final = 1 << 20
"""How many bytes of output are kept, the last ones, where the agent asks for no fewer."""
_KILLED: Final = {"exitCode": None, "signal": "SIGKILL"}


class Terminal:
    """The output of one command, and how it ended."""

    def __init__(self, identity: str, session: str, command: str, argv: tuple[str, ...], limit: int | None) -> None:
        self.id, self.session, self.command, self.argv = identity, session, command, argv
        self.began: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None
        self.shown: dict[str, list[Any]] = {}
        """Tool calls of the session that show it, and the whole of what they show."""
        self.result: CommandResult | None = None
        self._loop = asyncio.get_running_loop()
        self._limit = MOST_BYTES if limit is None else min(max(limit, 0), MOST_BYTES)
        self._lock = threading.Lock()
        self._output, self._is_cut = bytearray(), False

    def begin(self) -> None:
        """It was let run; from the thread that runs it."""
        self._loop.call_soon_threadsafe(_settle, self.began)

    def take(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        """Keep what the command says; from any thread."""
        del stream
        with self._lock:
            self._output += data
            if len(self._output) > self._limit:
                del self._output[: len(self._output) - self._limit]
                self._is_cut = True

    def note(self, text: str) -> None:
        """Say something to the agent, below what the command has said."""
        start = b"\n" if self._output and not self._output.endswith(b"\n") else b""
        self.take("stderr", start + f"wink: {text}\n".encode("utf-8", "replace"))

    def ended(self, result: ToolResult[CommandResult]) -> None:
        """Keep how the command ended, and tell the agent of what it could not guess."""
        value = self.result = result.value
        if value is None:
            self.note(result.message)
        elif value.left_out or value.hidden or value.reason != "exited" or (value.changed and not value.kept):
            self.note(replace(value, stdout="", stderr="").render())

    @property
    def output(self) -> str:
        """What is kept of the output, from the beginning of a character on."""
        with self._lock:
            data = bytes(self._output)
        start = 0
        while self._is_cut and start < min(len(data), 4) and data[start] & 0xC0 == 0x80:
            start += 1
        return data[start:].decode("utf-8", "replace")

    @property
    def status(self) -> dict[str, Any] | None:
        """How it ended, as the protocol has it; None while it runs, and until its changes are kept or dropped."""
        if self.task is None or not self.task.done():
            return None
        if self.task.cancelled():
            return dict(_KILLED)
        failed = self.task.exception() is not None
        if self.result is None or (failed and self.result.exit_code == 0):
            return {"exitCode": 1, "signal": None}
        if self.result.exit_code is None:
            return dict(_KILLED)
        return {"exitCode": self.result.exit_code, "signal": None}

    def told(self) -> dict[str, Any]:
        """The answer to `terminal/output`."""
        status = self.status
        return {"output": self.output, "truncated": self._is_cut, **({} if status is None else {"exitStatus": status})}

    def as_text(self) -> dict[str, Any]:
        """What an editor is shown in place of a terminal that it does not have."""
        said = f"$ {self.command}\n{self.output}".rstrip("\n")
        return {"type": "content", "content": {"type": "text", "text": f"```\n{said}\n```"}}

    async def kill(self) -> None:
        """End it, and take back what it has changed; gives its turn back only then."""
        task = self.task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})
            self.note("the command was ended, and what it had changed was taken back")


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
