"""What files of the host promise: others change them too, and they are there the next time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wink.errors import FileConflict, PathRefused
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Make, Promises, commit, contents, exactly, needs


def _in_place(path: Path) -> None:
    path.write_bytes(b"theirs\n")


def _by_rename(path: Path) -> None:
    path.with_name("theirs.tmp").write_bytes(b"theirs\n")
    path.with_name("theirs.tmp").replace(path)


def _anew(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"theirs\n")


SAVES: list[Callable[[Path], None]] = [_in_place, _by_rename, _anew]


class Host(Promises):
    """A person's editor knows nothing of our turns, and the disk holds more than files."""

    @needs("on_host")
    def test_what_others_write_is_seen(self, files: Filesystem, place: Path) -> None:
        """At once, and by its content: nothing that was remembered is believed."""
        files.write("a.txt", "ours\n")
        prints = {files.fingerprint("a.txt")}
        for number in range(20):
            (place / "a.txt").write_bytes(b"%04d\n" % number)
            assert files.read("a.txt").content == f"{number:04d}\n"
            prints.add(files.fingerprint("a.txt"))
        (place / "dir").mkdir()
        (place / "dir/b.txt").write_bytes(b"theirs\n")

        assert len(prints) == 21
        assert [match.path for match in files.grep("theirs")] == ["dir/b.txt"]
        assert contents(files) == {"a.txt": b"0019\n", "dir": None, "dir/b.txt": b"theirs\n"}

    @needs("on_host")
    def test_what_we_write_is_there_for_others(self, files: Filesystem, place: Path) -> None:
        """As ordinary files, from the moment of the change."""
        files.write("dir/a.txt", "ours\n")
        part = files.begin()
        part.handle.write("dir/a.txt", "a call's\n")
        assert (place / "dir/a.txt").read_bytes() == b"a call's\n"
        part.undo()

        assert (place / "dir/a.txt").read_bytes() == b"ours\n"

    @needs("on_host")
    def test_an_edit_does_not_overwrite_what_somebody_saved_in_between(self, files: Filesystem, place: Path) -> None:
        """Their version stands, and the caller is told to read again."""
        files.write("a.txt", "one\n")

        class Saving(str):
            """Text that has somebody save the file in the moment in which it is looked at."""

            __slots__ = ()

            def replace(self, *args: object) -> str:  # type: ignore[override]
                (place / "a.txt").write_bytes(b"theirs\n")
                return str.replace(self, *args)  # type: ignore[arg-type]

        with pytest.raises(FileConflict, match="somebody else"):
            files.edit("a.txt", "one", Saving("two"))

        assert files.read("a.txt").content == "theirs\n"

    @needs("on_host")
    @pytest.mark.parametrize("save", SAVES)
    def test_a_rollback_loses_nothing_that_somebody_saved(
        self, files: Filesystem, place: Path, save: Callable[[Path], object]
    ) -> None:
        """It stays where it is, or is put aside; it is never gone."""
        files.write("a.txt", "before\n")
        part = files.begin()
        part.handle.write("a.txt", "a call's\n")
        save(place / "a.txt")
        part.undo()

        kept = [path.read_bytes() for path in place.rglob("*") if path.is_file()]
        assert b"theirs\n" in kept

    @needs("on_host", "has_links")
    def test_links_planted_by_others_lead_nowhere_outside(self, files: Filesystem, place: Path) -> None:
        """Absolute ones, and ones with too many steps up; nothing out there is read, made or deleted."""
        outside = place.parent / "outside"
        outside.mkdir()
        (outside / "secret").write_bytes(b"secret\n")
        (place / "absolute").symlink_to(outside)
        (place / "relative").symlink_to("../outside")
        (place / "file").symlink_to("../outside/secret")

        for name in ("absolute", "relative"):
            for use in (
                lambda name=name: files.read(f"{name}/secret"),
                lambda name=name: files.write(f"{name}/secret", "x"),
                lambda name=name: files.write(f"{name}/new", "x"),
                lambda name=name: files.delete(f"{name}/secret"),
                lambda name=name: files.list(name),
                lambda name=name: files.mkdir(f"{name}/new"),
                lambda name=name: files.move(f"{name}/secret", "stolen"),
                lambda name=name: files.stat(f"{name}/secret"),
            ):
                with pytest.raises(PathRefused):
                    use()
        with pytest.raises(PathRefused):
            files.write("file", "x")
        files.delete("absolute", recursive=True)
        assert [match.path for match in files.grep("secret")] == []
        assert [(path.name, path.read_bytes()) for path in outside.iterdir()] == [("secret", b"secret\n")]

    @needs("on_host")
    def test_what_is_no_file_is_refused_without_waiting(self, files: Filesystem, place: Path) -> None:
        """A FIFO that nobody writes to would hang its reader."""
        os.mkfifo(place / "fifo")

        for use in (
            lambda: files.read("fifo"),
            lambda: files.open_read("fifo"),
            lambda: files.write("fifo", "x"),
            lambda: files.append("fifo", "x"),
        ):
            with pytest.raises(PathRefused):
                use()
        assert files.grep("x") == ()

    @needs("on_host")
    def test_git_can_be_read_and_is_left_out_of_searches(self, files: Filesystem, place: Path) -> None:
        """Objects and packs are no part of the project."""
        (place / ".git/hooks").mkdir(parents=True)
        (place / ".git/config").write_bytes(b"[core]\n")
        (place / "sub/.git").mkdir(parents=True)
        (place / "sub/.git/config").write_bytes(b"[core]\n")

        assert [match.path for match in files.glob("**/config")] == []
        assert [match.path for match in files.glob("**/config", include_git=True)] == [".git/config", "sub/.git/config"]
        assert files.grep("core") == ()
        assert len(files.grep("core", include_git=True)) == 2
        assert files.read(".git/config").content == "[core]\n"
        for change in (
            lambda: files.delete(".git", recursive=True),
            lambda: files.delete("sub", recursive=True),
            lambda: files.move(".git", "git"),
            lambda: files.edit(".git/config", "core", "x"),
        ):
            with pytest.raises(PathRefused):
                change()

    @needs("reopens")
    def test_what_was_committed_is_there_when_opened_again(self, make: Make, tmp_path: Path) -> None:
        """With everything that belongs to it."""
        place = tmp_path / "again"
        place.mkdir()
        files = make(place)
        files.write("a/b.txt", "one\r\n")
        files.mkdir("empty")
        before = exactly(files)
        self.close_filesystem(files)

        assert exactly(make(place)) == before

    @needs("reopens")
    def test_a_call_that_nobody_ended_has_not_been(self, make: Make, tmp_path: Path) -> None:
        """Whoever changes something next takes back first what a dead process left."""
        place = tmp_path / "again"
        place.mkdir()
        files = make(place)
        files.write("a/b.txt", "one\r\n")
        files.mkdir("empty")
        before = exactly(files)
        part = files.begin()
        part.handle.write("a/b.txt", "two")
        part.handle.delete("empty")
        part.handle.write("new/c.txt", "x")
        part.leave()
        self.close_filesystem(files)

        files = make(place)
        files.write_lock.acquire(10)
        files.write_lock.release()

        assert exactly(files) == before
        part = files.begin()
        part.handle.write("after.txt", "x")
        commit(part)
        assert files.read("after.txt").content == "x"
