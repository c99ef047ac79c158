"""A tree of files over another one, which it never changes: what is new lies in an upper store of its own."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, cast
from weakref import WeakSet

from wink.errors import PathRefused
from wink.filesystem import ChangeSet, FileChange, Filesystem, FileTransaction, Node, NodeKind, check_readable, failure
from wink_overlay._lower import PIECE, Lower, stored
from wink_overlay._marks import Upper, in_tree
from wink_overlay._view import Place, View

if TYPE_CHECKING:
    from wink_overlay._change_set import OverlayChangeSet


class OverlayStore:
    """Implements `Store`. All that it knows is in the upper layer, so that one's transactions and marks are its own."""

    __slots__ = ("files", "lower", "marks", "upper", "view")

    def __init__(self, lower: Lower, files: Filesystem) -> None:
        self.lower, self.files = lower, files
        self.upper = Upper(files.begin(writable=False).reading())
        self.view = View(self.upper, lower)
        self.marks = WeakSet[object]()
        """Those of the upper layer that somebody holds."""

    @property
    def root(self) -> str:
        """`overlay:` and what it is over."""
        return f"overlay:{self.lower.name}"

    def node(self, path: str, *, follow: bool = True) -> Node:
        """What is at `path`."""
        place = self.existing(path, follow=follow)
        if place.seen.upper is not None:
            return stored(place.seen.upper)
        node = place.node if place.path else self.lower.node("")
        assert node is not None
        return node

    def open(self, path: str) -> tuple[BinaryIO, Node]:
        """A stream over a file, and its node as of opening."""
        place = self._file(path)
        if place.seen.upper is not None:
            stream, node = self.upper.store.open(in_tree(place.path))
            return stream, stored(node)
        assert place.seen.below is not None
        return self.lower.open(place.seen.below)

    def read(self, path: str, limit: int | None = None) -> tuple[bytes | None, Node]:
        """A file's content and its node; None for a content of more than `limit` bytes, of which no more is fetched."""
        place = self._file(path)
        if place.seen.upper is not None:
            content, node = self.upper.store.read(in_tree(place.path), limit)
            return content, stored(node)
        assert place.seen.below is not None
        stream, node = self.lower.open(place.seen.below)
        with stream:
            if limit is not None and node.size > limit:
                return None, node
            pieces = io.BytesIO()
            while chunk := stream.read(PIECE):
                pieces.write(chunk)
                if limit is not None and pieces.tell() > limit:
                    return None, replace(node, size=max(node.size, pieces.tell()))
        content = pieces.getvalue()
        return content, node if len(content) == node.size else replace(node, size=len(content))

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory."""
        seen = self.existing(path, follow=True).seen
        if seen.node is not None and seen.node.kind != "directory":
            raise failure(errno.ENOTDIR, path)  # by the name that was asked for, which may be a link's
        return self.view.scan(seen)

    def begin(self, transaction_id: str) -> OverlayChangeSet:
        """A change set for one transaction."""
        from wink_overlay._change_set import OverlayChangeSet

        return OverlayChangeSet(self, transaction_id)

    def existing(self, path: str, *, follow: bool) -> Place:
        """Where a path leads to something, or `FileNotFoundError`."""
        check_readable(path)
        place = self.view.find(path, follow=follow)
        check_readable(place.path, path)
        if place.node is None:
            raise failure(errno.ENOENT, path)
        return place

    def _file(self, path: str) -> Place:
        place = self.existing(path, follow=True)
        node = place.node
        if node is None or node.kind == "directory":
            raise failure(errno.EISDIR, path)
        if node.kind != "file":
            raise PathRefused(path, "is not a regular file; FIFOs, sockets and devices cannot be used")
        return place


class OverlayPast:
    """Implements `Past`. Marks and positions are those of the upper layer."""

    __slots__ = ("_past", "_store")

    def __init__(self, store: OverlayStore) -> None:
        self._store, self._past = store, store.files.past

    def mark(self) -> object:
        """What is committed in the upper layer."""
        mark = self._past.mark()
        self._store.marks.add(mark)
        return mark

    def restore(self, transaction: FileTransaction, to: object) -> tuple[str, ...]:
        """Bring the upper layer back, in the change set of the transaction."""
        lost: list[str] = []
        with transaction.changing(".") as change_set:
            cast("OverlayChangeSet", change_set).lend(lambda inner: lost.extend(self._past.restore(inner, to)))
        return tuple(lost)

    def check(self, transaction: FileTransaction, to: int) -> None:
        """Raise `UndoConflict` where undoing would put aside what somebody else saved in the upper layer."""
        with transaction.changing(".") as change_set:
            cast("OverlayChangeSet", change_set).lend(lambda inner: self._past.check(inner, to))

    def commit_of(self, mark: object) -> None:
        """There are none: what is beneath was not committed here."""

    def between(self, change_set: ChangeSet | None, since: object, until: object) -> tuple[FileChange, ...]:
        """The net change of each path from one moment to another."""
        from wink_overlay._changes import changes_between

        inner = None if change_set is None else cast("OverlayChangeSet", change_set).inner
        return changes_between(self._store, lambda one, other: self._past.between(inner, one, other), since, until)
