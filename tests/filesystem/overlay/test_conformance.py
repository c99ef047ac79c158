"""An overlay keeps what every filesystem promises, over an empty lower layer of any kind."""

from __future__ import annotations

from pathlib import Path

from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from wink.filesystem import Filesystem, InMemoryFilesystem, OverlayFilesystem
from wink.testing import FilesystemConformance


class TestInMemory(FilesystemConformance):
    """The upper layer is in memory, the lower one of fsspec's."""

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        lower = MemoryFileSystem(global_store=False, skip_instance_cache=True)
        return OverlayFilesystem(lower, read_only=read_only)


class TestOverOurs(FilesystemConformance):
    """The lower layer is one of wink's own."""

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        return OverlayFilesystem(InMemoryFilesystem(), read_only=read_only)


class TestOnDisk(FilesystemConformance):
    """Both layers are directories of the host, and the upper one is opened again."""

    reopens = True

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        below = place / "below"
        below.mkdir(exist_ok=True)
        return OverlayFilesystem(LocalFileSystem(), str(below), upper=place / "upper", read_only=read_only)
