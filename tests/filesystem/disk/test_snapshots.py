"""Snapshots of a directory that nobody records: what they keep, what they free, and when they refuse."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.filesystem.backends import DISKS, disk
from tests.states import state_of

from wink.errors import HandleRevoked, SnapshotMismatch, UndoConflict
from wink.filesystem import HostFilesystem


@pytest.fixture(params=DISKS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostFilesystem]:
    """An empty directory, with each way to resolve paths and to exchange names."""
    (tmp_path / "root").mkdir()
    with disk(request.param, tmp_path / "root") as files:
        yield files


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[HostFilesystem]:
    """An empty directory, where the way does not matter."""
    (tmp_path / "root").mkdir()
    with HostFilesystem(tmp_path / "root") as files:
        yield files


def place(files: HostFilesystem, path: str) -> Path:
    return Path(files.root, path)


def staged(files: HostFilesystem) -> list[str]:
    """What is kept of what commits replaced."""
    return os.listdir(state_of(files.root) / "staged")


class TestPeople:
    """What somebody else saved is never put aside for a snapshot."""

    def test_an_edit_since_is_in_the_way(self, files: HostFilesystem) -> None:
        """Nothing is changed then, and all paths are named."""
        files.write("a.txt", "one")
        files.write("c.txt", "one")
        snapshot = files.snapshot()
        for path in ("a.txt", "b.txt", "c.txt"):
            files.write(path, "two")
        place(files, "a.txt").write_text("mine")
        place(files, "b.txt").write_text("mine too")

        with pytest.raises(UndoConflict) as caught:
            files.restore(snapshot)

        assert caught.value.paths == ("a.txt", "b.txt")
        assert [files.read(path).content for path in ("a.txt", "b.txt", "c.txt")] == ["mine", "mine too", "two"]

    def test_an_edit_of_what_wink_has_not_touched_stays(self, files: HostFilesystem) -> None:
        """It is nobody's to take back, and in nobody's way."""
        snapshot = files.snapshot()
        files.write("a.txt", "one")
        place(files, "mine.txt").write_text("mine")

        files.restore(snapshot)

        assert os.listdir(files.root) in (["mine.txt", ".wink"], [".wink", "mine.txt"])

    def test_an_edit_that_wink_changed_again_is_not_lost(self, files: HostFilesystem) -> None:
        """Going back to before it would take it away."""
        files.write("a.txt", "one")
        snapshot = files.snapshot()
        files.write("a.txt", "two")
        place(files, "a.txt").write_text("mine")
        later = files.snapshot()
        files.write("a.txt", "three")

        with pytest.raises(UndoConflict):
            files.restore(snapshot)
        files.restore(later)

        assert files.read("a.txt").content == "mine"

    def test_an_edit_within_a_call_is_in_the_way_of_its_own_snapshots(self, files: HostFilesystem) -> None:
        """There the changes are simply taken back, which must not put the edit aside."""
        files.write("a.txt", "one")
        part = files.begin()
        snapshot = part.handle.snapshot()
        part.handle.write("a.txt", "two")
        part.handle.write("b.txt", "two")
        place(files, "b.txt").write_text("mine")

        with pytest.raises(UndoConflict, match=r"b\.txt"):
            part.handle.restore(snapshot)

        assert (part.handle.read("a.txt").content, part.handle.read("b.txt").content) == ("two", "mine")
        place(files, "b.txt").unlink()
        part.undo()

    def test_a_directory_with_something_of_theirs_in_it_stays(self, files: HostFilesystem) -> None:
        """All else goes back."""
        snapshot = files.snapshot()
        files.write("made/a.txt", "one")
        place(files, "made/mine.txt").write_text("mine")

        files.restore(snapshot)

        assert sorted(os.listdir(place(files, "made"))) == ["mine.txt"]


class TestOthers:
    """Other processes and objects may commit to the same files, and tell nobody what."""

    COMMIT = "import sys; from wink.filesystem import HostFilesystem; HostFilesystem(sys.argv[1]).write('other', 'x')"

    def other_object(self, files: HostFilesystem) -> None:
        with HostFilesystem(files.root) as other:
            other.write("other", "x")

    def other_process(self, files: HostFilesystem) -> None:
        subprocess.run([sys.executable, "-c", self.COMMIT, files.root], check=True)

    @pytest.mark.parametrize("commit", [other_object, other_process])
    def test_a_snapshot_from_before_somebody_elses_commit_is_refused(
        self, plain: HostFilesystem, commit: Callable[..., None]
    ) -> None:
        """What they changed is in no snapshot of ours, so going back would be wrong without a word."""
        plain.write("a.txt", "one")
        before = plain.snapshot()
        plain.write("a.txt", "two")
        commit(self, plain)
        after = plain.snapshot()
        plain.write("a.txt", "three")

        for use in (lambda: plain.restore(before), lambda: plain.diff(before)):
            with pytest.raises(UndoConflict, match="open it as a Workspace"):
                use()
        plain.restore(after)

        assert plain.read("a.txt").content == "two"
        assert plain.read("other").content == "x"

    def test_where_commits_cannot_be_counted_snapshots_are_refused(self, plain: HostFilesystem) -> None:
        """A workspace that came from somewhere may have a lease that is a link to some file of ours: it stays as it is."""
        plain.write("a.txt", "one")
        mine = place(plain, "mine.txt")
        os.link(state_of(plain.root) / "lease", mine)
        content = mine.read_bytes()
        before = plain.snapshot()
        plain.write("a.txt", "two")

        with pytest.raises(UndoConflict, match="open it as a Workspace"):
            plain.restore(before)

        assert mine.read_bytes() == content

    def test_a_change_that_was_rolled_back_is_no_commit(self, plain: HostFilesystem) -> None:
        """It left nothing that a snapshot would have to know of."""
        plain.write("a.txt", "one")
        before = plain.snapshot()
        with HostFilesystem(plain.root) as other:
            part = other.begin()
            part.handle.write("a.txt", "two")
            part.undo()

        plain.restore(before)

        assert plain.read("a.txt").content == "one"

    def test_what_a_snapshot_needs_survives_the_recovery_of_somebody_else(self, plain: HostFilesystem) -> None:
        """A killed process is cleared up after by whoever takes the turn next."""
        plain.write("a.txt", "one")
        before = plain.snapshot()
        plain.write("a.txt", "two")
        killed = "import os, sys; from wink.filesystem import HostFilesystem; files = HostFilesystem(sys.argv[1])"
        killed += "; files.write_lock.acquire(9); files.begin().handle.write('b', 'x'); os._exit(0)"
        subprocess.run([sys.executable, "-c", killed, plain.root], check=True)

        plain.write("c.txt", "three")

        assert [one.outcome for one in plain.recovered] == ["undone"]
        plain.restore(before)
        assert plain.read("a.txt").content == "one"
        assert not plain.exists("c.txt")

    def test_what_somebody_else_freed_is_named(self, plain: HostFilesystem) -> None:
        """Who recovers does not know of our snapshots, and clears up after us as well."""
        plain.write("a.txt", "one")
        plain.write("b.txt", "one")
        before = plain.snapshot()
        plain.write("a.txt", "two")
        for name in staged(plain):
            (state_of(plain.root) / "staged" / name).unlink()

        with pytest.raises(UndoConflict, match=r"a\.txt is not kept any more"):
            plain.restore(before)

        assert plain.read("a.txt").content == "two"


class TestKeeping:
    """What commits replaced is kept for snapshots, and for nothing else."""

    def test_it_is_freed_with_the_last_snapshot_that_needs_it(self, plain: HostFilesystem) -> None:
        """However many snapshots there were."""
        held = []
        for number in range(200):
            plain.write("a.txt", str(number))
            held.append(plain.snapshot())
        assert len(staged(plain)) >= 199
        oldest = held[0]
        held.clear()
        gc.collect()
        plain.restore(oldest)
        assert plain.read("a.txt").content == "0"

        del oldest
        gc.collect()
        for number in range(70):
            plain.write("a.txt", str(number))

        assert len(staged(plain)) <= 70

    def test_nothing_is_left_after_closing(self, tmp_path: Path) -> None:
        """A snapshot ends with the object that took it."""
        with HostFilesystem(tmp_path) as files:
            files.write("a.txt", "one")
            snapshot = files.snapshot()
            files.write("a.txt", "two")
        assert staged(files) == []

        with HostFilesystem(tmp_path) as again, pytest.raises(SnapshotMismatch):
            again.restore(snapshot)

    def test_a_snapshot_touches_no_disk(self, tmp_path: Path) -> None:
        """Looking leaves no trace, whatever the size."""
        with HostFilesystem(tmp_path) as files:
            snapshot = files.snapshot()
            assert files.diff(snapshot) == ()
            files.restore(snapshot)

        assert os.listdir(tmp_path) == []

    def test_large_files_come_back_too(self, files: HostFilesystem) -> None:
        """Beyond what a diff would show."""
        content = os.urandom(1 << 20)
        files.write_bytes("a.bin", content)
        snapshot = files.snapshot()
        files.write_bytes("a.bin", content[::-1])
        files.move("a.bin", "b.bin")
        second = files.snapshot()

        files.restore(snapshot)
        assert files.read_bytes("a.bin") == content
        files.restore(second)
        assert files.read_bytes("b.bin") == content[::-1]
        assert not files.exists("a.bin")

    def test_links_come_back(self, files: HostFilesystem) -> None:
        """Also one that leads out of the directory, which no tool makes."""
        place(files, "in").symlink_to("a.txt")
        place(files, "out").symlink_to("/etc/passwd")
        first = files.snapshot()
        files.delete("in")
        second = files.snapshot()
        files.delete("out")

        files.restore(second)
        assert (os.readlink(place(files, "out")), os.path.lexists(place(files, "in"))) == ("/etc/passwd", False)
        files.restore(first)
        assert [os.readlink(place(files, name)) for name in ("out", "in")] == ["/etc/passwd", "a.txt"]

    def test_within_a_call_everything_comes_back_as_it_was(self, files: HostFilesystem) -> None:
        """What nobody else can want is simply taken back: the very files, with their times, and links that lead anywhere."""
        place(files, "a.txt").write_text("one")
        os.utime(place(files, "a.txt"), ns=(1, 2))
        place(files, "out").symlink_to("/etc/passwd")
        inode = place(files, "a.txt").stat().st_ino
        part = files.begin()
        snapshot = part.handle.snapshot()
        part.handle.delete("out")
        part.handle.write("a.txt", "two")

        part.handle.restore(snapshot)

        assert (place(files, "a.txt").stat().st_ino, place(files, "a.txt").stat().st_mtime_ns) == (inode, 2)
        assert os.readlink(place(files, "out")) == "/etc/passwd"
        assert part.changes() == ()
        part.handle.write("b.txt", "on it goes")
        part.prepare()
        part.publish()
        assert files.read("b.txt").content == "on it goes"

    def test_a_call_comes_back_to_a_snapshot_from_before_it(self, files: HostFilesystem) -> None:
        """As a part of what it does, which can be rolled back as a whole."""
        files.write("a.txt", "one")
        snapshot = files.snapshot()
        files.write("a.txt", "two")
        part = files.begin()
        part.handle.write("a.txt", "three")
        part.handle.write("b.txt", "three")

        part.handle.restore(snapshot)

        assert part.handle.read("a.txt").content == "one"
        assert not part.handle.exists("b.txt")
        part.undo()
        assert files.read("a.txt").content == "two"
        with pytest.raises(HandleRevoked):
            part.handle.restore(snapshot)
