"""Snapshots of a workspace are positions in its record; what is done to its files outside of calls is recorded too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.states import state_of
from tests.workspace.conftest import Run
from tests.workspace.test_undo import Note
from tests.workspace.working import call

from wink.errors import (
    CommitFailed,
    HandleRevoked,
    NothingToUndo,
    SnapshotMismatch,
    UndoConflict,
    UnknownCall,
    UnknownCheckpoint,
    WorkspaceNeedsRecovery,
)
from wink.filesystem import Filesystem, Stamp
from wink.record import Record
from wink.session import Session
from wink.workspace import Workspace


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


def log(workspace: Workspace) -> list[tuple[str, dict[str, object]]]:
    """Tool and arguments of each call, oldest first."""
    return [(row.tool, json.loads(row.arguments)) for row in reversed(workspace.calls())]


class TestDirect:
    """A program may use the files of a workspace without a call."""

    def test_it_is_recorded_as_a_call(self, workspace: Workspace) -> None:
        """With the operation and its paths; not with the content, which is in the file."""
        files = workspace.filesystem
        files.write("b.txt", "one\n")
        files.edit("b.txt", "one", "two")
        files.move("b.txt", "c/d.txt")
        with files.open_write("e.txt") as stream:
            stream.write(b"three")
        with files.open_write("e.txt", mode="append") as stream:
            stream.write(b"four")
        files.append("e.txt", "five")
        files.mkdir("c")  # is there already

        assert log(workspace) == [
            ("filesystem", {"operation": "write", "path": "b.txt"}),
            ("filesystem", {"operation": "edit", "path": "b.txt"}),
            ("filesystem", {"operation": "move", "path": "b.txt", "target": "c/d.txt"}),
            ("filesystem", {"operation": "write", "path": "e.txt"}),
            ("filesystem", {"operation": "append", "path": "e.txt"}),
            ("filesystem", {"operation": "append", "path": "e.txt"}),
        ]
        assert sorted(change.path for change in workspace.calls()[3].changes) == ["b.txt", "c", "c/d.txt"]
        assert workspace.sessions() == ("default",)

    def test_it_can_be_undone_like_a_call(self, workspace: Workspace, root: Path) -> None:
        """Alone or with the calls around it."""
        workspace.filesystem.write("a.txt", "direct\n")
        call(workspace, lambda files, _: files.write("a.txt", "call\n"))
        workspace.filesystem.write("a.txt", "direct again\n")

        workspace.undo()
        assert (root / "a.txt").read_text() == "call\n"
        workspace.undo(n=2)
        assert (root / "a.txt").read_text() == "before\n"

    def test_it_belongs_to_a_session_that_is_open(self, root: Path) -> None:
        """So that none appears that nobody made."""
        with Workspace.open(root) as workspace:
            call(workspace, lambda files, _: files.write("a.txt", "1"), session="review")
            workspace.filesystem.write("a.txt", "2")
        with Workspace.open(root) as workspace:
            workspace.filesystem.write("a.txt", "3")
            assert workspace.sessions() == ("review",)
            workspace.session("default")

    def test_the_session_that_it_made_can_be_opened_again(self, root: Path) -> None:
        """With the identity that it was given then."""
        with Workspace.open(root) as workspace:
            workspace.filesystem.write("a.txt", "1")
            made = workspace.session().session_id
        with Workspace.open(root) as workspace:
            assert workspace.session().session_id == made

    def test_what_cannot_be_recorded_is_not_done(
        self, workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The record would not be true any more."""

        def fail(*_: object) -> None:
            raise CommitFailed("nothing was stored: the disk is full")

        workspace.filesystem.write("a.txt", "one")
        monkeypatch.setattr(Record, "commit", fail)

        with pytest.raises(CommitFailed, match="the disk is full"):
            workspace.filesystem.write("a.txt", "two")

        assert (root / "a.txt").read_text() == "one"

    def test_what_may_have_been_recorded_is_left_to_recovery(
        self, workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Undone it would contradict the record, if the record has it after all."""
        real = Record.commit

        def doubt(record: Record, entry: object) -> None:
            real(record, entry)  # type: ignore[arg-type]
            raise WorkspaceNeedsRecovery(str(root), entry.transaction_id, "the disk does not answer")  # type: ignore[attr-defined]

        workspace.filesystem.write("a.txt", "one")
        monkeypatch.setattr(Record, "commit", doubt)
        with pytest.raises(WorkspaceNeedsRecovery):
            workspace.filesystem.write("a.txt", "two")
        monkeypatch.undo()

        (done,) = workspace.recover()

        assert (done.outcome, (root / "a.txt").read_text()) == ("kept", "two")
        workspace.undo()
        assert (root / "a.txt").read_text() == "one"

    def test_an_interruption_after_the_commit_leaves_it_standing(
        self, workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is in the record, so it must be in the files."""
        real = Record.commit

        def interrupted(record: Record, entry: object) -> None:
            real(record, entry)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        monkeypatch.setattr(Record, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workspace.filesystem.write("a.txt", "two")

        assert (root / "a.txt").read_text() == "two"
        assert len(workspace.calls()) == 1
        workspace.undo()
        assert (root / "a.txt").read_text() == "before\n"


class TestRestore:
    """`workspace.filesystem.restore` is a call of its own."""

    def test_it_is_recorded_and_can_be_undone(self, workspace: Workspace, root: Path) -> None:
        """Calls and direct changes go back together; so does the restore itself."""
        files = workspace.filesystem
        snapshot = files.snapshot("mine")
        call(workspace, lambda files, _: files.write("a.txt", "call\n"))
        files.write("b.txt", "direct\n")

        files.restore(snapshot)

        assert ((root / "a.txt").read_text(), (root / "b.txt").exists()) == ("before\n", False)
        assert log(workspace)[-1] == ("filesystem", {"operation": "restore", "snapshot": "mine"})
        workspace.undo()
        assert ((root / "a.txt").read_text(), (root / "b.txt").read_text()) == ("call\n", "direct\n")

    def test_what_other_processes_did_goes_back_too(self, workspace: Workspace, root: Path, run: Run) -> None:
        """It is all in the record."""
        call(workspace, lambda files, _: files.write("a.txt", "one\n"))
        snapshot = workspace.filesystem.snapshot()
        run(
            """
            with Workspace.open(root) as workspace:
                call(workspace, "theirs", lambda session, files: files.write("a.txt", "theirs"))
            """
        )
        assert (root / "a.txt").read_text() == "theirs"
        assert [change.path for change in workspace.filesystem.diff(snapshot)] == ["a.txt"]

        workspace.filesystem.restore(snapshot)

        assert (root / "a.txt").read_text() == "one\n"

    def test_session_state_stays_but_what_is_known_of_files_goes_back(self, workspace: Workspace) -> None:
        """A snapshot of files is none of the session, except for what the session knows of them."""

        def work(files: Filesystem, session: Session) -> None:
            files.read("a.txt")
            session.dispatch(Note("kept"))

        call(workspace, work)
        known = workspace.session()[Stamp].get("a.txt")
        snapshot = workspace.filesystem.snapshot()

        def more(files: Filesystem, session: Session) -> None:
            files.write("a.txt", "after\n")
            session.dispatch(Note("kept too"))

        call(workspace, more)
        changed = workspace.session()[Stamp].get("a.txt")
        workspace.filesystem.restore(snapshot)

        session = workspace.session()
        assert session[Note].all() == (Note("kept"), Note("kept too"))
        assert session[Stamp].get("a.txt") == known
        assert known is not None
        assert known.digest == workspace.filesystem.fingerprint("a.txt")
        workspace.undo()
        assert workspace.session()[Stamp].get("a.txt") == changed
        assert workspace.session()[Note].all() == (Note("kept"), Note("kept too"))

    def test_calls_before_a_restore_still_stand(self, workspace: Workspace, root: Path) -> None:
        """Only their files went back; undoing them takes back the rest."""
        snapshot = workspace.filesystem.snapshot()
        number = call(workspace, lambda files, session: (files.write("b.txt", "1"), session.dispatch(Note("x"))))
        workspace.filesystem.restore(snapshot)
        assert workspace.undone() == frozenset()

        workspace.undo(number)

        assert workspace.session()[Note].all() == ()
        assert not (root / "b.txt").exists()

    def test_people_are_in_the_way(self, workspace: Workspace, root: Path) -> None:
        """What they saved since is named, and nothing is changed."""
        snapshot = workspace.filesystem.snapshot()
        workspace.filesystem.write("a.txt", "one")
        workspace.filesystem.write("b.txt", "one")
        (root / "a.txt").write_text("mine")
        calls = workspace.calls()

        with pytest.raises(UndoConflict) as caught:
            workspace.filesystem.restore(snapshot)

        assert caught.value.paths == ("a.txt",)
        assert ((root / "a.txt").read_text(), (root / "b.txt").read_text()) == ("mine", "one")
        assert workspace.calls() == calls

    def test_restoring_what_is_there_leaves_no_call(self, workspace: Workspace) -> None:
        """Nothing was done."""
        workspace.filesystem.write("b.txt", "one")
        snapshot = workspace.filesystem.snapshot()

        workspace.filesystem.restore(snapshot)

        assert len(workspace.calls()) == 1

    def test_a_snapshot_outlives_the_collection_of_objects(self, workspace: Workspace, root: Path) -> None:
        """What it needs is freed by `gc` alone, and then it says so."""
        snapshot = workspace.filesystem.snapshot()
        for number in range(100):
            workspace.filesystem.write("a.txt", str(number))
        workspace.filesystem.restore(snapshot)
        assert (root / "a.txt").read_text() == "before\n"
        workspace.filesystem.write("a.txt", "after")

        workspace.gc(calls=0)

        with pytest.raises(UndoConflict, match="is not kept any more"):
            workspace.filesystem.restore(snapshot)
        assert (root / "a.txt").read_text() == "after"

    def test_a_snapshot_of_a_record_that_was_removed_is_refused(self, workspace: Workspace, root: Path) -> None:
        """Positions of the new one mean something else."""
        workspace.filesystem.write("a.txt", "one")
        snapshot = workspace.filesystem.snapshot()
        workspace.close()
        shutil.rmtree(state_of(root))
        with Workspace.open(root) as again:
            again.filesystem.write("a.txt", "two")
            again.filesystem.write("a.txt", "three")
            moved = snapshot._replace(tree=again.filesystem._transaction.tree)  # as if it were the same object

            with pytest.raises(SnapshotMismatch, match="not there any more"):
                again.filesystem.restore(moved)

            assert (root / "a.txt").read_text() == "three"


class TestInACall:
    """The handle comes back to moments of the call, and to those from before it."""

    def test_an_older_state_of_the_files_is_restored_as_a_part_of_the_call(
        self, workspace: Workspace, root: Path
    ) -> None:
        """Recorded with it, and undone with it."""
        snapshot = workspace.filesystem.snapshot()
        call(workspace, lambda files, _: files.write("a.txt", "one\n"))

        def work(files: Filesystem, _: Session) -> None:
            files.write("b.txt", "two\n")
            assert sorted(change.path for change in files.diff(snapshot)) == ["a.txt", "b.txt"]
            files.restore(snapshot)
            files.write("c.txt", "three\n")

        call(workspace, work)

        assert (root / "a.txt").read_text() == "before\n"
        assert sorted(change.path for change in workspace.calls()[0].changes) == ["a.txt", "c.txt"]
        workspace.undo()
        assert (root / "a.txt").read_text() == "one\n"
        assert not (root / "c.txt").exists()

    def test_what_the_call_knows_goes_back_with_the_files(self, workspace: Workspace) -> None:
        """Otherwise a policy would believe that it has seen what is there now."""

        def work(files: Filesystem, _: Session) -> None:
            files.read("a.txt")
            before = files.snapshot()
            files.write("a.txt", "after\n")
            written = files.seen("a.txt")
            files.restore(before)
            assert written is not None
            assert files.seen("a.txt") != written

        call(workspace, work)

    def test_it_ends_with_the_call(self, workspace: Workspace) -> None:
        """Handle and snapshot both."""
        kept = []

        def work(files: Filesystem, _: Session) -> None:
            files.write("a.txt", "1")
            kept.extend((files, files.snapshot()))

        call(workspace, work)
        files, snapshot = kept

        for use in (files.snapshot, lambda: files.restore(snapshot), lambda: files.diff(snapshot)):
            with pytest.raises(HandleRevoked):
                use()


class TestRestoreOfACall:
    """`Workspace.restore` also takes the number of a call."""

    def test_it_is_the_state_that_the_call_left(self, workspace: Workspace, root: Path) -> None:
        """Forward and backward; session state goes along, as with a checkpoint."""
        numbers = [
            call(workspace, lambda files, session, n=n: (files.write("a.txt", str(n)), session.dispatch(Note(str(n)))))  # type: ignore[misc]
            for n in range(4)
        ]

        for at in (1, 3, 0, 2):
            told = workspace.restore(numbers[at], dry_run=True)
            assert told.call is None
            workspace.restore(numbers[at])
            assert (root / "a.txt").read_text() == str(at)
            assert workspace.session()[Note].all() == tuple(Note(str(n)) for n in range(at + 1))

        assert workspace.undo().calls
        assert (root / "a.txt").read_text() == "0"
        assert log(workspace)[-2] == ("restore", {"call": f"c{numbers[2]}"})

    def test_only_some_paths(self, workspace: Workspace, root: Path) -> None:
        """Session state stays then."""
        first = call(workspace, lambda files, _: files.write("a.txt", "1"))
        call(workspace, lambda files, _: (files.write("a.txt", "2"), files.write("b.txt", "2")))

        workspace.restore(first, "a.txt")

        assert ((root / "a.txt").read_text(), (root / "b.txt").read_text()) == ("1", "2")

    def test_calls_that_are_not_there(self, workspace: Workspace) -> None:
        """And the last one, after which nothing was done."""
        number = call(workspace, lambda files, _: files.write("a.txt", "1"))

        with pytest.raises(UnknownCall):
            workspace.restore(number + 1)
        with pytest.raises(NothingToUndo, match=f"since c{number}"):
            workspace.restore(number)
        with pytest.raises(UnknownCheckpoint):
            workspace.restore(f"c{number}")
