"""A client that behaves as badly as it is told, and the real server process that has to bear it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

SECONDS = 60.0
"""How long anything may take before it counts as hung; ten minutes of work for an idle machine."""


def start(words: list[str], environment: dict[str, str], said: str) -> subprocess.Popen[bytes]:
    """Start `wink` as a person would."""
    command = [sys.executable, "-m", "wink", *words]
    with open(said, "wb") as errors:
        return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)


class Peer:
    """One server process (a `Popen`, or what is like one), and the pipes to it."""

    def __init__(self, name: str, process: Any, said: str) -> None:
        self.name, self.process = name, process
        self._said = said
        self.asked: dict[Any, str] = {}
        """The marker of each call by its id."""
        self.answers: dict[Any, dict[str, Any]] = {}
        self.twice: list[Any] = []
        self.strange: list[bytes] = []
        self._news = threading.Condition()
        self._stalled = threading.Event()
        self._listening = True
        self._numbers = 0
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not self._listening:
                self._stalled.wait(SECONDS)
            try:
                message = json.loads(line)
            except ValueError:
                self.strange.append(line)
                continue
            with self._news:
                if isinstance(message, dict) and "method" not in message and message.get("id") is not None:
                    if message["id"] in self.answers and message["id"] in self.asked:
                        self.twice.append(message["id"])
                    self.answers[message["id"]] = message
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    # -- good manners

    def greet(self) -> bool:
        """The handshake; False when the server has ended meanwhile."""
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "chaos", "version": "0"}}
        self.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": about})
        if not self.wait(["hello"], SECONDS):
            return False
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return True

    def ask(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Send a call; its id."""
        self._numbers += 1
        number = self._numbers if self._numbers % 2 else f"{self.name}-{self._numbers}"
        self.asked[number] = arguments.get("marker", "")
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        return number

    def cancel(self, number: Any) -> None:
        """Say that nobody waits for a call."""
        params = {"requestId": number, "reason": "chaos"}
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def wait(self, numbers: list[Any], seconds: float) -> bool:
        """Wait for answers; whether all have come."""

        def all_there() -> bool:
            return all(number in self.answers for number in numbers) or not self._thread.is_alive()

        with self._news:
            self._news.wait_for(all_there, seconds)
        return all(number in self.answers for number in numbers)

    @property
    def open(self) -> list[Any]:
        """The calls without an answer."""
        return [number for number in self.asked if number not in self.answers]

    def send(self, message: dict[str, Any] | list[Any]) -> None:
        """Send a message as a line."""
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """Send anything; a server that has ended does not mind."""
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    # -- ends

    def signal(self, number: int) -> None:
        """Signal the server."""
        with suppress(OSError):
            self.process.send_signal(number)

    def hang_up(self, *, both: bool = False) -> None:
        """Close the pipe to the server, or both, as a client that dies does."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError, ValueError):
            self.process.stdin.close()
        if both:
            # Closing it under the reading thread would wait for that thread.
            with suppress(OSError):
                null = os.open(os.devnull, os.O_RDONLY)
                os.dup2(null, self.process.stdout.fileno())
                os.close(null)

    def stop_listening(self) -> None:
        """Read no more, so that the pipe fills up."""
        self._listening = False

    def ended(self) -> int:
        """See the server off; its exit status. Raises `TimeoutError` for one that stays."""
        try:
            status = self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise TimeoutError(f"{self.name} did not end") from None
        finally:
            self._listening = True
            self._stalled.set()
        self.hang_up()
        self._thread.join(SECONDS)
        if self.process.stdout is not None and not self._thread.is_alive():
            self.process.stdout.close()
        return status

    def said(self) -> str:
        """What it wrote on standard error."""
        with open(self._said, encoding="utf-8", errors="replace") as opened:
            return opened.read()


GENTLE = (signal.SIGTERM, signal.SIGINT)
