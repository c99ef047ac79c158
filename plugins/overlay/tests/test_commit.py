"""Bringing changes into the lower layer: all of them or none, and nothing of anybody else's lost."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from wink.errors import PathRefused, ReadOnlyFilesystem
from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.workspace import Workspace
from wink_overlay import OverlayCommitFailed, OverlayFilesystem


class Failing(MemoryFileSystem):
    """Fails at one of its writes, counted from 1, and from then on if `stays`."""

    cachable = False

    def __init__(self, **options: Any) -> None:
        super().__init__(global_store=False, **options)
        self.left, self.stays = -1, False

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0 or (self.stays and self.left < 0):
            self.left = -1 if not self.stays else self.left
            raise ConnectionError("the line went dead")

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if mode != "rb":
            self._count()
        return super()._open(path, mode, **options)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        self._count()
        super().cp_file(path1, path2, **options)

    def rm_file(self, path: str) -> None:
        self._count()
        super()._rm(path)

    def rmdir(self, path: str) -> None:
        self._count()
        super().rmdir(path)


def contents(fs: MemoryFileSystem) -> dict[str, bytes]:
    """Every file there is."""
    return {path: fs.cat_file(path) for path in fs.find("")}


def changed(fs: MemoryFileSystem) -> OverlayFilesystem:
    """An overlay with a change of every kind."""
    for path in ("a.txt", "b.txt", "dir/c.txt", "dir/d.txt", "turns", "old/e.txt"):
        fs.pipe_file(f"/{path}", path.encode())
    files = OverlayFilesystem(fs)
    files.write("a.txt", "changed")
    files.delete("b.txt")
    files.move("dir", "moved")
    files.write("moved/new.txt", "new")
    files.delete("turns")
    files.write("turns/inner.txt", "inner")
    files.delete("old", recursive=True)
    files.write("old", "a file now")
    return files


def _failure(files: OverlayFilesystem) -> OverlayCommitFailed | None:
    try:
        files.commit()
    except OverlayCommitFailed as failed:
        return failed
    return None


def test_a_failure_anywhere_puts_everything_back() -> None:
    """At every write that a commit makes; the changes stay in the overlay, and can be committed later."""
    for at in range(1, 40):
        fs = Failing()
        files = changed(fs)
        before, expected = contents(fs), {change.path for change in files.diff()}
        fs.left = at
        failed = _failure(files)
        if failed is None:
            break
        assert "ConnectionError: the line went dead" in str(failed)
        assert failed.left == ()
        assert contents(fs) == before
        assert {change.path for change in files.diff()} == expected
        files.commit()
        assert contents(fs) == {
            "/a.txt": b"changed", "/moved/c.txt": b"dir/c.txt", "/moved/d.txt": b"dir/d.txt", "/moved/new.txt": b"new",
            "/turns/inner.txt": b"inner", "/old": b"a file now",
        }  # fmt: skip
        assert files.diff() == ()
    assert at > 8


def test_what_cannot_be_put_back_is_named() -> None:
    """Where the lower layer stays out of reach, each path that is not as it was is told."""
    fs = Failing()
    files = changed(fs)
    fs.left, fs.stays = 3, True
    changed_paths = {change.path for change in files.diff()}

    with pytest.raises(OverlayCommitFailed, match="not put back there") as failed:
        files.commit()

    assert failed.value.left
    assert set(failed.value.left) <= changed_paths


def test_a_commit_that_was_written_but_not_noted_is_noted_the_next_time(tmp_path: Path) -> None:
    """A process may die between the two layers: what is there already is no conflict."""
    lower = MemoryFileSystem(global_store=False, skip_instance_cache=True)
    lower.pipe_file("/a.txt", b"one")
    files = OverlayFilesystem(lower)
    files.write("a.txt", "two")
    files.write("b.txt", "new")
    lower.pipe_file("/a.txt", b"two")
    lower.pipe_file("/b.txt", b"new")

    files.commit()

    assert files.diff() == ()


def test_into_ours_it_is_one_transaction(tmp_path: Path) -> None:
    """A failure half-way is rolled back by the lower layer's own journal; modes, links and times come along."""
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "sub").mkdir()
    with HostFilesystem(tmp_path) as lower:
        files = OverlayFilesystem(lower)
        files.append("run.sh", "exit 0\n")
        part = files.begin()
        with part.changing("links") as change_set:
            change_set.symlink("sub/link", "../run.sh")
            change_set.mkdir("empty")
            change_set.chmod("sub", 0o700)
        part.prepare()
        part.publish()

        files.commit()

        assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755
        assert (tmp_path / "sub" / "link").readlink() == Path("../run.sh")
        assert (tmp_path / "sub").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "empty").is_dir()

        (tmp_path / "sub" / "stays").write_text("x")
        before = lower.snapshot()
        files.write("a.txt", "a")
        files.write("z/b.txt", "b")
        (tmp_path / ".git").mkdir()
        (tmp_path / "z").symlink_to("/nowhere")
        with pytest.raises(OverlayCommitFailed):
            files.commit()
        (tmp_path / "z").unlink()
        assert lower.diff(before) == ()
        files.commit()
        assert (tmp_path / "z" / "b.txt").read_text() == "b"


