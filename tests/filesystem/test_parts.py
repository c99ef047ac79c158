"""What one call does to files, and how all of it is taken back."""

import threading
from collections.abc import Callable
from contextvars import copy_context

import pytest

from wink.errors import FileConflict, HandleRevoked, PathRefused, ReadOnlyFilesystem, TransactionError
from wink.filesystem import FileChange, FilePart, Filesystem, InMemoryFilesystem, Stamp

Tree = Callable[[Filesystem], dict[str, bytes | None]]


def facts(changes: tuple[FileChange, ...]) -> list[tuple[str, str]]:
    """Kind and path of each change."""
    return [(change.kind, change.path) for change in changes]


def publish(part: FilePart) -> None:
    """The end of a call that commits."""
    part.revoke()
    part.prepare()
    part.publish()


class TestUndo:
    """After `undo` the tree is what it was."""

    def test_everything_is_taken_back(self, files: Filesystem, tree: Tree) -> None:
        """Contents, names, directories: a call that failed has not been."""
        files.write("keep/a.txt", "one\n")
        files.write("keep/b.txt", "two\n")
        files.write("keep/deep/c.txt", "three\n")
        before = tree(files)
        part = files.begin()
        call = part.handle

        call.write("keep/a.txt", "changed")
        call.write("new/x.txt", "new")
        call.edit("keep/b.txt", "two", "2")
        call.move("keep/deep", "moved")
        call.write("moved/c.txt", "after the move")
        call.delete("keep", recursive=True)
        call.write("keep", "a file where a directory was")
        part.undo()

        assert tree(files) == before

    def test_publishing_keeps_everything(self, files: Filesystem, tree: Tree) -> None:
        """And a later call sees it."""
        part = files.begin()
        part.handle.write("a.txt", "one")
        publish(part)

        assert tree(files) == {"a.txt": b"one"}

    def test_a_part_that_changed_nothing_is_not_dirty(self, files: Filesystem) -> None:
        """Nothing has to be stored for it."""
        files.write("a.txt", "x")
        part = files.begin()
        part.handle.read("a.txt")
        with pytest.raises(FileNotFoundError):
            part.handle.delete("nowhere")
        with pytest.raises(FileNotFoundError):
            part.handle.move("nowhere", "new/dir/x")

        assert not part.dirty
        assert part.changes() == ()
        part.undo()
        part.undo()

    def test_work_goes_on_after_an_operation_that_failed(self, files: Filesystem, tree: Tree) -> None:
        """An error that a handler catches must not take back what it did before or spoil what comes after."""
        part = files.begin()
        with pytest.raises(FileNotFoundError):
            part.handle.move("nowhere", "new/dir/x")
        part.handle.write("a.txt", "one")
        with pytest.raises(FileNotFoundError):
            part.handle.move("nowhere", "new/dir/x")
        part.handle.write("b.txt", "two")
        publish(part)

        assert tree(files) == {"a.txt": b"one", "b.txt": b"two"}


