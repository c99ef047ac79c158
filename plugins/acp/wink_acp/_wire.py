"""Lines over a pair of descriptors, read and written on threads: what is at the other end may be slow, or a file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

from wink.runtime import in_thread
from wink_mcp import Lines, TooLong

LONGEST: Final = 64 << 20
"""How many bytes a line may have: prompts hold images, and a file may be as large."""
_CHUNK: Final = 1 << 16


class Wire:
    """One end of the protocol."""

    def __init__(self, read: int, write: int, *, longest: int = LONGEST) -> None:
        self._read, self._write, self._longest = read, write, longest
        self._writing = asyncio.Lock()
        self._is_closed = self._closes = False

    async def lines(self) -> AsyncIterator[bytes | TooLong]:
        """The lines, without their ends, until the other end closes."""
        lines = Lines(self._longest)
        while chunk := await _apart(partial(os.read, self._read, _CHUNK)):
            for line in lines.feed(chunk):
                yield line
        for line in lines.end():
            yield line

    async def send(self, line: bytes) -> None:
        """Write a whole line; what nobody reads any more is dropped."""
        async with self._writing:
            if not self._is_closed:
                try:
                    await _apart(partial(_write_all, self._write, line))
                except OSError:
                    self._is_closed = True
            if self._closes:
                self._let_go()

    def close(self) -> None:
        """Send nothing more, and let the other end know; what a thread is still writing keeps the descriptor until then."""
        self._is_closed = self._closes = True
        if not self._writing.locked():
            self._let_go()

    def _let_go(self) -> None:
        if self._write >= 0:
            os.close(self._write)
            self._write = -1


async def _apart(work: Any) -> Any:
    # Shielded: a thread that has begun to read or write cannot be told to stop.
    return await asyncio.shield(asyncio.wrap_future(in_thread(work)))


def _write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]
