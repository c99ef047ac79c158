"""Libraries that speak fsspec can have an overlay over any filesystem that fsspec has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from wink_overlay import OverlayFileSystem


@pytest.fixture(autouse=True)
def _registered() -> None:
    """As the entry point does where wink is installed."""
    fsspec.register_implementation("wink-overlay", OverlayFileSystem, clobber=True)


def test_an_overlay_is_found_by_its_name(tmp_path: Path) -> None:
    """Over an object, or over what a protocol and its options stand for."""
    (tmp_path / "a.txt").write_text("below")
    fs: Any = fsspec.filesystem("wink-overlay", fo=str(tmp_path), target_protocol="file")
    fs.pipe("b.txt", b"new")

    assert fs.find("") == ["a.txt", "b.txt"]
    assert fs.cat("a.txt") == b"below"
    assert [change.path for change in fs.overlay.diff()] == ["b.txt"]
    assert not (tmp_path / "b.txt").exists()
    with pytest.raises(ValueError, match="needs a lower layer"):
        OverlayFileSystem()


def test_urls_are_chained(tmp_path: Path) -> None:
    """The overlay's path before the place that it is over."""
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "a.txt").write_text("below")

    with fsspec.open(f"wink-overlay://a.txt::file://{tmp_path}/dir", "r") as stream:
        assert stream.read() == "below"


def test_the_view_of_an_overlay_is_a_filesystem_as_any_other() -> None:
    """`find`, `cp`, `mv`, and transactions, over both layers."""
    lower = MemoryFileSystem(global_store=False, skip_instance_cache=True)
    lower.pipe("/dir/a.txt", b"a")
    fs = OverlayFileSystem("dir", fs=lower)
    with fs.transaction:
        fs.pipe("sub/b.txt", b"b")
    fs.mv("a.txt", "sub/c.txt")
    fs.cp("sub/c.txt", "d.txt")

    assert fs.cat(fs.find("")) == {"d.txt": b"a", "sub/b.txt": b"b", "sub/c.txt": b"a"}
    assert lower.find("/") == ["/dir/a.txt"]
    fs.overlay.commit()
    assert lower.find("/") == ["/dir/d.txt", "/dir/sub/b.txt", "/dir/sub/c.txt"]
