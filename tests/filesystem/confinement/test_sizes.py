"""Huge files, lines, directories and depths cost time in proportion, and no more memory than is said."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from wink.errors import FileTooLarge, NotText, PathRefused, WriteTooLarge
from wink.filesystem.disk._trees import remove

MIB = 1 << 20


@contextmanager
def at_most(limit: int) -> Iterator[None]:
    """Fails when more memory than this is held at once."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, f"{peak / MIB:.0f} MiB"


def test_a_sparse_file_of_ten_gigabytes(disk: Any, watch: Any, uses: Any) -> None:
    """Nothing but its first bytes is read to say what it is; it moves, goes away and comes back like any other."""
    with open(disk.root / "huge", "wb") as file:
        file.truncate(10 << 30)
    watch()

    with at_most(80 * MIB):
        for name, error in (("read", FileTooLarge), ("read_bytes", FileTooLarge), ("append", WriteTooLarge)):
            disk.refuses(uses[name], "huge", error)
        with pytest.raises(NotText):
            uses["edit"](disk.files, "huge")
        with pytest.raises(NotText):
            disk.files.read("huge", 0, 5, max_line_chars=100)
        assert disk.files.read_bytes("huge", 9 << 30, 10) == bytes(10)
        assert disk.files.grep("x", "huge") == ()
        assert disk.files.open_read("huge").size == 10 << 30
        part = disk.files.begin()
        part.handle.move("huge", "dir/huge")
        part.handle.write("dir/huge", "small now\n")
        part.handle.delete("dir/huge")
        part.changes()
        part.undo()

    assert os.stat(disk.root / "huge").st_size == 10 << 30


def test_a_line_of_a_hundred_megabytes(disk: Any) -> None:
    """It is shown in part, and searched in parts."""
    with open(disk.root / "line", "wb") as file:
        file.writelines(b"x" * MIB for _ in range(100))
        file.write(b"needle\nlast\n")

    with at_most(120 * MIB):
        page = disk.files.read("line", 0, 2, max_line_chars=1000)
        assert page.content == "x" * 1000 + "\nlast\n"
        assert page.clipped_lines == (0,)
        assert len(disk.files.grep("needle", "line")) == 1
        assert [match.line_content for match in disk.files.grep("^l.st$", "line")] == ["last"]
        with pytest.raises(FileTooLarge):
            disk.files.read("line")


def test_a_directory_of_a_hundred_thousand_names(kernel: Any) -> None:
    """Lists and searches end at their limits."""
    many = kernel.root / "many"
    many.mkdir()
    fd = os.open(many, os.O_RDONLY)
    try:
        os.close(os.open("f0", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        for number in range(1, 100_000):
            if number % 50_000 == 0:  # ext4 knows no more names of one file
                os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
            else:
                os.link(f"f{number - number % 50_000}", f"f{number}", src_dir_fd=fd, dst_dir_fd=fd)
    finally:
        os.close(fd)

    with at_most(60 * MIB):
        found = kernel.files.list("many", limit=10)
        assert [entry.name for entry in found] == [
            "f0",
            "f1",
            *(f"f{10**n}" for n in range(1, 5)),
            "f10001",
            "f10002",
            "f10003",
            "f10004",
        ]
        assert found.truncated
        assert kernel.files.glob("many/*", limit=10).truncated
        assert len(kernel.files.glob("many/f9999?")) == 10


def deepen(top: int, levels: int) -> None:
    """Directories `d` in each other, made step by step, as their path would be too long."""
    here = os.dup(top)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        there = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(os.open("leaf.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.fixture
def cleared(disk: Any) -> Iterator[None]:
    """Removes what pytest itself could not, as it recurses."""
    yield
    fd = os.open(disk.root, os.O_RDONLY)
    for name in ("d", "dir"):
        remove(fd, name)
    os.close(fd)


@pytest.mark.usefixtures("cleared")
def test_a_tree_of_five_thousand_levels(disk: Any, watch: Any, uses: Any) -> None:
    """What is too deep to be named is passed over; the tree can be moved, deleted and brought back as a whole."""
    fd = os.open(disk.root, os.O_RDONLY)
    try:
        deepen(fd, 5000 if disk.kind == "openat2" else 600)
    finally:
        os.close(fd)
    watch()

    assert {"own.txt", "dir/own.txt"} <= {match.path for match in disk.files.glob("**/*.txt")}
    assert len(disk.files.grep("mine")) == 2
    disk.refuses(uses["read"], "d/" * 3000 + "leaf.txt", PathRefused)
    part = disk.files.begin()
    part.handle.move("d", "dir/d")
    part.undo()
    assert disk.files.exists("d/" * 500)
    disk.files.delete("d", recursive=True)
    disk.files.discard_preimages()
    disk.files.close()

    assert not (disk.root / "d").exists()
