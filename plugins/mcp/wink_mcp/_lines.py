"""Cut a stream of bytes into lines, of which none takes more memory than a limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wink.dataclass import dataclass

LONGEST_LINE: Final = 16 * 1024 * 1024
"""How many bytes a message may have."""

_KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line above the limit: how it began and ended, and its length in bytes."""

    head: bytes
    tail: bytes
    length: int


class Lines:
    """Takes chunks as they come, and gives the lines that they complete.

    >>> lines = Lines(longest=10)
    >>> list(lines.feed(b"one" + bytes([10]) + b"tw")), list(lines.feed(b"o" + bytes([10])))
    ([b'one'], [b'two'])
    >>> [line.length for line in lines.feed(b"x" * 11 + bytes([10]))]
    [11]
    """

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._length = 0
        self._head: bytes | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in this chunk."""
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            self._add(part)
            yield self._take()
        if rest:
            self._add(rest)

    def end(self) -> Iterator[bytes | TooLong]:
        """What is left when the stream has ended without a line's end."""
        if self._length:
            yield self._take()

    def _add(self, part: bytes) -> None:
        self._length += len(part)
        self._parts.append(part)
        if self._length <= self._longest:
            return
        joined = b"".join(self._parts)
        if self._head is None:
            self._head = joined[:_KEPT]
        self._parts = [joined[-_KEPT:]]

    def _take(self) -> bytes | TooLong:
        line = b"".join(self._parts)
        whole = line if self._head is None else TooLong(self._head, line[-_KEPT:], self._length)
        self._parts, self._length, self._head = [], 0, None
        return whole
