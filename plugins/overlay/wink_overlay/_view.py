"""See two layers as one tree: what is new before what is below, links resolved across both."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Final, NamedTuple

from wink.errors import PathRefused
from wink.filesystem import Node, NodeKind, failure
from wink_overlay._lower import Lower
from wink_overlay._marks import Mark, Upper, joined

_IMPLIED: Final = Node("directory", 0, 0o755, 0, ())
"""A directory of the lower layer that nobody looked at: something was found in it."""


MAX_DEPTH: Final = 256
"""How many directories one path may go through: each is looked for in both layers, so a tree costs its depth to the third."""

_MAX_LINKS: Final = 40  # as many as Linux itself follows
_OUTSIDE: Final = "leads out of the workspace; only links that are relative and stay inside are followed"


class Seen(NamedTuple):
    """One path as the overlay shows it, links not followed.

    `upper` is what is new there. `below` is where the lower layer is looked at for this path, whether or not there is
    something; None where it is hidden. `lower` is what is there, asked for only where `upper` does not hide it whatever it
    is. `mark` is the path's own, and `nests` says that there may be marks beneath.
    """

    path: str
    upper: Node | None
    below: str | None
    lower: Node | None
    mark: Mark | None = None
    nests: bool = False

    @property
    def node(self) -> Node | None:
        """What is seen."""
        return self.lower if self.upper is None else self.upper


class Place(NamedTuple):
    """Where a path leads. `above` is the directory that it is in, None for the root; `path` is its real path."""

    seen: Seen
    above: Seen | None
    ends_in_link: bool

    @property
    def path(self) -> str:
        """The real path."""
        return self.seen.path

    @property
    def node(self) -> Node | None:
        """What is there."""
        return self.seen.node


class View:
    """An upper layer over a lower one."""

    __slots__ = ("lower", "upper")

    def __init__(self, upper: Upper, lower: Lower) -> None:
        self.upper: Final = upper
        self.lower: Final = lower

    def root(self) -> Seen:
        """The tree's root, of which the lower layer is not asked."""
        mark, nests = self.upper.marked("")
        return Seen("", self.upper.node(""), "", _IMPLIED, mark, nests)

    def step(self, here: Seen, name: str) -> Seen:
        """What is seen of a name in a directory."""
        path = joined(here.path, name)
        is_open = here.upper is not None and here.upper.kind == "directory"
        upper = self.upper.node(path) if is_open else None
        mark, nests = self.upper.marked(path) if here.nests else (None, False)
        below = mark.origin if mark is not None else self.inherited(here, name)
        lower = self.lower.node(below) if upper is None and below is not None else None
        return Seen(path, upper, below, lower, mark, nests)

    def inherited(self, here: Seen, name: str) -> str | None:
        """Where the lower layer has a name of a directory, whatever is marked there."""
        return None if here.below is None else joined(here.below, name)

    def at(self, path: str) -> Seen | None:
        """What is seen at a real path; None where a name above it is no directory."""
        here = self.root()
        for name in path.split("/") if path else ():
            node = here.node
            if node is None or node.kind != "directory":
                return None
            here = self.step(here, name)
        return here

    def find(self, path: str, *, follow: bool) -> Place:
        """Where `path` leads; only its last name may be missing."""
        if not path:
            return Place(self.root(), None, False)
        trail = [self.root()]
        waiting = path.split("/")[::-1]
        if len(waiting) > MAX_DEPTH:
            raise PathRefused(
                shortened(path), f"goes through more than {MAX_DEPTH} directories, too many for an overlay"
            )
        links, at_end = 0, False
        while waiting:
            here = trail[-1]
            if len(waiting) > 1 and here.upper is None and not here.nests and not self.lower.has_links:
                straight = self._straight(here, waiting)
                if straight is not None:
                    return straight
            name = waiting.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if len(trail) == 1:
                    raise PathRefused(path, _OUTSIDE)
                trail.pop()
                continue
            seen = self.step(here, name)
            node = seen.node
            if node is not None and node.kind == "link" and (waiting or follow):
                links += 1
                target = node.target or ""
                if links > _MAX_LINKS:
                    raise PathRefused(path, "goes through links that lead in circles")
                if target.startswith("/"):
                    raise PathRefused(path, _OUTSIDE)
                at_end = at_end or not waiting
                waiting += target.split("/")[::-1]
                continue
            trail.append(seen)
            if waiting and (node is None or node.kind != "directory"):
                raise failure(errno.ENOENT if node is None else errno.ENOTDIR, path)
        return Place(trail[-1], trail[-2] if len(trail) > 1 else None, at_end)

    def _straight(self, here: Seen, waiting: list[str]) -> Place | None:
        """What the lower layer has at the end of a path on which the upper one has nothing; None if it has nothing."""
        names = waiting[::-1]
        if here.below is None or not {"", ".", ".."}.isdisjoint(names):
            return None
        between = "/".join(names[:-1])
        above = Seen(joined(here.path, between), None, joined(here.below, between), _IMPLIED)
        seen = self.step(above, names[-1])
        return None if seen.lower is None else Place(seen, above, False)

    def scan(self, seen: Seen) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory, each once; the lower layer's come as it gives them."""
        if seen.node is None or seen.node.kind != "directory":
            raise failure(errno.ENOENT if seen.node is None else errno.ENOTDIR, seen.path)
        told = set[str]()
        if seen.upper is not None:
            for name, kind in self.upper.names(seen.path):
                told.add(name)
                yield name, kind
        if seen.nests:
            for name in self.upper.marks(seen.path):
                mark = self.upper.marked(joined(seen.path, name)).mark
                if mark is None or name in told:
                    continue
                told.add(name)
                node = None if mark.origin is None else self.lower.node(mark.origin)
                if node is not None:
                    yield name, node.kind
        if seen.below is None:
            return
        try:
            for name, kind in self.lower.scan(seen.below):
                if name not in told:
                    yield name, kind
        except (FileNotFoundError, NotADirectoryError):
            if seen.upper is None:
                raise


def shortened(path: str) -> str:
    """The beginning of a path that is too long to be told."""
    return path if len(path) <= MAX_DEPTH else f"{path[:80]}…"
