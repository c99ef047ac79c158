"""What a workspace keeps is bounded by itself, off the calls' path, and what it keeps is as good as before."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest
from tests.states import state_of
from tests.workspace.working import call

from wink.errors import UnknownCall
from wink.record import Keep
from wink.workspace import Workspace

WAY = "def function(value: int) -> int: return value\n" * 200


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that tests need few calls: it happens every ten calls, and five stay in the log whatever the bounds."""
    monkeypatch.setattr("wink.workspace._upkeep.EVERY", 10)
    monkeypatch.setattr("wink.workspace._upkeep.BESIDE", 10)
    forgetting = import_module("wink.record._forgetting")
    monkeypatch.setattr(forgetting, "_FREE", forgetting._FREE.replace("OFFSET 999", "OFFSET 4"))


def work(workspace: Workspace, count: int) -> None:
    for number in range(count):
        call(workspace, lambda files, _, number=number: files.write("a.txt", f"{number}\n{WAY}"))


def test_a_workspace_that_is_closed_has_given_up_what_is_beyond_its_bounds(root: Path) -> None:
    """It grew for ever: nobody types `wink gc`."""
    for _ in range(4):
        with Workspace.open(root, keep=Keep(calls=20)) as workspace:
            work(workspace, 12)

    with Workspace.open(root) as workspace:
        calls = workspace.calls()
        assert [one.position for one in calls] == list(range(48, 48 - len(calls), -1))
        assert 20 <= len(calls) < 48
        with pytest.raises(
            UnknownCall, match=f"c1 is not kept any more; the oldest call that is kept is c{calls[-1].position}"
        ):
            workspace.call(1)
        workspace.undo(n=20)
        assert (root / "a.txt").read_text().startswith("3\n")
        workspace.redo()
        assert (root / "a.txt").read_text().startswith("11\n")
        workspace.fold()


def test_bounds_hold_while_a_workspace_stays_open(root: Path) -> None:
    """A server may never close it."""
    with Workspace.open(root, keep=Keep(calls=20)) as workspace:
        workspace._upkeep.elsewhere = lambda: workspace._upkeep.catch_up() is None
        for _ in range(10):
            work(workspace, 10)
            workspace._upkeep.wait()

        assert len(workspace.calls()) < 50


def test_what_is_too_old_is_given_up(root: Path) -> None:
    """A year later nobody wants it back."""
    with Workspace.open(root, keep=Keep(days=0)) as workspace:
        work(workspace, 12)
        workspace.gc(age=timedelta(0))

        assert len(workspace.calls()) == 5


def test_a_bound_that_cannot_be_read_ends_no_call(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is asked for behind the calls, where nobody could be told by an exception."""

    def wrong() -> Keep:
        from wink.errors import SettingsError

        raise SettingsError("wink.toml", ["$.history: must be a table"])

    with Workspace.open(root, keep=wrong) as workspace:
        work(workspace, 12)

    assert "must be a table" in caplog.text


def test_nothing_is_given_up_while_somebody_else_is_at_work(root: Path) -> None:
    """An undo in another process may need just that."""
    bounds = [Keep()]
    with Workspace.open(root, keep=lambda: bounds[-1]) as workspace:
        with Workspace.open(root) as other:
            work(workspace, 12)
            workspace._upkeep.wait()
            bounds.append(Keep(calls=2))
            other.filesystem.write_lock.acquire(5)
            workspace._give_up()
            assert len(workspace.calls()) >= 10
            other.filesystem.write_lock.release()
        workspace._give_up()
        assert len(workspace.calls()) == 5


def test_results_are_found_compressed_as_they_were(root: Path) -> None:
    """They are files of their own, of texts that were too long to be sent."""
    with Workspace.open(root) as workspace:
        work(workspace, 1)
        texts = {f"{number:08x}": WAY * 40 + f"\udcff{number}" for number in range(3)}
        for name, text in texts.items():
            workspace.record.keep_result(name, text)
        before = workspace.record.kept_results()
        workspace.record.pack_results()

        assert workspace.record.kept_results() == before
        assert {name: workspace.record.kept_result(name) for name in before} == texts
        assert sum(path.stat().st_size for path in (state_of(root) / "results").iterdir()) < 10_000
