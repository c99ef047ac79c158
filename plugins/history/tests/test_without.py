"""Where the plugin is not installed nothing is lost: what calls replaced stays in staging."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from tests.states import state_of
from tests.workspace.working import call

from wink.errors import HistoryUnavailable
from wink.workspace import Workspace


def test_calls_and_checkpoints_are_taken_back_without_a_history(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the kernel's promise, not the plugin's."""
    monkeypatch.setattr("wink.spellings.offered", lambda group, offer: None)
    with Workspace.open(root) as workspace:
        call(workspace, lambda files, _: files.write("a.txt", "0"))
        workspace.checkpoint("named")
        for number in range(1, 12):
            call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
        assert workspace.fold() == 0
        workspace.undo()
        assert (root / "a.txt").read_text() == "10"
        workspace.restore("named")
        assert (root / "a.txt").read_text() == "0"
        workspace.gc(calls=0)
    assert not (state_of(root) / "store.git").exists()


def test_what_needs_a_history_says_so(workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but what was folded is as ever, and that comes back with the plugin."""
    call(workspace, lambda files, _: files.write("a.txt", "old"))
    call(workspace, lambda files, _: files.write("a.txt", "new"))
    workspace.fold()
    workspace.close()
    with monkeypatch.context() as without, Workspace.open(root) as again:
        without.setattr("wink.spellings.offered", lambda group, offer: None)
        for needing in (again.undo, again.history, lambda: again.checkpoint("all", full=True)):
            with pytest.raises(
                HistoryUnavailable, match="no plugin is installed that keeps one; install wink"
            ) as raised:
                needing()
            assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
        assert (root / "a.txt").read_text() == "new"

    with Workspace.open(root) as again:
        again.undo()
    assert (root / "a.txt").read_text() == "old"
