"""What `snapshot`, `restore` and `diff` promise: any state that was can be come back to."""

from __future__ import annotations

from pathlib import Path

import pytest

from wink.errors import HandleRevoked, SnapshotMismatch, UndoConflict
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Entry, Make, Promises, contents, exactly, facts, needs


class Snapshots(Promises):
    """Restoring is a change like others: it is one transaction, and takes nothing away that could not be had back."""

    @needs("has_snapshots")
    def test_a_snapshot_brings_everything_back(self, files: Filesystem) -> None:
        """Contents, names, empty directories, modes and links."""
        files.write("a/b.txt", "one\r\n")
        files.write("c.txt", "two")
        files.mkdir("empty/inner")
        self._dress(files)
        before = self._timeless(files)
        snapshot = files.snapshot("before")

        files.write("a/b.txt", "changed")
        files.move("a", "moved")
        files.write("moved/new.txt", "new")
        files.delete("c.txt")
        files.delete("empty", recursive=True)
        files.write("empty", "a file where a directory was")
        files.restore(snapshot)

        assert self._timeless(files) == before
        assert snapshot.tag == "before"

    @needs("has_snapshots")
    def test_older_and_newer_snapshots_can_be_restored_in_any_order(self, files: Filesystem) -> None:
        """Nothing is lost by a restore."""
        snapshots = [files.snapshot()]
        for number in range(1, 4):
            files.write("a.txt", str(number))
            files.write(f"only{number}.txt", "")
            snapshots.append(files.snapshot())

        for number in (0, 3, 1, 1, 2, 0, 3):
            files.restore(snapshots[number])
            expected = {"a.txt": str(number).encode()} if number else {}
            assert contents(files) == expected | {f"only{n}.txt": b"" for n in range(1, number + 1)}

    @needs("has_snapshots")
    def test_a_diff_tells_what_changed_since_a_snapshot(self, files: Filesystem) -> None:
        """Between two of them, or until now; exactly the paths that differ."""
        files.write("a.txt", "one\n")
        files.write("same.txt", "same")
        first = files.snapshot()
        files.write("a.txt", "two\n")
        files.write("same.txt", "other")
        files.write("same.txt", "same")
        second = files.snapshot()
        files.delete("a.txt")
        files.write("dir/new.txt", "new\n")

        assert facts(files.diff(first, second)) == [("modified", "a.txt")]
        assert (
            files.diff(first, second)[0].diff()
            == "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
        )
        assert (
            files.diff(second, first)[0].diff()
            == "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+one\n"
        )
        assert sorted(facts(files.diff(first))) == [
            ("created", "dir"), ("created", "dir/new.txt"), ("deleted", "a.txt"),
        ]  # fmt: skip
        assert files.diff(first, first) == ()
        files.restore(first)
        assert files.diff(first) == ()
        assert files.diff(files.snapshot()) == ()

    @needs("has_snapshots")
    @pytest.mark.parametrize("content", ["small", "large " * 40_000])
    def test_content_that_is_written_again_as_it_was_is_in_nobodys_way(self, files: Filesystem, content: str) -> None:
        """It may lie elsewhere and be younger; it is the same content."""
        snapshot = files.snapshot()
        files.write("a.txt", content)
        files.write("a.txt", content)

        files.restore(snapshot)

        assert contents(files) == {}

    @needs("has_snapshots")
    def test_what_is_not_committed_is_in_no_snapshot(self, files: Filesystem) -> None:
        """A snapshot of the filesystem that is taken while a call is under way is of the state before it."""
        files.write("a.txt", "before")
        part = files.begin()
        part.handle.write("a.txt", "during")
        snapshot = files.snapshot()
        self.commit_call(files, part)
        assert contents(files) == {"a.txt": b"during"}

        files.restore(snapshot)

        assert contents(files) == {"a.txt": b"before"}

    @needs("has_snapshots")
    def test_snapshots_of_others_are_refused(self, make: Make, files: Filesystem) -> None:
        """They say nothing about these files."""
        files.write("a.txt", "x")
        other = make().snapshot()

        for use in (
            lambda: files.restore(other),
            lambda: files.diff(other),
            lambda: files.diff(files.snapshot(), other),
        ):
            with pytest.raises(SnapshotMismatch, match=other.snapshot_id):
                use()
        assert contents(files) == {"a.txt": b"x"}

    @needs("has_snapshots")
    def test_inside_a_call_the_filesystem_itself_is_not_restored(self, files: Filesystem) -> None:
        """The call's own changes would be torn apart."""
        snapshot = files.snapshot()
        part = files.begin()
        token = part.guard()
        try:
            for use in (files.snapshot, lambda: files.restore(snapshot), lambda: files.diff(snapshot)):
                with pytest.raises(HandleRevoked):
                    use()
        finally:
            part.unguard(token)
        part.undo()

    @needs("has_snapshots")
    def test_a_call_comes_back_to_its_own_snapshots(self, files: Filesystem) -> None:
        """What it did before one stays, and all of it is taken back with the call."""
        files.write("a.txt", "before")
        part = files.begin()
        call = part.handle
        call.write("a.txt", "one")
        first = call.snapshot()
        call.write("a.txt", "two")
        call.write("dir/b.txt", "b")
        second = call.snapshot()
        call.delete("dir", recursive=True)

        assert sorted(facts(call.diff(first, second))) == [
            ("created", "dir"), ("created", "dir/b.txt"), ("modified", "a.txt"),
        ]  # fmt: skip
        call.restore(first)
        assert contents(call) == {"a.txt": b"one"}
        assert call.diff(first) == ()
        assert facts(part.changes()) == [("modified", "a.txt")]
        call.write("c.txt", "c")
        call.restore(first)
        assert contents(call) == {"a.txt": b"one"}
        part.undo()
        assert contents(files) == {"a.txt": b"before"}

    @needs("has_snapshots")
    def test_a_snapshot_of_a_call_ends_with_it(self, files: Filesystem) -> None:
        """It is a place among changes that are no longer a stack of their own."""
        part = files.begin()
        part.handle.write("a.txt", "x")
        snapshot = part.handle.snapshot()
        self.commit_call(files, part)
        later = files.begin()

        for use in (lambda: files.restore(snapshot), lambda: later.handle.restore(snapshot)):
            with pytest.raises(SnapshotMismatch):
                use()
        later.undo()
        assert contents(files) == {"a.txt": b"x"}

    @needs("has_snapshots")
    def test_a_call_may_come_back_to_a_snapshot_from_before_it(self, files: Filesystem) -> None:
        """As a part of its changes, which go with it when it fails."""
        files.write("a.txt", "old")
        snapshot = files.snapshot()
        files.write("a.txt", "new")
        files.write("b.txt", "b")
        part = files.begin()
        part.handle.write("c.txt", "c")
        part.handle.restore(snapshot)
        assert contents(part.handle) == {"a.txt": b"old"}
        part.undo()
        assert contents(files) == {"a.txt": b"new", "b.txt": b"b"}

        part = files.begin()
        part.handle.restore(snapshot)
        self.commit_call(files, part)
        assert contents(files) == {"a.txt": b"old"}

    @needs("has_snapshots", "on_host")
    def test_a_restore_never_overwrites_what_somebody_saved(self, files: Filesystem, place: Path) -> None:
        """Where that is in the way nothing is changed and the paths are named; elsewhere it stays."""
        files.write("a.txt", "one\n")
        snapshot = files.snapshot()
        files.write("a.txt", "two\n")
        files.write("b.txt", "b\n")
        (place / "theirs.txt").write_bytes(b"theirs\n")
        (place / "a.txt").write_bytes(b"theirs\n")

        with pytest.raises(UndoConflict, match=r"a\.txt"):
            files.restore(snapshot)
        assert contents(files) == {"a.txt": b"theirs\n", "b.txt": b"b\n", "theirs.txt": b"theirs\n"}

        (place / "a.txt").write_bytes(b"two\n")
        files.restore(snapshot)
        assert contents(files) == {"a.txt": b"one\n", "theirs.txt": b"theirs\n"}

    def _dress(self, files: Filesystem) -> None:
        """Give some files what not every filesystem has."""
        part = files.begin()
        with part.changing(".") as change_set:
            if self.has_modes:
                change_set.chmod("c.txt", 0o750)
                change_set.chmod("empty", 0o700)
            if self.has_links:
                change_set.symlink("link", "a/b.txt")
        self.commit_call(files, part)

    def _timeless(self, files: Filesystem) -> dict[str, Entry]:
        return {path: entry._replace(modified_at=None) for path, entry in exactly(files).items()}
