"""An overlay keeps what every filesystem promises, over an empty lower layer of any kind."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from wink.errors import UndoConflict
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.testing import FilesystemContract
from wink_overlay import OverlayFilesystem


class TestInMemory(FilesystemContract):
    """The upper layer is in memory, the lower one of fsspec's."""

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        lower = MemoryFileSystem(global_store=False, skip_instance_cache=True)
        return OverlayFilesystem(lower, read_only=read_only)


class TestOverOurs(FilesystemContract):
    """The lower layer is one of wink's own."""

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        return OverlayFilesystem(InMemoryFilesystem(), read_only=read_only)


class TestOnDisk(FilesystemContract):
    """Both layers are directories of the host, and the upper one is opened again."""

    reopens = True

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        below = place / "below"
        below.mkdir(exist_ok=True)
        return OverlayFilesystem(LocalFileSystem(), str(below), upper=place / "upper", read_only=read_only)


def test_what_somebody_saved_in_the_upper_layer_is_named_by_the_overlays_path(tmp_path: Path) -> None:
    """Nobody knows the names beneath which an overlay keeps things."""
    with OverlayFilesystem(InMemoryFilesystem(), upper=tmp_path) as files:
        files.write("a.txt", "one")
        snapshot = files.snapshot()
        files.write("a.txt", "two")
        (tmp_path / "tree/a.txt").write_text("theirs")

        with pytest.raises(UndoConflict) as conflict:
            files.restore(snapshot)

    assert conflict.value.paths == ("a.txt",)
    assert "tree/a.txt" not in str(pickle.loads(pickle.dumps(conflict.value)))
