"""Keep the head and the tail of what a script prints, whatever it prints."""

from __future__ import annotations

from collections import deque
from typing import Final

CHUNK: Final = 4096
"""Characters up to which small writes are gathered before they count as one piece of the tail."""


class Output:
    """A writer that holds at most about `limit` characters: the first half and the last half of them.

    >>> output = Output(20)
    >>> for number in range(100): _ = output.write(f"{number}-")
    >>> print(output.text())
    0-1-2-3-4-
    [... 270 characters left out ...]
    -97-98-99-
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head: list[str] = []
        self._room = self._half
        self._tail: deque[str] = deque()
        self._held = 0
        self._dropped = 0

    def write(self, text: str) -> int:
        """Take `text` in."""
        taken = text[: self._room]
        if taken:
            self._head.append(taken)
            self._room -= len(taken)
        rest = text[len(taken) :]
        if rest:
            self._keep_tail(rest)
        return len(text)

    def flush(self) -> None:
        """There is nothing behind it."""

    def text(self) -> str:
        """What was kept, with a line that says how much is missing."""
        head, tail = "".join(self._head), "".join(self._tail)
        cut = self._dropped + max(len(tail) - self._half, 0)
        return f"{head}\n[... {cut:,} characters left out ...]\n{tail[-self._half :]}" if cut else head + tail

    def _keep_tail(self, text: str) -> None:
        if len(text) > self._half:
            self._dropped += self._held + len(text) - self._half
            self._tail.clear()
            self._tail.append(text[-self._half :])
            self._held = self._half
            return
        if self._tail and len(self._tail[-1]) + len(text) <= CHUNK:
            self._tail[-1] += text
        else:
            self._tail.append(text)
        self._held += len(text)
        while self._held - len(self._tail[0]) >= self._half:
            gone = len(self._tail.popleft())
            self._held -= gone
            self._dropped += gone


def bounded(text: str, limit: int) -> str:
    """`text`, or its head and tail if it is longer than `limit` characters.

    >>> print(bounded("a" * 10 + "b" * 10, 8))
    aaaa
    [... 12 characters left out ...]
    bbbb
    """
    output = Output(limit)
    output.write(text)
    return output.text()


def printable(text: str) -> str:
    r"""`text` without lone surrogates, which no request could carry.

    >>> printable("é \udcff")
    'é \\udcff'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
