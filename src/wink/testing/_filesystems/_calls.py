"""What a transaction promises: begin, handle, revoke, prepare and publish, or undo."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context

import pytest

from wink.errors import FileConflict, HandleRevoked, PathRefused, ReadOnlyFilesystem
from wink.filesystem import ChangeSet, Filesystem, InMemoryFilesystem
from wink.testing._filesystems._promises import Promises, commit, contents, exactly, facts, needs

FAILING: list[tuple[Callable[[ChangeSet], object], type[OSError]]] = [
    (lambda change_set: change_set.mkdir(""), FileExistsError),
    (lambda change_set: change_set.mkdir("a.txt"), FileExistsError),
    (lambda change_set: change_set.put("d", b""), IsADirectoryError),
    (lambda change_set: change_set.put("", b""), PathRefused),
    (lambda change_set: change_set.put("nowhere/a.txt", b""), FileNotFoundError),
    (lambda change_set: change_set.put("a.txt", b"", exclusive=True), FileExistsError),
    (lambda change_set: change_set.put("a.txt", b"", replacing=b"other"), FileConflict),
    (lambda change_set: change_set.put("a.txt", b"", replacing="0" * 64), FileConflict),
    (lambda change_set: change_set.put("a.txt/b", b""), NotADirectoryError),
    (lambda change_set: change_set.delete("d"), OSError),
    (lambda change_set: change_set.delete("nowhere"), FileNotFoundError),
    (lambda change_set: change_set.move("a.txt", "nowhere/b.txt"), FileNotFoundError),
    (lambda change_set: change_set.move("a.txt", "a.txt"), FileExistsError),
    (lambda change_set: change_set.move("d", "d/e"), OSError),
    (lambda change_set: change_set.put(".git", b""), PathRefused),
]


class Calls(Promises):
    """A call commits, or it never happened; once it has ended its handle changes nothing."""

    def test_everything_is_taken_back_exactly(self, files: Filesystem) -> None:
        """Contents, names, empty directories, modes and times: a call that failed has not been."""
        files.write("keep/a.txt", "one\r\n")
        files.write("keep/b.txt", "two\n")
        files.write("keep/deep/c.txt", "three")
        files.write_bytes("keep/d.bin", bytes(range(256)) * 5000)
        files.mkdir("keep/empty/inner")
        before = self._comparable(files)
        part = files.begin()
        call = part.handle

        call.write("keep/a.txt", "changed")
        call.append("keep/a.txt", "more")
        call.write("new/x.txt", "new")
        call.edit("keep/b.txt", "two", "2")
        call.move("keep/deep", "moved")
        call.write("moved/c.txt", "after the move")
        call.copy("keep/b.txt", "keep/d.bin", overwrite=True)
        call.delete("keep/empty", recursive=True)
        call.mkdir("keep/empty/other")
        call.move("keep/a.txt", "keep/b.txt", overwrite=True)
        with call.open_write("keep/stream.txt") as stream:
            stream.write(b"x" * 100_000)
        call.delete("keep", recursive=True)
        call.write("keep", "a file where a directory was")
        part.undo()

        assert self._comparable(files) == before

    @needs("has_modes")
    def test_modes_change_and_come_back(self, files: Filesystem) -> None:
        """Of files and directories; what a file replaces keeps its mode."""
        files.write("d/run.sh", "x\n")
        modes = files.stat("d").mode, files.stat("d/run.sh").mode
        part = files.begin()
        with part.changing("d") as change_set:
            change_set.chmod("d", 0o700)
            change_set.chmod("d/run.sh", 0o750)
            change_set.put("d/run.sh", b"y\n")
            change_set.put("d/new.sh", b"z\n", mode=0o755)
        assert [files.stat(path).mode for path in ("d", "d/run.sh", "d/new.sh")] == [0o700, 0o750, 0o755]
        told = [(change.path, change.before and change.before.mode, change.after and change.after.mode)
                for change in part.changes()]  # fmt: skip
        assert told == [("d", modes[0], 0o700), ("d/run.sh", modes[1], 0o750), ("d/new.sh", None, 0o755)]
        assert part.changes()[0].diff() == f"d: mode {modes[0]:o} became 700\n"
        part.undo()

        assert (files.stat("d").mode, files.stat("d/run.sh").mode) == modes

    def test_publishing_keeps_everything(self, files: Filesystem) -> None:
        """And a later call sees it."""
        part = files.begin()
        part.handle.write("a.txt", "one")
        commit(part)

        assert files.begin().handle.read("a.txt").content == "one"
        assert contents(files) == {"a.txt": b"one"}

    def test_a_call_sees_its_own_changes(self, files: Filesystem) -> None:
        """Through every way of looking."""
        files.write("a/b.txt", "old\n")
        part = files.begin()
        call = part.handle
        call.write("a/b.txt", "new\n")
        call.move("a", "c")

        assert call.read("c/b.txt").content == "new\n"
        assert call.stat("c/b.txt").size_bytes == 4
        assert not call.exists("a")
        assert [entry.name for entry in call.list()] == ["c"]
        part.undo()

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

    def test_work_goes_on_after_an_operation_that_failed(self, files: Filesystem) -> None:
        """An error that a handler catches must not take back what it did before or spoil what comes after."""
        part = files.begin()
        with pytest.raises(FileNotFoundError):
            part.handle.move("nowhere", "new/dir/x")
        part.handle.write("a.txt", "one")
        with pytest.raises(FileNotFoundError):
            part.handle.move("nowhere", "new/dir/x")
        part.handle.write("b.txt", "two")
        commit(part)

        assert contents(files) == {"a.txt": b"one", "b.txt": b"two"}

    @pytest.mark.parametrize(("change", "error"), FAILING)
    def test_a_step_that_fails_changes_nothing(
        self, files: Filesystem, change: Callable[[ChangeSet], object], error: type[OSError]
    ) -> None:
        """And leaves nothing behind to be taken back."""
        files.write("a.txt", "x")
        files.write("d/b.txt", "y")
        before = self._comparable(files)
        part = files.begin()
        with part.changing(".") as change_set:
            with pytest.raises(error):
                change(change_set)
            assert not part.dirty
            change_set.move("a.txt", "a.txt", overwrite=True)
            assert self._comparable(files) == before
        part.undo()

    def test_discarded_content_goes_nowhere(self, files: Filesystem) -> None:
        """A stream that was abandoned has been staged and never put."""
        part = files.begin()
        with part.changing(".") as change_set:
            staged = change_set.stage()
            staged.write(b"x" * 2_000_000)
            staged.discard()
        assert not part.dirty
        part.undo()

        assert contents(files) == {}

    def test_every_use_of_a_revoked_handle_is_refused(self, files: Filesystem) -> None:
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
            lambda: call.delete("a.txt"), lambda: call.glob("*"), lambda: call.seen("a.txt"),
            lambda: call.fingerprint("a.txt"), lambda: call.stat("a.txt"), lambda: call.list(),
            reading.read, lambda: writing.write(b"x"), writing.close, text.close,
        ):  # fmt: skip
            with pytest.raises(HandleRevoked):
                use()
        part.undo()

        assert contents(files) == {"a.txt": b"one"}

    def test_revoking_waits_for_a_change_under_way(self, files: Filesystem) -> None:
        """So that after it nothing more can happen: a thread that a time-out left behind finds the door closed."""
        part = files.begin()
        handle = part.handle
        entered, go_on, revoked = threading.Event(), threading.Event(), threading.Event()

        def change() -> None:
            with part.changing("a.txt") as change_set:
                entered.set()
                go_on.wait(30)
                change_set.put("a.txt", b"in time")

        def revoke() -> None:
            part.revoke()
            revoked.set()

        threads = [threading.Thread(target=change), threading.Thread(target=revoke)]
        threads[0].start()
        entered.wait(30)
        threads[1].start()
        waited = not revoked.wait(0.01)
        go_on.set()
        for thread in threads:
            thread.join()

        assert waited, "revoke() came back while a change was under way"
        assert facts(part.changes()) == [("created", "a.txt")]
        with pytest.raises(HandleRevoked):
            handle.write("b.txt", "late")
        part.undo()
        assert contents(files) == {}

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
        commit(part)

        assert files.read("a.txt").content == "through the handle"

    def test_a_reading_handle_refuses_changes_and_says_why(self, files: Filesystem) -> None:
        """The tool declared it; a call within it cannot change anything either."""
        part = files.begin(writable=False)

        assert part.handle.read_only
        assert not files.read_only
        with pytest.raises(ReadOnlyFilesystem, match="its tool declares"):
            part.handle.write("a.txt", "x")
        with pytest.raises(ReadOnlyFilesystem, match="may only read"):
            part.savepoint().handle.write("a.txt", "x")
        part.undo()

    def _comparable(self, files: Filesystem) -> object:
        """Everything that this filesystem promises to bring back."""
        return {
            path: entry._replace(
                mode=entry.mode if self.has_modes else None,
                modified_at=entry.modified_at if self.has_times else None,
            )
            for path, entry in exactly(files).items()
        }
