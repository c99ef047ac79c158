"""A state that was named can be restored, and the restore be undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workspace.test_undo import Note, everything, prepared, tree
from tests.workspace.working import call

from wink.errors import CheckpointExists, NothingToUndo, PathRefused, SessionNameError, UndoConflict, UnknownCheckpoint
from wink.filesystem import Filesystem
from wink.session import Session
from wink.workspace import Workspace


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


def test_restore_brings_files_and_sessions_back_and_can_be_undone(workspace: Workspace, root: Path) -> None:
    """Calls, writes outside of calls, undos and earlier restores since then: all of it goes, and comes back."""
    session = prepared(workspace.session())
    first = call(workspace, lambda files, s: (files.write("a.txt", "1"), s.dispatch(Note("1"))))
    workspace.checkpoint("start")
    before = tree(root), everything(session)

    call(workspace, lambda files, s: (files.write("a.txt", "2"), files.write("d/b.txt", "2"), s.dispatch(Note("2"))))
    session.dispatch(Note("outside"))
    call(workspace, lambda files, s: (files.move("d", "e"), s.dispatch(Note("3"))))
    workspace.undo()
    workspace.undo(n=2)
    workspace.checkpoint("middle")
    middle = tree(root), everything(session)
    assert (root / "a.txt").read_text() == "before\n"

    workspace.restore("start")
    assert (tree(root), everything(session)) == before
    assert first not in workspace.undo(dry_run=True).calls
    workspace.undo()
    assert (tree(root), everything(session)) == middle
    workspace.redo()
    assert (tree(root), everything(session)) == before
    workspace.restore("middle")
    assert (tree(root), everything(session)) == middle


def test_some_paths_can_be_restored_alone(workspace: Workspace, root: Path) -> None:
    """Session state is not divided by paths, so it stays; and so does every other file."""
    session = prepared(workspace.session())
    workspace.checkpoint("start")

    def work(files: Filesystem, s: Session) -> None:
        files.write("a.txt", "1")
        files.write("d/b.txt", "1")
        s.dispatch(Note("1"))

    call(workspace, work)

    done = workspace.restore("start", "d")
    assert [change.path for change in done.changes] == ["d", "d/b.txt"]
    assert (root / "a.txt").read_text() == "1"
    assert session[Note].all() == (Note("1"),)
    workspace.undo()
    assert (root / "d/b.txt").read_text() == "1"
    assert workspace.restore("start", "a.txt", "./d").kept == ()
    assert tree(root).keys() == {"a.txt"}
    with pytest.raises(NothingToUndo):
        workspace.restore("start", "elsewhere")
    with pytest.raises(PathRefused):
        workspace.restore("start", "../a.txt")


def test_what_people_did_is_never_overwritten(workspace: Workspace, root: Path) -> None:
    """It is named, and dry runs name it too."""
    workspace.checkpoint("start")
    call(workspace, lambda files, _: (files.write("a.txt", "1"), files.write("b.txt", "1")))
    (root / "a.txt").write_text("mine")
    (root / "mine.txt").write_text("mine")
    before = tree(root)

    for dry_run in (True, False):
        with pytest.raises(UndoConflict) as caught:
            workspace.restore("start", dry_run=dry_run)
        assert caught.value.paths == ("a.txt",)
        assert tree(root) == before
    workspace.restore("start", "b.txt")
    assert tree(root).keys() == {"a.txt", "mine.txt"}


@pytest.mark.parametrize("full", [False, True])
def test_paths_where_nothing_was_done_are_told(workspace: Workspace, full: bool) -> None:
    """A slip in a path must not look as if something had been restored."""
    workspace.checkpoint("start", full=full)
    call(workspace, lambda files, _: files.write("a.txt", "1"))
    count = len(workspace.calls())

    with pytest.raises(NothingToUndo):
        workspace.restore("start", "slip")
    assert len(workspace.calls()) == count


def test_names_are_checked(workspace: Workspace) -> None:
    """A checkpoint stays what it is, and slips are told."""
    workspace.checkpoint("start")

    with pytest.raises(CheckpointExists, match="there is a checkpoint 'start' already"):
        workspace.checkpoint("start")
    with pytest.raises(SessionNameError, match="'no good' cannot name a checkpoint"):
        workspace.checkpoint("no good")
    with pytest.raises(UnknownCheckpoint, match="there are start"):
        workspace.restore("strat")
    with pytest.raises(NothingToUndo, match="nothing was done since"):
        workspace.restore("start")
    assert [one.name for one in workspace.checkpoints()] == ["start"]
