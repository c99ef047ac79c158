"""Programs that use files as the specification names them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wink.filesystem import (
    FileEntry,
    FileStat,
    Filesystem,
    FilesystemSnapshot,
    GlobMatch,
    GrepMatch,
    HostFilesystem,
    InMemoryFilesystem,
    ReadResult,
    WriteResult,
)


@pytest.fixture(params=["memory", "host"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Filesystem]:
    """Both kinds, with the same files."""
    if request.param == "memory":
        root: Filesystem = InMemoryFilesystem()
        fill(root)
        yield root
        return
    with HostFilesystem(tmp_path) as host:
        fill(host)
        yield host


def fill(files: Filesystem) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py"):
        files.write(path, "one\ntwo\nthree\n")
    files.write("notes.txt", "two words")


def test_reading(files: Filesystem) -> None:
    """The final newline stays; pages say where they are."""
    whole = files.read("a.py")
    assert isinstance(whole, ReadResult)
    assert (whole.content, whole.path, whole.total_lines, whole.offset, whole.limit, whole.truncated) == (
        "one\ntwo\nthree\n",
        "a.py",
        3,
        0,
        None,
        False,
    )
    page = files.read("a.py", 1, 1, "utf-8")
    assert page == files.read("a.py", offset=1, limit=1, encoding="utf-8")
    assert (page.content, page.offset, page.limit, page.truncated) == ("two\n", 1, 1, True)
    assert files.read_bytes("notes.txt") == b"two words"
    assert files.read("notes.txt").content == "two words"


def test_writing(files: Filesystem) -> None:
    """Overwriting, creating, appending; with the directories above, unless told otherwise."""
    written = files.write("new/a.txt", "one\n", "create", True)
    assert isinstance(written, WriteResult)
    assert (written.path, written.bytes_written, written.mode) == ("new/a.txt", 4, "create")
    files.write("new/a.txt", "two\n", mode="append")
    assert files.read("new/a.txt").content == "one\ntwo\n"
    files.write("new/a.txt", "three\n")
    files.write_bytes("new/b.bin", b"\x00\xff")
    assert (files.read("new/a.txt").content, files.read_bytes("new/b.bin")) == ("three\n", b"\x00\xff")
    with pytest.raises(FileExistsError):
        files.write("new/a.txt", "x", mode="create")
    with pytest.raises(FileNotFoundError):
        files.write("other/a.txt", "x", create_parents=False)


def test_looking(files: Filesystem) -> None:
    """What is where."""
    assert files.exists("src")
    assert not files.exists("nowhere")
    stat = files.stat("a.py")
    assert (stat.path, stat.is_file, stat.is_directory, stat.size_bytes) == ("a.py", True, False, 14)
    assert stat.modified_at.tzinfo is not None
    assert isinstance(stat, FileStat)
    assert all(isinstance(entry, FileEntry) for entry in files.list("src"))
    assert [(entry.name, entry.path, entry.is_file) for entry in files.list("src")] == [
        ("b.py", "src/b.py", True),
        ("deep", "src/deep", False),
    ]
    assert [entry.name for entry in files.list()] == ["a.py", "notes.txt", "src"]
    assert files.read_only is False
    assert files.root


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("**/*.py", ".", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("*.py", ".", ["a.py"]),
        ("src/*.py", ".", ["src/b.py"]),
        ("*.py", "src", ["src/b.py"]),
        ("**/*.py", "src", ["src/b.py", "src/deep/c.py"]),
    ],
)
def test_glob(files: Filesystem, pattern: str, path: str, found: list[str]) -> None:
    """`**` is any number of directories, none too; `*` stays within a name."""
    assert [match.path for match in files.glob(pattern, path)] == found
    assert all(isinstance(match, GlobMatch) and match.is_file for match in files.glob(pattern, path=path))


def test_grep(files: Filesystem) -> None:
    """Lines and places in them, as few as wanted."""
    (match,) = files.grep("w.r", ".", "*.txt", 10)
    assert (match.path, match.line_number, match.line_content, match.match_start, match.match_end) == (
        "notes.txt",
        1,
        "two words",
        4,
        7,
    )
    assert isinstance(match, GrepMatch)
    assert len(files.grep("two", path=".", glob="**/*.py")) == 3
    assert len(files.grep("two", path="src", max_matches=1)) == 1
    assert len(files.grep("two")) == 4


def test_removing_and_making_directories(files: Filesystem) -> None:
    """Nothing is removed with what is in it unless that was asked for."""
    files.mkdir("x/y", True, True)
    files.mkdir("x/y", parents=True, exist_ok=True)
    with pytest.raises(FileExistsError):
        files.mkdir("x/y", exist_ok=False)
    with pytest.raises(FileNotFoundError):
        files.mkdir("p/q", parents=False)
    with pytest.raises(OSError, match="src"):
        files.delete("src")
    files.delete("src", recursive=True)
    files.delete("a.py")
    assert not files.exists("src")
    assert not files.exists("a.py")


def test_errors_are_pythons_own(files: Filesystem) -> None:
    """What programs catch around `open` they can catch here."""
    for act in (files.read, files.read_bytes, files.stat, files.delete, files.list, files.open_read):
        with pytest.raises(FileNotFoundError):
            act("nowhere")
    with pytest.raises(IsADirectoryError):
        files.read("src")
    with pytest.raises(NotADirectoryError):
        files.list("a.py")
    with pytest.raises(PermissionError):
        files.read("../outside")
    with pytest.raises(PermissionError):
        InMemoryFilesystem(read_only=True).write("a", "x")


def test_streams(files: Filesystem) -> None:
    """Bytes and text, in `with` blocks."""
    with files.open_write("s.txt") as out:
        out.write(b"one\n")
    with files.open_write("s.txt", mode="append") as out:
        out.write(b"two\n")
    with files.open_read("s.txt") as data:
        assert data.read() == b"one\ntwo\n"
    with files.open_text("s.txt") as text:
        assert list(text) == ["one\n", "two\n"]
    with files.open_text("s.txt", "w", encoding="utf-8") as text:
        text.write("three\n")
    assert files.read("s.txt").content == "three\n"


def test_snapshots_belong_to_their_filesystem() -> None:
    """And can be restored in any order."""
    files = InMemoryFilesystem()
    files.write("a.txt", "1\n")
    first, second = files.snapshot(), files.snapshot(tag="second")
    assert isinstance(first, FilesystemSnapshot)
    assert (first.tag, second.tag) == (None, "second")
    assert first.created_at.tzinfo is not None
    files.write("a.txt", "2\n")
    third = files.snapshot("third")
    files.restore(first)
    assert files.read("a.txt").content == "1\n"
    files.restore(third)
    assert files.read("a.txt").content == "2\n"
    with pytest.raises(ValueError, match="snapshot"):
        InMemoryFilesystem().restore(first)
