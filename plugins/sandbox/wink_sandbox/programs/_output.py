"""Keep the beginning and the end of what a program says, however much it says."""

from __future__ import annotations

from collections import deque

from wink.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Output:
    """One stream of a program: `head`, then `omitted` bytes that were not kept, then `tail`."""

    head: bytes = b""
    tail: bytes = b""
    omitted: int = 0

    @property
    def size(self) -> int:
        """How many bytes the program wrote."""
        return len(self.head) + self.omitted + len(self.tail)

    def text(self) -> str:
        r"""As text, with a line that says what is missing, and where.

        >>> print(Output(b"one\n", b"nine\n", 4096).text(), end="")
        one
        [... 4096 bytes left out ...]
        nine
        """
        head = self.head.decode("utf-8", "replace")
        if not self.omitted:
            return (self.head + self.tail).decode("utf-8", "replace")
        gap = "" if head.endswith("\n") or not head else "\n"
        return f"{head}{gap}[... {self.omitted} bytes left out ...]\n{self.tail.decode('utf-8', 'replace')}"


class Keeper:
    """Takes a stream in, holding no more than `limit` bytes of it."""

    __slots__ = ("_head", "_head_room", "_room", "_tail", "_tail_size", "omitted")

    def __init__(self, limit: int) -> None:
        self._head_room = limit // 2
        self._room = limit - self._head_room
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = self.omitted = 0

    def add(self, data: bytes) -> None:
        """Take in the next piece."""
        free = self._head_room - len(self._head)
        if free > 0:
            self._head += data[:free]
            data = data[free:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            while self._tail_size - len(self._tail[0]) >= self._room:
                dropped = self._tail.popleft()
                self._tail_size -= len(dropped)
                self.omitted += len(dropped)

    def output(self) -> Output:
        """What is kept so far, cut at the ends of lines where something is left out in between."""
        tail = b"".join(self._tail)
        surplus = max(len(tail) - self._room, 0)
        omitted, head = self.omitted + surplus, bytes(self._head)
        tail = tail[surplus:]
        if omitted:
            line = tail.find(b"\n") + 1
            if 0 < line < len(tail) // 2:
                omitted, tail = omitted + line, tail[line:]
            line = head.rfind(b"\n") + 1
            if line > len(head) // 2:
                omitted, head = omitted + len(head) - line, head[:line]
        return Output(head, tail, omitted)