class TestChanges:
    """What a call did is told net, path by path."""

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
        assert facts(part.changes()) == [
            ("modified", "a.txt"), ("deleted", "gone.txt"), ("created", "dir"), ("created", "dir/new.txt"),
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
        part.undo()

    def test_what_is_in_a_deleted_directory_is_told(self, files: Filesystem) -> None:
        """Though deleting it was one step."""
        files.write("a/b/c.txt", "c\n")
        part = files.begin()
        part.handle.delete("a", recursive=True)

        assert facts(part.changes()) == [("deleted", "a"), ("deleted", "a/b"), ("deleted", "a/b/c.txt")]
        assert part.changes()[-1].diff() == "--- a/a/b/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n"
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

    def test_diffs_outlive_the_rollback(self, files: Filesystem) -> None:
        """The event of a failed call shows what was undone."""
        files.write("a.txt", "one\ntwo\n")
        part = files.begin()
        part.handle.edit("a.txt", "two", "2")
        changes = part.changes()
        part.undo()

        assert changes[0].diff() == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        assert "no longer" not in changes[0].without_content().diff()


class TestSavepoints:
    """A nested call can be undone alone, and is undone with the outer one."""

    def test_undoing_the_inner_part_keeps_the_outer_ones_changes(self, files: Filesystem, tree: Tree) -> None:
        """Whether the outer one had changed something before or not."""
        for first in (False, True):
            outer = files.begin()
            if first:
                outer.handle.write("outer.txt", "1")
            inner = outer.savepoint()
            inner.handle.write("inner.txt", "2")
            inner.handle.write("outer.txt", "overwritten")
            inner.undo()
            outer.handle.write("after.txt", "3")
            assert ("inner.txt" in tree(files)) is False
            assert facts(outer.changes()) == [*([("created", "outer.txt")] if first else []), ("created", "after.txt")]
            outer.undo()
            assert tree(files) == {}

    def test_publishing_the_inner_part_folds_it_into_the_outer(self, files: Filesystem, tree: Tree) -> None:
        """So that the outer one takes it back, too."""
        outer = files.begin()
        inner = outer.handle.begin()
        inner.handle.write("inner.txt", "2")
        assert facts(inner.changes()) == [("created", "inner.txt")]
        publish(inner)

        assert outer.dirty
        assert facts(outer.changes()) == [("created", "inner.txt")]
        assert "inner.txt" in outer.noted()
        outer.undo()
        assert tree(files) == {}

    def test_an_inner_part_knows_what_the_outer_read(self, files: Filesystem) -> None:
        """A nested call may write what the call around it has read."""
        files.write("a.txt", "x")
        outer = files.begin()
        outer.handle.read("a.txt")

        assert outer.savepoint().handle.seen("a.txt") == outer.noted()["a.txt"]

    def test_the_outer_handle_waits_while_an_inner_part_is_changing_files(self, files: Filesystem) -> None:
        """Otherwise undoing the inner part would take back the outer one's changes as well."""
        outer = files.begin()
        first, second = outer.savepoint(), outer.savepoint()
        first.handle.write("a.txt", "1")

        for handle in (outer.handle, second.handle):
            with pytest.raises(TransactionError, match="nested call"):
                handle.write("b.txt", "2")
        publish(first)
        second.handle.write("b.txt", "2")
        publish(second)
        outer.handle.write("c.txt", "3")

        assert len(outer.changes()) == 3
        outer.undo()

    def test_undoing_the_outer_part_undoes_an_inner_one_that_never_ended(self, files: Filesystem, tree: Tree) -> None:
        """A nested call may hang in a thread while the outer one times out."""
        outer = files.begin()
        inner = outer.savepoint()
        inner.handle.write("a.txt", "1")
        outer.undo()

        assert tree(files) == {}
        with pytest.raises(HandleRevoked):
            inner.handle.write("a.txt", "2")

    def test_a_savepoint_of_a_reading_part_only_reads(self, files: Filesystem) -> None:
        """A call that promised to change nothing cannot let another do it."""
        outer = files.begin(writable=False)

        with pytest.raises(ReadOnlyFilesystem, match="may only read"):
            outer.savepoint().handle.write("a.txt", "x")


class TestRevocation:
    """Once a call has ended its handle changes nothing."""

    def test_every_use_of_a_revoked_handle_is_refused(self, files: Filesystem, tree: Tree) -> None:
        """Also of streams that were opened before."""
        files.write("a.txt", "one")
        part = files.begin()
        call = part.handle
        reading, writing = call.open_read("a.txt"), call.open_write("b.txt")
        text = call.open_text("c.txt", "w")
        text.write("x")
        part.revoke()
        part.revoke()

        for use in (
            lambda: call.read("a.txt"), lambda: call.exists("a.txt"), lambda: call.write("a.txt", "two"),
            lambda: call.glob("*"), lambda: call.seen("a.txt"), lambda: call.fingerprint("a.txt"),
            lambda: call.fs.cat("a.txt"), lambda: call.fs.pipe("a.txt", b"two"), reading.read,
            lambda: writing.write(b"x"), writing.close, text.close,
        ):  # fmt: skip
            with pytest.raises(HandleRevoked):
                use()
        part.undo()

        assert tree(files) == {"a.txt": b"one"}

    def test_revoking_waits_for_a_change_under_way(self, memory: InMemoryFilesystem) -> None:
        """So that after it nothing more can happen: a thread that a time-out left behind finds the door closed."""
        part = memory.begin()
        entered, go_on, revoked = threading.Event(), threading.Event(), threading.Event()

        def change() -> None:
            with part.changing("a.txt") as frame:
                entered.set()
                go_on.wait()
                frame.put("a.txt", b"in time")

        def revoke() -> None:
            part.revoke()
            revoked.set()

        threads = [threading.Thread(target=change), threading.Thread(target=revoke)]
        threads[0].start()
        entered.wait()
        threads[1].start()
        assert not revoked.wait(0.01)
        go_on.set()
        for thread in threads:
            thread.join()

        assert facts(part.changes()) == [("created", "a.txt")]
        with pytest.raises(HandleRevoked):
            part.handle.write("b.txt", "late")

    def test_a_root_is_refused_inside_a_call(self, files: Filesystem) -> None:
        """A filesystem captured from elsewhere would write past the transaction; in threads of the call, too."""
        other = InMemoryFilesystem()
        part = files.begin()
        token = part.guard()
        try:
            for use in (lambda: files.read("a.txt"), lambda: files.write("a.txt", "x"), files.begin):
                with pytest.raises(HandleRevoked, match=r"context\.filesystem"):
                    use()
            with pytest.raises(HandleRevoked):
                copy_context().run(files.exists, "a.txt")
            other.write("a.txt", "another tree is free")
            part.handle.write("a.txt", "through the handle")
        finally:
            part.unguard(token)
        publish(part)

        assert files.read("a.txt").content == "through the handle"

    def test_a_reading_handle_refuses_changes_and_says_why(self, files: Filesystem) -> None:
        """The tool declared it."""
        handle = files.begin(writable=False).handle

        assert handle.read_only
        assert not files.read_only
        with pytest.raises(ReadOnlyFilesystem, match="its tool declares"):
            handle.write("a.txt", "x")


class TestStamps:
    """A handle notes what was seen of each file, by content."""

    def test_a_whole_read_is_complete(self, files: Filesystem) -> None:
        """Text or bytes."""
        files.write("a.txt", "one\ntwo\n")
        for read in (lambda call: call.read("./a.txt"), lambda call: call.read_bytes("a.txt")):
            part = files.begin()
            read(part.handle)

            stamp = part.noted()["a.txt"]
            assert stamp == part.handle.seen("x/../a.txt")
            assert stamp is not None
            assert (stamp.complete, stamp.ranges, stamp.total_lines, stamp.size) == (True, ((0, 2),), 2, 8)
            assert stamp.digest == files.fingerprint("a.txt")

    def test_pages_add_up(self, files: Filesystem) -> None:
        """Over several calls as well, as long as the content is the same."""
        files.write("a.txt", "1\n2\n3\n4\n")
        first = files.begin()
        first.handle.read("a.txt", 0, 2)
        session = dict(first.noted())
        second = files.begin(seen=session.get)
        second.handle.read("a.txt", 2, 1)
        third = files.begin(seen=second.noted().get)
        third.handle.read("a.txt", 3, 5)

        stamps = [part.noted()["a.txt"] for part in (first, second, third)]
        assert [stamp and (stamp.ranges, stamp.complete) for stamp in stamps] == [
            (((0, 2),), False), (((0, 3),), False), (((0, 4),), True),
        ]  # fmt: skip
        stamp = stamps[1]
        assert stamp is not None
        assert stamp.knows(1, 3)
        assert not stamp.knows(2, 4)

    def test_pages_of_different_contents_do_not_add_up(self, files: Filesystem) -> None:
        """Lines known of another content say nothing."""
        files.write("a.txt", "1\n2\n")
        part = files.begin()
        part.handle.read("a.txt", 0, 1)
        seen = dict(part.noted())
        part.undo()
        files.write("a.txt", "one\ntwo\n")
        later = files.begin(seen=seen.get)
        later.handle.read("a.txt", 1, 1)

        stamp = later.noted()["a.txt"]
        assert stamp is not None
        assert stamp.ranges == ((1, 2),)

    def test_a_line_that_was_cut_is_not_known(self, memory: InMemoryFilesystem) -> None:
        """Nobody saw its end."""
        memory.write("a.txt", "1\n" + "x" * 50 + "\n3\n")
        part = memory.begin()
        part.handle.read("a.txt", max_line_chars=10)

        stamp = part.noted()["a.txt"]
        assert stamp is not None
        assert (stamp.ranges, stamp.complete) == (((0, 1), (2, 3)), False)

    def test_an_empty_file_is_known_once_read(self, memory: InMemoryFilesystem) -> None:
        """There are no lines to miss."""
        memory.write("a.txt", "")
        part = memory.begin()
        part.handle.read("a.txt", 5, 5)

        stamp = part.noted()["a.txt"]
        assert stamp is not None
        assert stamp.complete

    def test_own_writes_are_known(self, files: Filesystem) -> None:
        """Whoever wrote a file knows it."""
        part = files.begin()
        call = part.handle
        call.write("a.txt", "one\n")
        call.append("a.txt", "two")
        with call.open_write("b.txt") as stream:
            stream.write(b"b")
        call.copy("a.txt", "c.txt")

        for path in ("a.txt", "b.txt", "c.txt"):
            stamp = call.seen(path)
            assert stamp is not None
            assert (stamp.path, stamp.complete, stamp.origin) == (path, True, "write")
            assert stamp.digest == call.fingerprint(path)
        part.undo()

    def test_knowledge_moves_along_and_goes_away(self, files: Filesystem) -> None:
        """With files and with the directories that they are in."""
        files.write("d/a.txt", "a\n")
        files.write("d/unseen.txt", "u\n")
        part = files.begin()
        call = part.handle
        call.read("d/a.txt")
        call.move("d", "e")
        call.copy("e/unseen.txt", "copy.txt")

        moved = call.seen("e/a.txt")
        assert moved is not None
        assert (moved.path, moved.digest) == ("e/a.txt", call.fingerprint("e/a.txt"))
        assert call.seen("d/a.txt") is None
        assert call.seen("e/unseen.txt") is None
        assert call.seen("copy.txt") is None
        call.delete("e", recursive=True)
        assert call.seen("e/a.txt") is None
        assert call.fingerprint("e/a.txt") is None
        part.undo()

    def test_an_unread_file_stays_unread_when_it_is_changed(self, files: Filesystem) -> None:
        """An edit or an append shows nothing of the rest."""
        files.write("a.txt", "1\n2\n")
        part = files.begin()
        part.handle.edit("a.txt", "2", "two")
        assert part.handle.seen("a.txt") is None
        part.handle.append("a.txt", "3\n4\n")

        stamp = part.handle.seen("a.txt")
        assert stamp is not None
        assert (stamp.ranges, stamp.complete) == (((2, 4),), False)
        part.undo()

    def test_what_was_known_before_the_call_is_asked_for_last(self, files: Filesystem) -> None:
        """The call's own notes are newer."""
        files.write("a.txt", "x")
        old = Stamp("a.txt", "digest", 1, (), complete=False)
        part = files.begin(seen={"a.txt": old, "b.txt": old}.get)

        assert part.handle.seen("b.txt") is old
        part.handle.read("a.txt")
        assert part.handle.seen("a.txt") != old

    def test_fingerprints_tell_contents_apart(self, files: Filesystem) -> None:
        """Also of files that were rewritten within the clock's grain."""
        prints: set[str | None] = set()
        for number in range(50):
            files.write_bytes("a.txt", b"%02d" % number)
            prints.add(files.fingerprint("a.txt"))

        assert len(prints) == 50
        assert None not in prints
        assert files.fingerprint("nowhere") is None
        files.mkdir("dir")
        assert files.fingerprint("dir") is None


def test_a_failed_first_operation_of_an_inner_call_does_not_shut_the_outer_one_out(
    files: Filesystem, tree: Tree
) -> None:
    """Nothing of the inner call is left then, so nothing may seem to be under way."""
    part = files.begin()
    inner = part.savepoint()
    with pytest.raises(FileNotFoundError):
        inner.handle.move("missing.txt", "made/on/the/way.txt")
    inner.undo()

    part.handle.write("a.txt", "one\n")
    publish(part)

    assert tree(files) == {"a.txt": b"one\n"}


def test_an_edit_does_not_overwrite_what_somebody_saved_in_between(tmp_path: object) -> None:
    """The user's editor does not know of our turns."""
    from pathlib import Path

    from wink.filesystem import HostFilesystem

    with HostFilesystem(str(tmp_path)) as files:
        files.write("a.txt", "one\n")

        class Saving(str):
            """Text that has somebody save the file in the moment in which it is looked at."""

            def replace(self, *args: object) -> str:  # type: ignore[override]
                (Path(str(tmp_path)) / "a.txt").write_text("theirs\n")
                return str.replace(self, *args)  # type: ignore[arg-type]

        with pytest.raises(FileConflict, match="somebody else"):
            files.edit("a.txt", "one", Saving("two"))

        assert files.read("a.txt").content == "theirs\n"


def test_paths_are_checked_before_anything_else(files: Filesystem) -> None:
    """A refused path never reaches the store."""
    for use in (
        files.read,
        files.exists,
        files.delete,
        files.mkdir,
        files.fingerprint,
        files.normalize,
        files.open_read,
    ):
        with pytest.raises(PathRefused):
            use("../x")
