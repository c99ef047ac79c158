"""A tree of files in memory, whose changes cost the same however many files there are.

Snapshots are marks in the history of committed changes; `Segment` says how that history disappears.
"""

from __future__ import annotations

import errno
import io
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final
from weakref import ref

from wink.errors import PathRefused
from wink.filesystem._paths import CIRCLES, MAX_LINKS, OUTSIDE, check_readable
from wink.filesystem._store import Node, NodeKind, failure
from wink.filesystem.memory._entries import Directory, Entry, File, Link, Place, Segment, Step, kind_of

if TYPE_CHECKING:
    from wink.filesystem.memory._change_set import MemoryChangeSet


class MemoryStore:
    """Implements `Store`; nothing is shared between instances."""

    __slots__ = ("_tail", "clock", "top")

    def __init__(self, *, clock: Callable[[], int] = time.time_ns) -> None:
        self.clock = clock
        self.top: Final = Directory(clock())
        self._tail: ref[Segment] | None = None

    @property
    def root(self) -> str:
        """`memory:`."""
        return "memory:"

    def node(self, path: str, *, follow: bool = True) -> Node:
        """What is at `path`."""
        return self.entry(path, follow=follow).node

    def open(self, path: str) -> tuple[BinaryIO, Node]:
        """A stream over a file, and its node."""
        entry = self.entry(path, follow=True)
        if type(entry) is File:
            return io.BytesIO(entry.content), entry.node
        raise failure(errno.EISDIR, path)

    def read(self, path: str, limit: int | None = None) -> tuple[bytes | None, Node]:
        """A file's content and its node; None for a content of more than `limit` bytes."""
        entry = self.entry(path, follow=True)
        if type(entry) is not File:
            raise failure(errno.EISDIR, path)
        return (entry.content if limit is None or len(entry.content) <= limit else None), entry.node

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory."""
        entry = self.entry(path, follow=True)
        if type(entry) is not Directory:
            raise failure(errno.ENOTDIR, path)
        for name, child in list(entry.entries.items()):
            yield name, kind_of(child)

    def begin(self, transaction_id: str) -> MemoryChangeSet:
        """A change set for one transaction; the id is not needed here."""
        from wink.filesystem.memory._change_set import MemoryChangeSet

        del transaction_id
        return MemoryChangeSet(self)

    def entry(self, path: str, *, follow: bool) -> Entry:
        """What is at `path`, or `FileNotFoundError`."""
        check_readable(path)
        here: Entry | None = self.top
        if path:
            for name in path.split("/"):
                if type(here) is not Directory:
                    break
                here = here.entries.get(name)
            else:
                if here is not None and (type(here) is not Link or not follow):
                    return here
        # A link is on the way, or there is nothing: the long way tells which.
        place = self.find(path, follow=follow)
        check_readable(place.path, path)
        if place.entry is None:
            raise failure(errno.ENOENT, path)
        return place.entry

    def find(self, path: str, *, follow: bool) -> Place:
        """Where `path` leads; only its last name may be missing."""
        if not path:
            return Place(None, "", self.top, "")
        here = self.top
        *parents, last = path.split("/")
        for name in parents:
            child = here.entries.get(name)
            if type(child) is not Directory:
                return self._find_through_links(path, follow)
            here = child
        entry = here.entries.get(last)
        if follow and type(entry) is Link:
            return self._find_through_links(path, follow)
        return Place(here, last, entry, path)

    def _find_through_links(self, path: str, follow: bool) -> Place:
        trail: list[tuple[Directory, str]] = []
        here, links, at_end = self.top, 0, False
        waiting = path.split("/")[::-1]
        while waiting:
            name = waiting.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if not trail:
                    raise PathRefused(path, OUTSIDE)
                here = trail.pop()[0]
                continue
            entry = here.entries.get(name)
            if type(entry) is Link and (waiting or follow):
                links += 1
                if links > MAX_LINKS:
                    raise PathRefused(path, CIRCLES)
                if entry.target.startswith("/"):
                    raise PathRefused(path, OUTSIDE)
                at_end = at_end or not waiting
                waiting += entry.target.split("/")[::-1]
                continue
            if not waiting:
                where = "/".join([*(step for _, step in trail), name])
                return Place(here, name, entry, where, at_end)
            if type(entry) is not Directory:
                raise failure(errno.ENOENT if entry is None else errno.ENOTDIR, path)
            trail.append((here, name))
            here = entry
        if not trail:
            return Place(None, "", here, "", at_end)
        return Place(*trail[-1], here, "/".join(name for _, name in trail), at_end)

    # -- history

    def mark(self) -> Segment:
        """Begin a new segment of history, to which the committed state can be brought back while it is kept."""
        tail = self._tail and self._tail()
        if tail is not None and not tail.first:
            return tail
        segment = Segment()
        if tail is not None:
            tail.next = segment
        self._tail = ref(segment)
        return segment

    def remember(self, steps: list[Step], moves: list[tuple[str, str]]) -> None:
        """Add committed steps to the history, if a snapshot needs it."""
        tail = self._tail and self._tail()
        if tail is not None:
            tail.add(steps, moves)

    def is_last(self, mark: Segment) -> bool:
        """Whether nobody has taken a snapshot since."""
        return self._tail is not None and self._tail() is mark
