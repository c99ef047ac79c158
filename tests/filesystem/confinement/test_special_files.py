"""What is neither a file nor a directory is refused at once: nothing waits for it, reads from it or writes to it."""

from __future__ import annotations

import os
import socket
import stat
from typing import Any

import pytest

from wink.errors import PathRefused

SPECIAL = ("fifo", "socket", "device", "link-to-fifo", "dir/link-to-device")
ON_THE_NAME = ("stat", "delete", "delete all", "move from", "move to", "create", "mkdir", "list", "glob", "grep")


@pytest.fixture
def special(disk: Any) -> Any:
    """A workspace with one of each kind."""
    os.mkfifo(disk.root / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(disk.root)
        server.bind("socket")
        os.chdir(here)
    try:
        os.mknod(disk.root / "device", stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        os.mkfifo(disk.root / "device")
    (disk.root / "link-to-fifo").symlink_to("fifo")
    (disk.root / "dir/link-to-device").symlink_to("../device")
    return disk


@pytest.mark.parametrize("path", SPECIAL)
def test_content_is_refused(special: Any, watch: Any, uses: Any, path: str) -> None:
    """A FIFO that nobody writes to would block for ever; /dev/full would fail, /dev/zero never end."""
    watch()

    for name, use in uses.items():
        if name not in ON_THE_NAME:
            said = special.refuses(use, path, PathRefused)
            assert "not a regular file" in said, name
    assert not special.files.stat(path).is_file
    with pytest.raises((PathRefused, NotADirectoryError)):
        special.files.list(path)
    assert special.files.fingerprint(path) is None


def test_walks_pass_over_them(special: Any, watch: Any) -> None:
    """They are named, and not opened."""
    watch()

    assert [match.path for match in special.files.grep(".")] == ["dir/own.txt", "own.txt"]
    assert {"fifo", "socket", "device"} <= {match.path for match in special.files.glob("*")}
    assert all(not entry.is_file for entry in special.files.list() if entry.name in SPECIAL)


def test_they_can_be_deleted_moved_and_brought_back(special: Any, watch: Any) -> None:
    """That concerns only their names."""
    watch()
    part = special.files.begin()
    part.handle.delete("fifo")
    part.handle.move("socket", "dir/socket")
    part.handle.delete("device")
    part.changes()
    part.undo()
    assert stat.S_ISFIFO(os.lstat(special.root / "fifo").st_mode)
    assert stat.S_ISSOCK(os.lstat(special.root / "socket").st_mode)

    special.files.delete("fifo")

    assert not os.path.lexists(special.root / "fifo")


def test_an_ignore_file_that_is_none_is_no_trap(special: Any) -> None:
    """It would be opened by every search that honours ignore files."""
    os.mkfifo(special.root / ".gitignore")
    (special.root / "dir/.gitignore").symlink_to("/etc/passwd")

    assert len(special.files.grep("mine", respect_ignore=True)) == 2
