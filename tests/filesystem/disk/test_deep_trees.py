"""Trees of thousands of levels: what is near the last path is not walked from the root again, and never trusted blindly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from wink.errors import PathRefused
from wink.filesystem import HostFilesystem
from wink.filesystem.disk import _root, _trees
from wink.filesystem.disk._store import DiskStore

LEVELS = 2500
"""More than a path of 4,095 bytes can name."""


def dig(root: Path, levels: int) -> None:
    """A chain of directories `d`, with a file at the top and in each fiftieth."""
    fd = os.open(root, os.O_RDONLY)
    for level in range(levels):
        if level % 50 == 0:
            with os.fdopen(os.open("f.txt", os.O_CREAT | os.O_WRONLY, dir_fd=fd), "w") as file:
                file.write("needle\n")
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)


@pytest.fixture(params=["openat2", "walk"])
def resolver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of finding files beneath a root."""
    monkeypatch.setattr(_root, "has_openat2", lambda: request.param == "openat2")
    return request.param


@pytest.fixture
def files(resolver: str, tmp_path: Path) -> Iterator[HostFilesystem]:
    """An empty directory of the host."""
    (tmp_path / "root").mkdir()
    with HostFilesystem(tmp_path / "root") as made:
        assert made.level == resolver
        yield made
    # pytest clears away what tests leave by calling itself for each level.
    fd = os.open(tmp_path, os.O_RDONLY)
    _trees.remove(fd, "root")
    os.close(fd)


def test_a_tree_deeper_than_any_path_can_be_used(files: HostFilesystem, tmp_path: Path) -> None:
    """What can be named is found; the rest is moved, removed and put back with the directory that it is in."""
    (tmp_path / "root" / "top").mkdir()
    dig(tmp_path / "root" / "top", LEVELS)
    longest = "top/" + "d/" * 2000

    assert len(files.glob("**", limit=10_000)) == 1 + 2046 + 41
    assert len(files.grep("needle")) == 41
    assert files.stat(longest).is_directory
    assert files.version(longest.rstrip("/")) is not None
    files.write(longest + "new.txt", "x")
    files.move("top", "moved")
    part = files.begin()
    part.handle.delete("moved", recursive=True)
    assert len(part.changes()) == LEVELS + LEVELS // 50 + 2
    part.undo()
    assert files.read("moved/" + "d/" * 2000 + "new.txt").content == "x"
    files.delete("moved", recursive=True)
    assert files.list() == ()


def test_making_many_levels_at_once(files: HostFilesystem) -> None:
    """One write makes them all, and one undo removes them."""
    part = files.begin()
    part.handle.write("d/" * 1000 + "a.txt", "x")
    assert part.handle.read("d/" * 1000 + "a.txt").content == "x"
    part.undo()

    assert files.list() == ()


def test_a_walk_opens_each_directory_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the root each time, four hundred levels would be eighty thousand."""
    dig(tmp_path, 400)
    store = DiskStore(str(tmp_path), resolver="walk")
    opened: list[object] = []
    open_file = os.open
    monkeypatch.setattr(os, "open", lambda *args, **options: (opened.append(args), open_file(*args, **options))[1])

    for level in range(400):
        assert ("d", "directory") in list(store.scan("/".join("d" * level)))
    assert len(opened) < 400 * 4
    store.close()


@pytest.mark.parametrize("levels", [10, 40])
def test_a_directory_that_was_moved_out_is_not_followed(tmp_path: Path, levels: int) -> None:
    """Whatever is still open of it: at the path there is nothing, or something else."""
    root, path = tmp_path / "root", "/".join("d" * levels)
    root.mkdir()
    dig(root, levels + 5)
    store = DiskStore(str(root), resolver="walk")
    store.node(path + "/d/d")
    (root / path).rename(tmp_path / "stolen")

    with pytest.raises(FileNotFoundError):
        store.node(path + "/d/d")
    with pytest.raises(FileNotFoundError):
        store.begin("tx").put(path + "/d/x.txt", b"")
    (root / path).symlink_to(tmp_path / "stolen")
    with pytest.raises(PathRefused):
        store.node(path + "/d/d")
    (root / path).unlink()
    (root / path / "d" / "d").mkdir(parents=True)
    assert list(store.scan(path + "/d/d")) == []
    store.close()


def test_a_root_that_moves_is_followed(tmp_path: Path) -> None:
    """The root is the directory that was opened, wherever somebody puts it."""
    root = tmp_path / "root"
    root.mkdir()
    dig(root, 60)
    store = DiskStore(str(root), resolver="walk")
    path = "/".join("d" * 50)
    store.node(path)
    root.rename(tmp_path / "renamed")

    assert store.node(path).kind == "directory"
    store.close()


def test_few_descriptors_are_kept_and_all_given_back(tmp_path: Path) -> None:
    """However many deep directories there are."""
    before = len(os.listdir("/proc/self/fd"))
    for number in range(30):
        (tmp_path / str(number)).mkdir()
        dig(tmp_path / str(number), 30)
    store = DiskStore(str(tmp_path), resolver="walk")
    for number in range(30):
        for level in range(30):
            store.node(f"{number}/" + "/".join("d" * level))
    assert len(os.listdir("/proc/self/fd")) <= before + 12
    store.close()

    assert len(os.listdir("/proc/self/fd")) == before
