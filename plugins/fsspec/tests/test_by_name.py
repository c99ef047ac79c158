"""Opened by name: what fsspec finds through entry points, and what such filesystems share, which is nothing."""

import gc
import os
import pickle
import zipfile
from pathlib import Path

import fsspec
import pytest
from fsspec.core import url_to_fs

from wink.errors import PathRefused
from wink.filesystem import InMemoryFilesystem
from wink_fsspec import DiskFileSystem, MemoryFileSystem


@pytest.mark.parametrize("protocol", ["wink", "wink-disk"])
def test_files_of_a_directory_are_opened_by_url(tmp_path: Path, protocol: str) -> None:
    """Any library that takes an fsspec URL with storage options can open them."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.txt").write_text("one\n")

    with fsspec.open(f"{protocol}://src/a.txt", "r", root=str(tmp_path)) as text:
        assert text.read() == "one\n"
    with fsspec.open(f"{protocol}:///src/b.txt.gz", "wt", root=tmp_path, compression="infer") as text:
        text.write("two\n")
    files, path = url_to_fs(f"{protocol}://src/b.txt.gz", root=str(tmp_path))
    assert isinstance(files, DiskFileSystem)
    assert path == "src/b.txt.gz"
    assert fsspec.open_files(f"{protocol}://src/*", root=str(tmp_path))[0].path == "src/a.txt"
    assert files.unstrip_protocol(path) == "wink://src/b.txt.gz"


def test_chained_urls_lead_through_it(tmp_path: Path) -> None:
    """Archives inside of the workspace are opened in place."""
    with fsspec.open("wink://a.zip", "wb", root=tmp_path) as stream, zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("inner.txt", "packed")

    with fsspec.open("zip://inner.txt::wink://a.zip", wink={"root": tmp_path}) as stream:
        assert stream.read() == b"packed"


@pytest.mark.parametrize(
    "path", ["wink://../secret", "wink://a/../../secret", "wink:///../secret", "wink://link/secret"]
)
def test_nothing_leads_out_of_the_root(tmp_path: Path, path: str) -> None:
    """A URL is no other way in than a path."""
    (tmp_path / "secret").write_text("s")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to("..")

    with pytest.raises(PathRefused):
        fsspec.open(path, root=str(tmp_path / "root")).open()
    with pytest.raises(FileNotFoundError):
        fsspec.open(f"wink://{tmp_path}/secret", root=str(tmp_path / "root")).open()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "a root is missing; name the directory"),
        ({"root": "/", "readonly": True}, "there is no option 'readonly'"),
        ({"root": "/", "durability": "eternal"}, "durability"),
    ],
)
def test_what_is_wrong_with_the_options_is_said(options: dict[str, object], complaint: str) -> None:
    """A misspelt `read_only` that is passed over would be a promise that is not kept."""
    with pytest.raises((TypeError, ValueError), match=complaint):
        fsspec.filesystem("wink", **options)


def test_a_root_that_is_none_is_an_error(tmp_path: Path) -> None:
    """A misspelt root must not be made."""
    with pytest.raises(FileNotFoundError):
        fsspec.filesystem("wink", root=tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        fsspec.filesystem("wink", root=tmp_path / "file")


def test_filesystems_in_memory_share_nothing() -> None:
    """fsspec would give the first one again to whoever asks with the same options."""
    first, second = fsspec.filesystem("wink-memory"), fsspec.filesystem("wink-memory")
    assert isinstance(first, MemoryFileSystem)
    first.pipe("a.txt", b"x")

    assert not second.exists("a.txt")
    assert first != second
    assert hash(first) != hash(second)
    assert not fsspec.filesystem("wink-memory").exists("a.txt")


def test_views_are_equal_when_their_files_are_the_same(tmp_path: Path) -> None:
    """pyarrow and dask take two that are equal for one; two empty ones that were made alike are not."""
    one, other = InMemoryFilesystem(), InMemoryFilesystem()
    assert one.fs == one.fs
    assert one.fs != other.fs
    assert one.fs != one.begin().handle.fs
    assert len({one.fs, one.fs, other.fs}) == 2
    (tmp_path / "b").mkdir()
    first = DiskFileSystem(tmp_path)
    assert first == DiskFileSystem(str(tmp_path))
    assert first != DiskFileSystem(tmp_path / "b")
    assert first != DiskFileSystem(tmp_path, read_only=True)
    assert first != object()


def test_a_directory_is_opened_again_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle that goes to another process opens the same directory, from wherever that process runs."""
    (tmp_path / "a.txt").write_text("one\n")
    monkeypatch.chdir(tmp_path)
    files = DiskFileSystem(".", read_only=True)
    monkeypatch.chdir("/")

    again = pickle.loads(pickle.dumps(files))
    assert again == files
    assert again.cat("a.txt") == b"one\n"
    with pytest.raises(PermissionError):
        again.pipe("b.txt", b"")
    assert DiskFileSystem.from_json(files.to_json()) == files
    opened = pickle.loads(pickle.dumps(fsspec.open("wink://a.txt", root=tmp_path)))
    with opened as stream:
        assert stream.read() == b"one\n"


def test_what_belongs_to_this_process_is_not_pickled() -> None:
    """Another process would get other files under the same name."""
    for view in (InMemoryFilesystem().fs, MemoryFileSystem(), InMemoryFilesystem().begin().handle.fs):
        with pytest.raises(TypeError, match="belong to this process"):
            pickle.dumps(view)
        with pytest.raises(TypeError, match="belong to this process"):
            view.to_json()


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    """Nobody closes an fsspec filesystem, so it closes itself; but not under an open stream."""
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    stream = fsspec.open("wink://a.txt", "w", root=tmp_path).open()
    gc.collect()
    stream.write("late")
    stream.close()
    del stream
    for _ in range(20):
        fsspec.filesystem("wink", root=tmp_path).cat("a.txt")
        with pytest.raises(TypeError):
            fsspec.filesystem("wink", root=tmp_path, wrong=1)
    gc.collect()

    assert (tmp_path / "a.txt").read_text() == "late"
    assert len(os.listdir("/proc/self/fd")) == before
