"""Let what came together go on in the order in which it came: reads beside reads, anything else alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


class ReadWriteQueue:
    """Fair readers-writer locks of one event loop, one for each line; a line is there as long as somebody is in it.

    Nobody overtakes: a read waits for every change before it, also for one that still waits itself.
    """

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[Place]] = {}

    def __len__(self) -> int:
        """How many lines somebody is in."""
        return len(self._lines)

    def join(self, line: Hashable, *, reads: bool) -> Place:
        """Take the next place of a line, without waiting; whoever takes one has to `leave` it once, however it ends."""
        places = self._lines.get(line)
        if places is None:
            places = self._lines[line] = deque()
        elif reads and places[-1].reads:
            places[-1].taken += 1
            return places[-1]
        place = Place(line, reads, is_open=not places)
        places.append(place)
        return place

    def leave(self, place: Place) -> None:
        """Let those behind go on."""
        place.taken -= 1
        if place.taken:
            return
        places = self._lines[place.line]
        places.remove(place)
        if not places:
            del self._lines[place.line]
        for first in places:
            if first is not places[0] and not first.reads:
                break
            first.open()
            if not first.reads:
                break


class Place:
    """A place in a line, which neighbours that only read share; `taken` says how many they are."""

    __slots__ = ("_waiting", "is_open", "line", "reads", "taken")

    def __init__(self, line: Hashable, reads: bool, *, is_open: bool) -> None:
        self.line, self.reads, self.is_open, self.taken = line, reads, is_open, 1
        self._waiting: list[asyncio.Future[None]] = []

    async def reached(self, timeout: float | None = None) -> bool:
        """Wait until nothing before it is in its way; False when that took longer than `timeout` seconds."""
        if not self.is_open:
            import asyncio

            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await asyncio.wait([waiting], timeout=timeout)
        return self.is_open

    def open(self) -> None:
        """Let whoever waits here go on."""
        self.is_open = True
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
