"""An undo that a person insists on: what is in the way goes, and comes back by redo to the last bit."""

from __future__ import annotations

import os
import shutil
import stat
from itertools import product
from pathlib import Path

import pytest
from tests.workspace.working import call

from wink.errors import UndoConflict
from wink.filesystem import Filesystem
from wink.workspace import Workspace

KINDS = ("nothing", "text", "other text", "closed", "link", "other link", "directory", "closed directory")
"""What a path can be."""


def make(place: Path, kind: str) -> None:
    """Let it be that, whatever it was."""
    if place.is_dir() and not place.is_symlink():
        place.chmod(0o700)
        shutil.rmtree(place)
    elif os.path.lexists(place):
        place.unlink()
    match kind:
        case "text" | "other text" | "closed":
            place.write_text(kind if kind != "closed" else "text")
            place.chmod(0o600 if kind == "closed" else 0o644)
        case "link" | "other link":
            place.symlink_to(kind.replace(" ", "/"))
        case "directory" | "closed directory":
            place.mkdir()
            place.chmod(0o750 if kind == "directory" else 0o700)
        case _:
            pass


def seen(place: Path) -> object:
    """What it is, with its mode and what it holds."""
    if not os.path.lexists(place):
        return None
    mode = place.lstat().st_mode
    if stat.S_ISLNK(mode):
        return os.readlink(place)
    return mode, place.read_bytes() if stat.S_ISREG(mode) else sorted(os.listdir(place))


def leave(files: Filesystem, path: str, kind: str, *, is_there: bool) -> None:
    """Let a call make it that."""
    if is_there:
        files.delete(path)
    match kind:
        case "text":
            files.write(path, "by the call")
        case "link":
            files.symlink(path, "by/the/call")
        case "directory":
            files.mkdir(path)
        case _:
            pass


CALLED = ("nothing", "text", "link", "directory")


@pytest.mark.parametrize(("before", "called"), [one for one in product(KINDS, CALLED) if one != ("nothing", "nothing")])
def test_whatever_a_person_made_of_it_goes_and_comes_back(before: str, called: str, tmp_path: Path) -> None:
    """Over all kinds that it was, that the call left, and that the person left: nothing is ever lost."""
    for number, person in enumerate(KINDS):
        root = tmp_path / str(number)
        root.mkdir()
        (root / "other").write_text("never touched")
        place = root / "p"
        make(place, before)
        with Workspace.open(root) as workspace:
            first = seen(place)
            done = call(workspace, lambda files, _: leave(files, "p", called, is_there=before != "nothing"))
            left = seen(place)
            if left == first:
                continue
            make(place, person)
            mine = seen(place)
            try:
                planned = workspace.undo(done, force=True, dry_run=True)
                assert seen(place) == mine
                undone = workspace.undo(done, force=True)
            except UndoConflict as error:
                pytest.fail(f"{before}, {called}, {person}: {error}")
            assert seen(place) == first
            assert planned.forced == undone.forced
            assert undone.forced == (() if mine in (left, first) else ("p",)), (before, called, person)

            if mine != first:
                workspace.redo()
            assert seen(place) == mine, (before, called, person)
            assert (root / "other").read_text() == "never touched"


def test_a_directory_in_the_place_of_what_a_call_made_is_refused_while_something_is_in_it(tmp_path: Path) -> None:
    """Nobody has said that it may go; empty it goes, as whatever else stands there."""
    with Workspace.open(tmp_path) as workspace:
        done = call(workspace, lambda files, _: files.write("f", "by the call"))
        (tmp_path / "f").unlink()
        (tmp_path / "f").mkdir()
        (tmp_path / "f/mine").write_text("mine")

        for dry_run in (True, False):
            with pytest.raises(UndoConflict, match="is a directory that somebody else put something into"):
                workspace.undo(done, force=True, dry_run=dry_run)
        assert (tmp_path / "f/mine").read_text() == "mine"
        (tmp_path / "f/mine").unlink()
        assert workspace.undo(done, force=True).forced == ("f",)
        assert not (tmp_path / "f").exists()


def test_what_others_put_beneath_a_directory_is_refused_or_stays(tmp_path: Path) -> None:
    """Only what stands at the paths of the call goes."""
    with Workspace.open(tmp_path) as workspace:
        done = call(workspace, lambda files, _: files.write("d/f", "by the call"))
        (tmp_path / "d/mine").write_text("mine")
        (tmp_path / "d/f").write_text("changed")

        undone = workspace.undo(done, force=True)

        assert (undone.forced, undone.kept) == (("d/f",), ("d",))
        assert os.listdir(tmp_path / "d") == ["mine"]
        workspace.redo()
        assert (tmp_path / "d/f").read_text() == "changed"

        done = call(workspace, lambda files, _: files.delete("d/f"))
        os.mkdir(tmp_path / "d/f")
        (tmp_path / "d/f/deep").write_text("mine")
        with pytest.raises(UndoConflict):
            workspace.undo(done, force=True)
        assert (tmp_path / "d/f/deep").read_text() == "mine"


def test_a_fifo_in_the_way_is_refused(tmp_path: Path) -> None:
    """No undo could bring it back."""
    with Workspace.open(tmp_path) as workspace:
        done = call(workspace, lambda files, _: files.write("f", "by the call"))
        (tmp_path / "f").unlink()
        os.mkfifo(tmp_path / "f")
        with pytest.raises(UndoConflict):
            workspace.undo(done, force=True)
        assert stat.S_ISFIFO((tmp_path / "f").lstat().st_mode)


def test_what_a_later_call_left_goes_and_comes_back(tmp_path: Path) -> None:
    """The later call stands in the log, and its content is kept with the undo."""
    with Workspace.open(tmp_path) as workspace:
        first = call(workspace, lambda files, _: files.write("f", "one"))
        call(workspace, lambda files, _: files.write("f", "two"))
        with pytest.raises(UndoConflict):
            workspace.undo(first)

        assert workspace.undo(first, force=True).forced == ("f",)
        assert not (tmp_path / "f").exists()
        workspace.redo()
        assert (tmp_path / "f").read_text() == "two"


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_closed_file_in_the_way_comes_back_with_its_mode(mode: int, tmp_path: Path) -> None:
    """As an ordinary user it cannot even be read: then it is refused, and stays."""
    with Workspace.open(tmp_path) as workspace:
        done = call(workspace, lambda files, _: files.write("f", "by the call"))
        (tmp_path / "f").write_text("mine")
        (tmp_path / "f").chmod(mode)
        try:
            workspace.undo(done, force=True)
        except UndoConflict:
            assert mode == 0
        else:
            assert not (tmp_path / "f").exists()
            workspace.redo()
        assert stat.S_IMODE((tmp_path / "f").lstat().st_mode) == mode
        (tmp_path / "f").chmod(0o600)
        assert (tmp_path / "f").read_text() == "mine"
