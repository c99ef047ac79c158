"""Copies for unconfined programs whose workspace was deleted with its state: named by `wink doctor`, freed by `wink gc`, and no others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink


@pytest.fixture
def state(place: Path, environment: dict[str, str]) -> Path:
    """A user's directory for state that no other test uses."""
    environment["XDG_STATE_HOME"] = str(place.parent / "state")
    return place.parent / "state"


@pytest.fixture
def other(place: Path) -> Path:
    """Another workspace, in which commands are given."""
    (place.parent / "other").mkdir()
    return place.parent / "other"


def copies(state: Path) -> list[Path]:
    return sorted((state / "wink-copies").iterdir())


def test_a_copy_whose_workspace_was_deleted_is_named_and_freed(
    wink: Wink, place: Path, other: Path, state: Path
) -> None:
    """Nothing freed them, ever."""
    wink("try", "--unconfined", "--", "sh", "-c", "echo two > a.txt")
    (copy,) = copies(state)
    assert "copies" not in wink("doctor", cwd=other).stdout.partition("workspace")[0]
    assert "copy of a try" not in wink("gc", cwd=other).stdout
    assert copies(state) == [copy]

    shutil.rmtree(place)

    assert "1 copy of a try that is gone\n        `wink gc` frees them" in wink("doctor", cwd=other).stdout
    assert "would free 1 copy of a try that is gone" in wink("gc", "--dry-run", cwd=other).stdout
    assert copies(state) == [copy]
    assert "freed 1 copy of a try that is gone" in wink("gc", cwd=other).stdout
    assert copies(state) == list((state / "wink/copies").iterdir()) == []


def test_a_workspace_that_was_moved_loses_nothing(wink: Wink, place: Path, other: Path, state: Path) -> None:
    """Its try is not where it was, and what was tried is not in the copy alone."""
    wink("try", "--unconfined", "--", "sh", "-c", "echo two > a.txt")
    moved = place.rename(place.parent / "moved")
    assert "freed 1 copy" in wink("gc", cwd=other).stdout

    assert wink("try", "--unconfined", "--", "cat", "a.txt", cwd=moved).stdout == "two\n"
    assert wink("accept", cwd=moved).returncode == 0
    assert (moved / "a.txt").read_text() == "two\n"
    assert copies(state) == []


def test_what_may_be_nowhere_else_is_left_alone_and_named(wink: Wink, place: Path, other: Path, state: Path) -> None:
    """A program's work that wink was killed before it could take, and what was written beside a copy."""
    wink("try", "--unconfined", "--", "sh", "-c", "echo two > a.txt")
    (copy,) = copies(state)
    (note,) = (state / "wink/copies").iterdir()
    directory, _ = json.loads(note.read_text())
    note.write_text(json.dumps([directory, True]))
    shutil.rmtree(place)

    assert f"left alone, as there may be in it what is nowhere else: {copy}" in wink("gc", cwd=other).stdout
    assert f"look yourself at what a program left in {copy}" in wink("doctor", cwd=other).stdout
    note.write_text(json.dumps([directory, False]))
    (copy / "1/stray").write_text("mine")
    assert "freed" not in wink("gc", cwd=other).stdout.replace("freed 0 bytes", "")
    assert (copy / "1/stray").read_text() == "mine"


@pytest.mark.parametrize("what", ["no note", "a damaged note", "a note that leads astray", "a link", "a link below"])
def test_what_wink_does_not_know_stays(wink: Wink, place: Path, other: Path, state: Path, what: str) -> None:
    """Nothing is deleted because of its name."""
    wink("try", "--unconfined", "--", "true")
    wink("try", "--unconfined", "--", "sh", "-c", "echo two > a.txt")
    (copy,) = copies(state)
    (note,) = (state / "wink/copies").iterdir()
    mine = place.parent / "mine"
    mine.mkdir()
    (mine / "upper").mkdir()
    (mine / "upper/precious").write_text("x")
    if what == "no note":
        note.unlink()
    elif what == "a damaged note":
        note.write_text("[" * 5000)
    elif what == "a note that leads astray":
        note.write_text(json.dumps([f"../..{mine}", False]))
    elif what == "a link":
        shutil.rmtree(copy)
        copy.symlink_to(mine)
    else:
        shutil.rmtree(copy / "1")
        (copy / "1").symlink_to(mine)
    shutil.rmtree(place)

    assert wink("gc", cwd=other).returncode == 0

    assert (mine / "upper/precious").read_text() == "x"
    assert copy.is_symlink() or copy.is_dir()
