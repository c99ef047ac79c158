"""A state of a filesystem that it can come back to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from wink.filesystem._access import Tree


class FilesystemSnapshot(NamedTuple):
    """A state that the filesystem which took it can come back to, as long as the snapshot is kept.

    `created_ns` is in nanoseconds since the epoch; `number` counts the snapshots of one filesystem; `mark` is what the
    filesystem knows the moment by.
    """

    tree: Tree
    number: int
    created_ns: int
    tag: str | None
    mark: object

    @property
    def root(self) -> str:
        """Where the files are, for people."""
        return self.tree.store.root

    @property
    def snapshot_id(self) -> str:
        """A name for messages and logs."""
        return f"{self.created_ns:x}-{self.number}"

    @property
    def created_at(self) -> datetime:
        """When it was taken, in UTC."""
        return datetime.fromtimestamp(self.created_ns / 1e9, UTC)

    def __repr__(self) -> str:
        return f"FilesystemSnapshot({self.snapshot_id!r}, root={self.root!r}, tag={self.tag!r})"


class Position:
    """A moment in the changes of one call, which are a stack: it is lost when the stack is cut below it."""

    __slots__ = ("__weakref__", "at", "cuts", "stack")

    def __init__(self, stack: object, at: int, cuts: int) -> None:
        self.stack, self.at, self.cuts = stack, at, cuts
