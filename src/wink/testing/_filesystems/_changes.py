"""What `changes` and `diff` promise: the net change of each path, exactly."""

from __future__ import annotations

from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Promises, commit, facts


class Changes(Promises):
    """A log that tells more or less than what happened is of no use to whoever reads it."""

    def test_each_path_is_told_once_against_how_it_was(self, files: Filesystem) -> None:
        """Two writes are one change, and a file made and deleted is none."""
        files.write("a.txt", "one\n")
        files.write("same.txt", "same")
        files.write("gone.txt", "gone\n")
        part = files.begin()
        call = part.handle

        call.write("a.txt", "two\n")
        call.write("a.txt", "three\n")
        call.write("brief.txt", "x")
        call.delete("brief.txt")
        call.write("same.txt", "other")
        call.write("same.txt", "same")
        call.delete("gone.txt")
        call.write("dir/new.txt", "new\n")

        assert part.dirty
        changes = part.changes()
        assert facts(changes) == [
            ("modified", "a.txt"), ("deleted", "gone.txt"), ("created", "dir"), ("created", "dir/new.txt"),
        ]  # fmt: skip
        assert changes[0].diff() == "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n"
        assert [(v and v.kind, v and v.size) for change in changes for v in (change.before, change.after)] == [
            ("file", 4), ("file", 6), ("file", 5), (None, None), (None, None), ("directory", 0), (None, None),
            ("file", 4),
        ]  # fmt: skip
        part.undo()

    def test_a_move_is_a_deletion_and_a_creation_that_know_each_other(self, files: Filesystem) -> None:
        """Whoever reads the log can follow a file through its names."""
        files.write("a/x.txt", "x\n")
        part = files.begin()
        part.handle.move("a/x.txt", "a/y.txt")
        part.handle.move("a/y.txt", "z.txt")
        part.handle.edit("z.txt", "x", "changed")

        changes = {change.path: change for change in part.changes()}

        assert {path: change.kind for path, change in changes.items()} == {"a/x.txt": "deleted", "z.txt": "created"}
        assert changes["z.txt"].moved_from == "a/x.txt"
        assert changes["a/x.txt"].moved_from is None
        part.undo()

    def test_what_is_in_a_moved_directory_is_told(self, files: Filesystem) -> None:
        """Each file with where it came from."""
        files.write("a/b/c.txt", "c\n")
        part = files.begin()
        part.handle.move("a", "z")

        told = {(change.kind, change.path, change.moved_from) for change in part.changes()}

        assert told == {
            ("deleted", "a", None), ("deleted", "a/b", None), ("deleted", "a/b/c.txt", None),
            ("created", "z", "a"), ("created", "z/b", "a/b"), ("created", "z/b/c.txt", "a/b/c.txt"),
        }  # fmt: skip
        part.undo()

    def test_what_is_in_a_deleted_directory_is_told(self, files: Filesystem) -> None:
        """Though deleting it was one step."""
        files.write("a/b/c.txt", "c\n")
        part = files.begin()
        part.handle.delete("a", recursive=True)

        assert facts(part.changes()) == [("deleted", "a"), ("deleted", "a/b"), ("deleted", "a/b/c.txt")]
        assert (
            part.changes()[-1].diff()
            == "diff --git a/a/b/c.txt b/a/b/c.txt\ndeleted file mode 100644\n--- a/a/b/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n"
        )
        part.undo()

    def test_there_and_back_is_no_change(self, files: Filesystem) -> None:
        """Also for a directory that was changed on the way and changed back."""
        files.write("a/x.txt", "x\n")
        part = files.begin()
        part.handle.move("a", "b")
        part.handle.write("b/x.txt", "y\n")
        part.handle.write("b/x.txt", "x\n")
        part.handle.move("b", "a")

        assert part.changes() == ()
        part.undo()

    def test_a_change_inside_a_directory_that_moved_there_and_back_is_told(self, files: Filesystem) -> None:
        """Under the name that the file has."""
        files.write("a/deep/x.txt", "x\n")
        part = files.begin()
        part.handle.move("a", "b")
        part.handle.write("b/deep/x.txt", "y\n")
        part.handle.move("b", "a")

        assert facts(part.changes()) == [("modified", "a/deep/x.txt")]
        part.undo()

    def test_a_file_that_became_a_directory_is_told(self, files: Filesystem) -> None:
        """As one change of the path, and one for what is in it."""
        files.write("a", "file\n")
        part = files.begin()
        part.handle.delete("a")
        part.handle.write("a/b.txt", "x\n")

        assert facts(part.changes()) == [("modified", "a"), ("created", "a/b.txt")]
        assert part.changes()[0].diff().endswith("\n-file\na: created a directory\n")
        part.undo()

    def test_diffs_outlive_the_rollback(self, files: Filesystem) -> None:
        """The event of a failed call shows what was undone."""
        files.write("a.txt", "one\ntwo\n")
        part = files.begin()
        part.handle.edit("a.txt", "two", "2")
        changes = part.changes()
        part.undo()

        assert (
            changes[0].diff()
            == "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        )
        assert changes[0].without_content().diff() == "a.txt: a file of 8 bytes became a file of 6 bytes\n"

    def test_diffs_outlive_the_commit(self, files: Filesystem) -> None:
        """The event of a call that succeeded is read after it."""
        files.write("a.txt", "one")
        part = files.begin()
        part.handle.append("a.txt", "\r\ntwo\n")
        part.prepare()
        changes = part.changes()
        commit(part)

        assert changes[0].diff() == (
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-one\n\\ No newline at end of file\n+one\r\n+two\n"
        )

    def test_binary_content_is_told_in_one_line(self, files: Filesystem) -> None:
        """Nobody reads it."""
        files.write_bytes("a.bin", b"\0\1")
        part = files.begin()
        part.handle.write_bytes("a.bin", b"\0\2\3")

        assert [change.diff() for change in part.changes()] == [
            "a.bin: a binary file of 2 bytes became a binary file of 3 bytes\n"
        ]
        part.undo()
