"""What is kept for undoing is bounded, by count, age and bytes; the newest calls stay undoable."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.workspace.working import call

from wink.errors import UndoConflict
from wink.workspace import Collected, Workspace


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    """Three calls, which replaced 7, 100 and 200 bytes."""
    with Workspace.open(root) as workspace:
        for size in (100, 200, 300):
            call(workspace, lambda files, _, size=size: files.write("a.txt", "x" * size))
        yield workspace


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, Collected(0, 0, 307)),
        ({"calls": 2}, Collected(1, 7, 300)),
        ({"calls": 0}, Collected(3, 307, 0)),
        ({"most_bytes": 250}, Collected(2, 107, 200)),
        ({"age": timedelta(days=1)}, Collected(0, 0, 307)),
        ({"age": timedelta(0)}, Collected(3, 307, 0)),
    ],
)
def test_oldest_go_first_within_each_limit(
    workspace: Workspace, limits: dict[str, object], expected: Collected
) -> None:
    """A dry run tells the same as the real thing, and does nothing; a second run finds nothing to do."""
    assert workspace.gc(**limits, dry_run=True) == expected  # type: ignore[arg-type]
    assert workspace.gc(**limits) == expected  # type: ignore[arg-type]
    assert workspace.gc(**limits) == Collected(0, 0, expected.bytes_left)  # type: ignore[arg-type]


def test_newest_calls_can_still_be_undone_and_older_ones_say_why_not(workspace: Workspace, root: Path) -> None:
    """Nothing half: an undo that would need what was freed is refused."""
    workspace.gc(calls=1)

    with pytest.raises(UndoConflict, match="not kept any more"):
        workspace.undo(n=3)
    workspace.undo()
    assert (root / "a.txt").read_text() == "x" * 200
    workspace.redo()
    assert (root / "a.txt").read_text() == "x" * 300


def test_deleted_directories_count_with_all_that_is_in_them(workspace: Workspace) -> None:
    """They are kept as a whole."""
    call(workspace, lambda files, _: files.write("d/e/b.txt", "y" * 5000))
    call(workspace, lambda files, _: files.delete("d", recursive=True))

    assert workspace.gc().bytes_left > 5307
    assert workspace.gc(calls=0).calls == 4


def test_nothing_was_ever_done(tmp_path: Path) -> None:
    """No trace is left by asking."""
    with Workspace.open(tmp_path) as workspace:
        assert workspace.gc(calls=0) == Collected(0, 0, 0)
        with pytest.raises(ValueError, match="cannot be negative"):
            workspace.gc(calls=-1)
    assert list(tmp_path.iterdir()) == []


def test_what_a_checkpoint_needs_is_kept_although_it_was_moved_before_it_was_deleted(
    workspace: Workspace, root: Path
) -> None:
    """The first change of its path keeps nothing: it says where the file went."""
    workspace.checkpoint("here")
    call(workspace, lambda files, _: files.move("a.txt", "moved.txt"))
    call(workspace, lambda files, _: files.delete("moved.txt"))
    workspace.gc(calls=0)

    workspace.restore("here")

    assert (root / "a.txt").read_text() == "x" * 300
