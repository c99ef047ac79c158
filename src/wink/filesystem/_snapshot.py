"""A state of a filesystem that it can come back to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple


class FilesystemSnapshot(NamedTuple):
    """A state that the filesystem which took it can come back to, as long as the snapshot is kept.

    `root` is for people, `created_ns` nanoseconds since the epoch; `number` counts the snapshots of one filesystem.
    """

    root: str
    number: int
    created_ns: int
    tag: str | None
    mark: object

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