def test_a_commit_in_a_call_is_a_part_of_the_call() -> None:
    """The lower layer may be a call's own handle: what is committed goes when the call fails."""
    lower = InMemoryFilesystem()
    lower.write("a.txt", "one")
    part = lower.begin()
    files = OverlayFilesystem(part.handle)
    files.write("a.txt", "two")

    files.commit()

    assert part.handle.read("a.txt").content == "two"
    part.undo()
    assert lower.read("a.txt").content == "one"


def test_a_move_is_committed_as_a_whole() -> None:
    """Whoever commits where something came from, commits where it went; a part of a moved directory is refused."""
    lower = MemoryFileSystem(global_store=False, skip_instance_cache=True)
    lower.pipe_file("/a/b.txt", b"b")
    lower.pipe_file("/c.txt", b"c")
    files = OverlayFilesystem(lower)
    files.move("a", "moved")
    files.write("c.txt", "other")

    with pytest.raises(PathRefused, match=r"is in 'moved', which was itself moved"):
        files.commit("moved/b.txt")
    files.commit("a")

    assert contents(lower) == {"/moved/b.txt": b"b", "/c.txt": b"c"}
    assert [change.path for change in files.diff()] == ["c.txt"]


def test_names_that_change_places_keep_their_contents() -> None:
    """Each is fetched before the other is written over it."""
    for lower in (MemoryFileSystem(global_store=False, skip_instance_cache=True), InMemoryFilesystem()):
        for path in ("a", "b"):
            write = lower.write_bytes if isinstance(lower, Filesystem) else lower.pipe_file
            write(f"{path}.txt", path.encode())
            write(f"{path}/{path}.txt", path.encode())
        files = OverlayFilesystem(lower)
        for one, two in (("a.txt", "b.txt"), ("a", "b")):
            files.move(one, "between")
            files.move(two, one)
            files.move("between", two)

        files.commit()

        again = OverlayFilesystem(lower)
        assert again.read("a.txt").content == "b"
        assert again.read("b.txt").content == "a"
        assert [match.path for match in again.glob("*/*")] == ["a/b.txt", "b/a.txt"]


def test_what_came_into_a_deleted_directory_since_is_not_deleted(tmp_path: Path) -> None:
    """One mark hides a directory; nobody looked at what was in it."""
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "a.txt").write_text("a")
    with OverlayFilesystem(LocalFileSystem(), str(tmp_path)) as files:
        files.delete("dir", recursive=True)
        (tmp_path / "dir" / "theirs.txt").write_text("theirs")
        os.utime(
            tmp_path / "dir" / "theirs.txt", (time.time() + 1, time.time() + 1)
        )  # the disk's clock is a coarse one

        with pytest.raises(OverlayCommitFailed) as failed:
            files.commit()

        assert failed.value.paths == ("dir/theirs.txt",)
        assert (tmp_path / "dir" / "theirs.txt").exists()


def test_a_lower_layer_that_only_reads_says_so(tmp_path: Path) -> None:
    """Once, and before anything is tried."""
    lower = InMemoryFilesystem(read_only=True)
    files = OverlayFilesystem(lower)
    files.write("a.txt", "x")

    with pytest.raises(ReadOnlyFilesystem, match="the lower layer 'memory:' was opened for reading only"):
        files.commit()

    class ReadsOnly(MemoryFileSystem):
        def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
            if mode != "rb":
                raise NotImplementedError
            return super()._open(path, mode, **options)

    files = OverlayFilesystem(ReadsOnly(global_store=False, skip_instance_cache=True))
    files.write("sub/a.txt", "x")
    with pytest.raises(ReadOnlyFilesystem, match="cannot be written; the changes are still in the overlay"):
        files.commit()
    assert files.read("sub/a.txt").content == "x"


def test_a_link_cannot_go_where_there_are_none() -> None:
    """And nothing else goes then either."""
    lower = MemoryFileSystem(global_store=False, skip_instance_cache=True)
    files = OverlayFilesystem(lower)
    files.write("a.txt", "a")
    part = files.begin()
    with part.changing("link") as change_set:
        change_set.symlink("link", "a.txt")
    part.prepare()
    part.publish()

    with pytest.raises(OverlayCommitFailed, match="'link' are links") as failed:
        files.commit()

    assert failed.value.paths == ("link",)
    assert contents(lower) == {}
    files.discard("link")
    files.commit()
    assert contents(lower) == {"/a.txt": b"a"}


def test_an_overlay_of_an_overlay_commits_one_layer_at_a_time() -> None:
    """Each is the lower layer of the next."""
    lower = InMemoryFilesystem()
    lower.write("a.txt", "one\n")
    middle = OverlayFilesystem(lower)
    top = OverlayFilesystem(middle)
    top.append("a.txt", "two\n")

    top.commit()
    assert lower.read("a.txt").content == "one\n"
    assert middle.read("a.txt").content == "one\ntwo\n"
    middle.commit()
    assert lower.read("a.txt").content == "one\ntwo\n"


def test_into_a_workspace_it_is_a_call_that_can_be_undone(tmp_path: Path) -> None:
    """The record knows what was committed, as of any other change."""
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "b.txt").write_text("b\n")
    with Workspace.open(tmp_path) as workspace:
        files = OverlayFilesystem(workspace.filesystem)
        files.append("a.txt", "two\n")
        files.move("dir", "moved")

        files.commit()
        assert (tmp_path / "moved" / "b.txt").read_text() == "b\n"
        workspace.undo()

        assert (tmp_path / "a.txt").read_text() == "one\n"
        assert (tmp_path / "dir" / "b.txt").read_text() == "b\n"
        assert not (tmp_path / "moved").exists()
