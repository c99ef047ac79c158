"""A state of a filesystem that it can come back to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FilesystemSnapshot:
    """A state that the filesystem which took it can come back to, as long as the snapshot is kept."""

    snapshot_id: str
    created_at: datetime
    root: str
    tag: str | None = None
    mark: object = field(default=None, repr=False, compare=False)
