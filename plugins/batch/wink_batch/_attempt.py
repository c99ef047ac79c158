"""One attempt at a task, as it is handed to whoever runs it; and the talk between a worker and the attempt's process."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from wink.dataclass import dataclass, field
from wink_batch._plan import Plan
from wink_batch._task import Task


class Key(NamedTuple):
    """Which attempt of which task, both counted from 1 where they are numbers, and the how manieth try at it."""

    task: str
    number: int = 1
    trial: int = 1

    def name(self, attempts: int) -> str:
        """What files and references of this attempt are called, where so many are made at each task.

        >>> Key("a").name(1), Key("a", 2).name(3)
        ('a', 'a@2')
        """
        return self.task if attempts == 1 else f"{self.task}@{self.number}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything that a worker needs; `env` are variables that the attempt's process is given."""

    key: Key
    task: Task
    plan: Plan
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def name(self) -> str:
        """What files and references of it are called."""
        return self.key.name(self.plan.attempts)


class Gone(Exception):
    """The other end of a channel is closed."""


class Channel:
    """JSON lines over a socket, from any thread."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._lock = threading.Lock()
        self._rest = bytearray()

    def tell(self, **news: Any) -> None:
        """Send one line; raises `Gone`."""
        line = json.dumps(news, ensure_ascii=True).encode() + b"\n"
        with self._lock:
            try:
                self.end.sendall(line)
            except OSError as error:
                raise Gone from error

    def hear(self) -> list[dict[str, Any]]:
        """Wait for the next lines, and take all that are complete; raises `Gone`."""
        while True:
            try:
                data = self.end.recv(1 << 20)
            except OSError as error:
                raise Gone from error
            if not data:
                raise Gone
            self._rest += data
            if b"\n" in data:
                *lines, rest = bytes(self._rest).split(b"\n")
                self._rest = bytearray(rest)
                return [json.loads(line) for line in lines]

    def close(self) -> None:
        """Close this end."""
        self.end.close()
