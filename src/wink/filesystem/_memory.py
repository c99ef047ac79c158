"""A tree of files in memory, whose changes cost the same however many files there are.

Directories change in place and files never do: new content is a new `File`. Each change of an entry notes what it
replaced, so undoing costs what was changed, and moving or deleting a directory is one entry whatever is in it.
Snapshots are marks in the history of committed changes; `Segment` says how that history disappears.
"""

from __future__ import annotations

import errno
import io
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypeAlias
from weakref import ref

from wink.errors import PathRefused
from wink.filesystem._paths import CIRCLES, OUTSIDE, check_readable, check_writable
from wink.filesystem._store import Node, NodeKind

if TYPE_CHECKING:
    from wink.filesystem._memory_frame import MemoryFrame

MAX_LINKS: Final = 40
"""How many links one path may lead through, as on Linux."""

_serials = itertools.count(1)


class File:
    """Content that never changes; the same `File` may be in several trees' pasts."""

    __slots__ = ("content", "node")

    def __init__(self, content: bytes, mode: int, modified_ns: int) -> None:
        self.content = content
        self.node = Node("file", len(content), mode, modified_ns, (next(_serials),))


class Link:
    """A symbolic link."""

    __slots__ = ("node", "target")

    def __init__(self, target: str, modified_ns: int) -> None:
        self.target = target
        self.node = Node("link", len(target.encode()), 0o777, modified_ns, (next(_serials),), target)


class Directory:
    """Names and what they stand for; changed by frames only."""

    __slots__ = ("entries", "mode", "modified_ns", "serial")

    def __init__(self, modified_ns: int, mode: int = 0o755) -> None:
        self.entries: dict[str, Entry] = {}
        self.mode, self.modified_ns, self.serial = mode, modified_ns, next(_serials)

    @property
    def node(self) -> Node:
        """What a store says of it."""
        return Node("directory", 0, self.mode, self.modified_ns, (self.serial, self.modified_ns))


Entry: TypeAlias = File | Link | Directory


class Place(NamedTuple):
    """Where a path leads: an entry of a directory, or where one could be. `directory` is None for the root itself."""

    directory: Directory | None
    name: str
    entry: Entry | None
    path: str
    ends_in_link: bool = False


class Step(NamedTuple):
    """One change, as far as is needed to take it back. `name` is None where the directory's own mode changed."""

    directory: Directory
    name: str | None
    before: Entry | None
    mode: int
    modified_ns: int
    path: str


class Segment:
    """Committed changes between two snapshots, as far as is needed to take them back.

    A segment knows the next one and a store knows only its last, weakly; so the history reaches back exactly as far as
    the oldest snapshot that somebody still holds.
    """

    __slots__ = ("__weakref__", "first", "moves", "next")

    def __init__(self) -> None:
        # The first step of each entry: no more is needed.
        self.first: dict[tuple[object, ...], Step] = {}
        self.moves: list[tuple[str, str]] = []
        self.next: Segment | None = None

    def add(self, steps: list[Step], moves: list[tuple[str, str]]) -> None:
        """Keep what a transaction did."""
        first = self.first
        for step in steps:
            key = step[:2]
            if key not in first:
                first[key] = step
        self.moves += moves


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
        raise error(errno.EISDIR, path)

    def read(self, path: str, limit: int | None = None) -> tuple[bytes | None, Node]:
        """A file's content and its node; None for a content of more than `limit` bytes."""
        entry = self.entry(path, follow=True)
        if type(entry) is not File:
            raise error(errno.EISDIR, path)
        return (entry.content if limit is None or len(entry.content) <= limit else None), entry.node

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory."""
        entry = self.entry(path, follow=True)
        if type(entry) is not Directory:
            raise error(errno.ENOTDIR, path)
        for name, child in list(entry.entries.items()):
            yield name, kind_of(child)

    def begin(self, transaction_id: str) -> MemoryFrame:
        """A frame for one transaction; the id is not needed here."""
        from wink.filesystem._memory_frame import MemoryFrame

        del transaction_id
        return MemoryFrame(self)

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
            raise error(errno.ENOENT, path)
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
                raise error(errno.ENOENT if entry is None else errno.ENOTDIR, path)
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


def check_place(place: Place, path: str) -> Directory:
    """The directory in which `place` may be changed, or `PathRefused`."""
    if place.directory is None:
        raise PathRefused(path or ".", "is the workspace root")
    check_writable(place.path, path)
    return place.directory


def kind_of(entry: Entry) -> NodeKind:
    """`file`, `link` or `directory`."""
    return "file" if type(entry) is File else "link" if type(entry) is Link else "directory"


def error(number: int, path: str) -> OSError:
    """Python's own exception for an error number."""
    return OSError(number, os.strerror(number), path or ".")
