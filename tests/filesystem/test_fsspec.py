"""The same files for libraries that speak fsspec."""

import pickle
from pathlib import Path

import fsspec
import pytest

from wink.errors import HandleRevoked, PathRefused
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.filesystem.fsspec import DiskFileSystem, MemoryFileSystem


def test_a_view_does_what_fsspec_filesystems_do(files: Filesystem) -> None:
    """Every operation arrives at the files, and shows what they are."""
    view = files.fs
    view.pipe({"a/b.txt": b"one\n", "a/c/d.txt": b"two\n"})
    view.mkdir("empty")
    with view.open("a/e.txt", "w") as text:
        text.write("three\n")
    with view.open("/a/e.txt", "ab") as stream:
        stream.write(b"four\n")

    assert view.ls("", detail=False) == ["a", "empty"]
    assert view.ls("a/b.txt", detail=False) == ["a/b.txt"]
    assert [(entry["name"], entry["type"], entry["size"]) for entry in view.ls("/a")] == [
        ("a/b.txt", "file", 4), ("a/c", "directory", 0), ("a/e.txt", "file", 11),
    ]  # fmt: skip
    assert view.find("") == ["a/b.txt", "a/c/d.txt", "a/e.txt"]
    assert view.glob("**/*.txt") == ["a/b.txt", "a/c/d.txt", "a/e.txt"]
    assert view.cat("a/e.txt") == b"three\nfour\n"
    assert view.cat_file("a/e.txt", 1, -1) == b"hree\nfour"
    assert view.exists("a/b.txt")
    assert not view.exists("nowhere")
    assert view.isdir("a")
    assert view.isfile("a/b.txt")
    assert view.modified("a/b.txt").tzinfo is not None

    view.cp("a/b.txt", "copy.txt")
    view.cp("a", "copies", recursive=True)
    view.mv("a/b.txt", "moved.txt")
    view.makedirs("x/y", exist_ok=True)
    view.rmdir("x/y")
    view.rm("a", recursive=True)
    view.rm(["copy.txt"])
    assert view.find("", withdirs=True) == [
        "copies", "copies/b.txt", "copies/c", "copies/c/d.txt", "copies/e.txt", "empty", "moved.txt", "x",
    ]  # fmt: skip
    with pytest.raises(FileExistsError):
        view.mkdir("x")
    with pytest.raises(FileExistsError):
        view.pipe_file("moved.txt", b"", mode="create")
    with pytest.raises(ValueError, match="mode 'r\\+b'"):
        view.open("moved.txt", "r+b")


def test_a_view_is_fenced(files: Filesystem) -> None:
    """It takes part in the transaction, notes what is read, and ends with the call."""
    files.write("a.txt", "one\n")
    part = files.begin()
    view = part.handle.fs
    assert view.cat("a.txt") == b"one\n"
    view.pipe("b.txt", b"two\n")
    assert set(part.noted()) == {"a.txt", "b.txt"}
    with pytest.raises(PathRefused):
        view.pipe(".git/config", b"")
    with pytest.raises(PathRefused):
        view.cat("../x")
    part.undo()

    assert files.fs.find("") == ["a.txt"]
    with pytest.raises(HandleRevoked):
        view.cat("a.txt")


def test_fsspecs_own_transactions_hold_back_writes(memory: InMemoryFilesystem) -> None:
    """A block that raises leaves nothing of what was written in it."""
    view = memory.fs
    with view.transaction, view.open("a.txt", "wb") as stream:
        stream.write(b"x")
        stream.close()
        assert not memory.exists("a.txt")
    assert memory.exists("a.txt")
    with pytest.raises(RuntimeError), view.transaction:
        with view.open("b.txt", "wb") as stream:
            stream.write(b"x")
        raise RuntimeError

    assert not memory.exists("b.txt")


def test_both_are_found_by_name(tmp_path: Path) -> None:
    """Any library that takes an fsspec URL can open them."""
    (tmp_path / "a.txt").write_text("one\n")

    with fsspec.open("wink-disk://a.txt", "r", root=str(tmp_path)) as text:
        assert text.read() == "one\n"
    assert isinstance(fsspec.filesystem("wink-disk", root=str(tmp_path)), DiskFileSystem)
    memory = fsspec.filesystem("wink-memory")
    assert isinstance(memory, MemoryFileSystem)
    memory.pipe("a.txt", b"x")
    assert not fsspec.filesystem("wink-memory").exists("a.txt")


def test_a_view_is_not_pickled(memory: InMemoryFilesystem) -> None:
    """Another process would get other files under the same name."""
    with pytest.raises(TypeError, match="belong to this process"):
        pickle.dumps(memory.fs)


def test_dangling_links_are_listed(files: Filesystem) -> None:
    """A listing must not fail for one of them."""
    part = files.begin()
    with part.changing("link") as frame:
        frame.symlink("link", "nowhere")
    part.publish()

    assert files.fs.ls("") == [{"name": "link", "size": 0, "type": "link"}]
