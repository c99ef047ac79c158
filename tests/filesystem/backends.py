"""Every kind of filesystem that wink has, as `FilesystemConformance` and the state machine make them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem, _disk
from wink.workspace import Workspace

DISKS = {
    "openat2-exchange": {"resolver": "openat2", "exchange": True},
    "openat2-portable": {"resolver": "openat2", "exchange": False},
    "walk-exchange": {"resolver": "walk", "exchange": True},
    "walk-portable": {"resolver": "walk", "exchange": False},
}


def memory(place: Path, *, read_only: bool = False) -> InMemoryFilesystem:
    """Files in memory; `place` is left alone."""
    return InMemoryFilesystem(read_only=read_only)


def disk(variant: str, place: Path, *, read_only: bool = False) -> HostFilesystem:
    """Files beneath a directory, resolved and exchanged as the variant says."""
    with mock.patch.object(_disk, "DiskStore", partial(_disk.DiskStore, **DISKS[variant])):
        return HostFilesystem(place, read_only=read_only)


def workspace(variant: str, place: Path) -> Workspace:
    """A workspace over a directory, resolved and exchanged as the variant says."""
    with mock.patch.object(_disk, "DiskStore", partial(_disk.DiskStore, **DISKS[variant])):
        return Workspace.open(place)


BACKENDS: dict[str, Callable[[Path], Filesystem]] = {
    "memory": memory,
    **{name: partial(disk, name) for name in DISKS},
}
