"""A tree of files over another one, which it never changes: what is new lies in an upper store of its own."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, Final

from wink.errors import PathRefused
from wink.filesystem._memory import error
from wink.filesystem._overlay_facts import STORED
from wink.filesystem._overlay_lower import Lower
from wink.filesystem._overlay_marks import Upper, in_tree
from wink.filesystem._overlay_view import Place, View
from wink.filesystem._paths import check_readable
from wink.filesystem._store import Node, NodeKind, Store

if TYPE_CHECKING:
    from wink.filesystem._access import Commits
    from wink.filesystem._change import FileChange
    from wink.filesystem._overlay_frame import OverlayFrame

_PIECE: Final = 1 << 20


class OverlayStore:
    """Implements `Store`. All that it knows is in the upper store, so that store's transactions and marks are its own."""

    __slots__ = ("commits", "lower", "told", "upper", "view")

    def __init__(self, lower: Lower, upper: Store) -> None:
        self.lower: Final = lower
        self.upper: Final = upper
        self.view: Final = View(Upper(upper), lower)
        self.commits: Commits | None = None
        self.told: dict[str, tuple[FileChange, ...]] = {}
        """What transactions that are about to commit have changed in the upper store, for its history."""

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
            stream, node = self.upper.open(in_tree(place.path))
            return stream, stored(node)
        assert place.seen.below is not None
        return self.lower.open(place.seen.below)

    def read(self, path: str, limit: int | None = None) -> tuple[bytes | None, Node]:
        """A file's content and its node; None for a content of more than `limit` bytes, of which no more is fetched."""
        place = self._file(path)
        if place.seen.upper is not None:
            content, node = self.upper.read(in_tree(place.path), limit)
            return content, stored(node)
        assert place.seen.below is not None
        stream, node = self.lower.open(place.seen.below)
        with stream:
            if limit is not None and node.size > limit:
                return None, node
            pieces = io.BytesIO()
            while chunk := stream.read(_PIECE):
                pieces.write(chunk)
                if limit is not None and pieces.tell() > limit:
                    return None, replace(node, size=max(node.size, pieces.tell()))
        content = pieces.getvalue()
        return content, node if len(content) == node.size else replace(node, size=len(content))

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory."""
        return self.view.scan(self.existing(path, follow=True).seen)

    def begin(self, transaction_id: str) -> OverlayFrame:
        """A frame for one transaction."""
        from wink.filesystem._overlay_frame import OverlayFrame

        return OverlayFrame(self, transaction_id)

    def existing(self, path: str, *, follow: bool) -> Place:
        """Where a path leads to something, or `FileNotFoundError`."""
        check_readable(path)
        place = self.view.find(path, follow=follow)
        check_readable(place.path, path)
        if place.node is None:
            raise error(errno.ENOENT, path)
        return place

    def _file(self, path: str) -> Place:
        place = self.existing(path, follow=True)
        node = place.node
        if node is None or node.kind == "directory":
            raise error(errno.EISDIR, path)
        if node.kind != "file":
            raise PathRefused(path, "is not a regular file; FIFOs, sockets and devices cannot be used")
        return place


def stored(node: Node) -> Node:
    """A node of the upper layer, never taken for one of the lower layer."""
    return Node(node.kind, node.size, node.mode, node.modified_ns, (STORED, *node.identity), node.target)
