"""What a tree in memory is made of, and what is needed to take a change of it back.

Directories change in place and files never do: new content is a new `File`. Each change of an entry notes what it
replaced, so undoing costs what was changed, and moving or deleting a directory is one entry whatever is in it.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple, TypeAlias

from wink.errors import PathRefused
from wink.filesystem._paths import check_writable
from wink.filesystem._store import Node, NodeKind

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
    """Names and what they stand for; changed by change sets only."""

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


def check_place(place: Place, path: str) -> Directory:
    """The directory in which `place` may be changed, or `PathRefused`."""
    if place.directory is None:
        raise PathRefused(path or ".", "is the workspace root")
    check_writable(place.path, path)
    return place.directory


def kind_of(entry: Entry) -> NodeKind:
    """`file`, `link` or `directory`."""
    return "file" if type(entry) is File else "link" if type(entry) is Link else "directory"
