"""Speak the protocol by hand: bytes to a real server, and what it answers."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from typing import Any, Self

SECONDS = 60
"""How long anything may take before the test fails."""


class Wire:
    """A server process, its lines, and what it said on standard error."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._kept: dict[object, dict[str, Any]] = {}
        self.said = b""
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._listen)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _listen(self) -> None:
        self.said = self.process.stderr.read()

    def send(self, *lines: bytes | dict[str, Any] | list[Any]) -> None:
        """Send lines, or messages as lines."""
        for line in lines:
            data = line if isinstance(line, bytes) else json.dumps(line).encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def next(self) -> dict[str, Any]:
        """The next message of the server; an error when it has ended."""
        line = self._lines.get(timeout=SECONDS)
        assert line, "the server has ended"
        return json.loads(line)

    def answer(self, request_id: int | str | None) -> dict[str, Any]:
        """The answer to this request; other answers are kept, and all else that comes before it is passed over."""
        if request_id in self._kept:
            return self._kept.pop(request_id)
        while True:
            message = self.next()
            if "method" not in message:
                if message["id"] == request_id:
                    return message
                self._kept[message["id"]] = message

    def rest(self) -> list[dict[str, Any]]:
        """All further messages until the server ends."""
        return [json.loads(line) for line in iter(lambda: self._lines.get(timeout=SECONDS), b"")]

    def initialize(self, **capabilities: Any) -> dict[str, Any]:
        """The handshake, of a client that can do this."""
        client = {"name": "hand", "version": "0"}
        about = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
        self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about})
        answer = self.answer(0)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def ask(self, request_id: int | str, tool: str, /, **arguments: Any) -> None:
        """Send a call without waiting for its answer."""
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params})

    def call(self, request_id: int | str, tool: str, /, **arguments: Any) -> str:
        """Make a call; the text of its result."""
        self.ask(request_id, tool, **arguments)
        (block,) = self.answer(request_id)["result"]["content"]
        return block["text"]

    def cancel(self, request_id: int | str) -> None:
        """Say that nobody waits for a call any more."""
        params = {"requestId": request_id, "reason": "timeout"}
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def ended(self) -> int:
        """The exit status, once the server has ended by itself."""
        status = self.process.wait(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)
        return status
