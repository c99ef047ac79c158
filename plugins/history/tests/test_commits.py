"""Snapshots and checkpoints are commits of the history, and it alone is enough to come back to them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from plugins.history.tests.conftest import fsck, git
from tests.states import state_of
from tests.workspace.working import call

from wink.errors import SnapshotMismatch, UndoConflict
from wink.filesystem import HostFilesystem, InMemoryFilesystem
from wink.workspace import Workspace


def test_a_snapshot_of_a_workspace_is_a_commit(workspace: Workspace, root: Path, store: Path) -> None:
    """On demand: taking one still costs nothing. It shows what calls had left in the paths that they touched."""
    (root / "mine.txt").write_text("a person's\n")
    first = workspace.filesystem.snapshot()
    call(workspace, lambda files, _: files.write("a.txt", "one\n"))
    second = workspace.filesystem.snapshot()
    call(workspace, lambda files, _: files.write("a.txt", "two\n"))
    assert not store.exists()

    assert first.commit is None, "no call had changed anything yet"
    assert second.commit is not None
    assert git(store, "show", f"{second.commit}:a.txt") == "one\n"
    assert git(store, "ls-tree", "--name-only", second.commit) == "a.txt\n"
    assert git(store, "diff", "--name-status", second.commit, "HEAD") == "M\ta.txt\n"
    assert second.commit == second.commit


def test_a_snapshot_that_nothing_records_is_no_commit(workspace: Workspace, root: Path) -> None:
    """In memory, of a directory that is no workspace, and inside a call, whose changes may be taken back yet."""
    assert InMemoryFilesystem().snapshot().commit is None
    with HostFilesystem(root / "..", read_only=True) as files:
        assert files.snapshot().commit is None
    inside: list[object] = []
    call(workspace, lambda files, _: (files.write("a.txt", "x"), inside.append(files.snapshot().commit)))
    assert inside == [None]


def test_a_snapshot_of_a_record_that_is_gone_is_refused(workspace: Workspace, root: Path) -> None:
    """Its position means something else in another one."""
    call(workspace, lambda files, _: files.write("a.txt", "one"))
    snapshot = workspace.filesystem.snapshot()
    workspace.close()
    shutil.rmtree(root / ".wink")
    with Workspace.open(root) as anew:
        call(anew, lambda files, _: files.write("b.txt", "other"))
        moved = snapshot._replace(tree=anew.filesystem.snapshot().tree)
        with pytest.raises(SnapshotMismatch):
            _ = moved.commit


def test_checkpoints_are_references(workspace: Workspace, store: Path) -> None:
    """A person gives git their names."""
    workspace.checkpoint("nothing")
    call(workspace, lambda files, _: files.write("a.txt", "one\n"))
    workspace.checkpoint("before")
    call(workspace, lambda files, _: files.write("a.txt", "two\n"))
    workspace.checkpoint("everything", full=True)
    workspace.fold()
    workspace.checkpoint("after")
    workspace.fold()

    assert git(store, "show", "wink/checkpoints/before:a.txt") == "one\n"
    assert git(store, "show", "wink/checkpoints/after:a.txt") == "two\n"
    assert git(store, "show", "wink/checkpoints/everything:a.txt") == "two\n"
    assert "wink/checkpoints/nothing" not in git(store, "for-each-ref")
    fsck(store)


def test_checkpoints_whose_commits_were_given_up_are_no_references_any_more(workspace: Workspace, store: Path) -> None:
    """They can still be restored: what they need of files is kept."""
    call(workspace, lambda files, _: files.write("a.txt", "one\n"))
    workspace.checkpoint("old")
    for number in range(4):
        call(workspace, lambda files, _, number=number: files.write("a.txt", f"{number}\n"))
    workspace.checkpoint("young")
    workspace.fold()

    workspace.gc(calls=1)
    workspace.fold()

    assert "wink/checkpoints/old" not in git(store, "for-each-ref")
    assert git(store, "show", "wink/checkpoints/young:a.txt") == "3\n"
    fsck(store)
    workspace.restore("old")
    assert workspace.filesystem.read("a.txt").content == "one\n"


def test_history_shows_each_call_that_has_been_made(workspace: Workspace) -> None:
    """Whoever asks need not know that calls come into the history only now and then."""
    call(workspace, lambda files, _: files.write("a.txt", "one\n"))
    call(workspace, lambda files, _: files.write("a.txt", "two\n"))

    found = workspace.history()

    assert found is not None
    with found:
        assert [str(one.summary) for one in found.iter_commits("HEAD")] == ["work: a.txt", "work: a.txt"]


def test_restore_needs_only_the_store(workspace: Workspace, root: Path) -> None:
    """Somebody has removed what calls replaced, before it came into the history: an earlier call had written the same."""
    call(workspace, lambda files, _: files.write("d/a.txt", "one\n"))
    workspace.checkpoint("here")
    snapshot = workspace.filesystem.snapshot()
    workspace.fold()
    call(workspace, lambda files, _: files.write("d/a.txt", "two\n"))
    call(workspace, lambda files, _: files.delete("d", recursive=True))
    for left in (state_of(root) / "staged").iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()

    workspace.restore("here")
    assert (root / "d/a.txt").read_text() == "one\n"
    workspace.undo()
    workspace.filesystem.restore(snapshot)
    assert (root / "d/a.txt").read_text() == "one\n"


def test_what_the_store_has_of_a_path_is_no_substitute_for_what_was_there(workspace: Workspace, root: Path) -> None:
    """A person had saved the file in between, and that version is in no commit."""
    call(workspace, lambda files, _: files.write("a.txt", "one\n"))
    workspace.fold()
    (root / "a.txt").write_text("a person's\n")
    call(workspace, lambda files, _: (files.read("a.txt"), files.write("a.txt", "two\n")))
    for left in (state_of(root) / "staged").iterdir():
        left.unlink()

    with pytest.raises(UndoConflict, match="not kept any more"):
        workspace.undo()
