"""What a try lets go of when it was accepted: as a whole, also where the disk is full or wink is killed in the middle of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.tries.conftest import tree

from wink.errors import UnknownTry
from wink.workspace import Workspace
from wink_sandbox import Command, Overlay, Sandbox
from wink_sandbox.tries import Try, tries
from wink_sandbox.tries._bases import Bases

LINES = [f"{number}\n" for number in range(1, 31)]


@pytest.fixture
def workspace(place: Path) -> Iterator[Workspace]:
    """A try with a text that merges, a new file, one that is deleted and another mode."""
    (place / "text").write_text("".join(LINES))
    with Workspace.open(place) as opened:
        with Try(opened, "t").use() as overlay:
            script = "sed -i 's/^3$/three/' text; mkdir d; echo new > d/new; rm src/b.txt; chmod 700 run.sh"
            assert Sandbox().run(Command(("/bin/sh", "-c", script)), overlay).status == 0
        (place / "text").write_text("".join([*LINES[:27], "mine\n", *LINES[28:]]))
        yield opened


def _full(*args: object, **kwargs: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _failing(number: int, call: Callable[..., Any]) -> Callable[..., Any]:
    left = number

    def once(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        return _full() if left == 0 else call(*args, **kwargs)

    return once


@pytest.mark.parametrize("name", ["wink_sandbox.tries._accepted.forget", "wink_sandbox.tries._facts.Facts.remember"])
def test_what_was_accepted_and_not_let_go_of_goes_when_the_try_is_looked_at(
    workspace: Workspace, place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It is accepted, and no diff shows it once more: that of the merged text would take out what the person wrote."""
    with monkeypatch.context() as patched:
        patched.setattr(name, _full)
        done = Try(workspace, "t").accept()
    after = tree(place)

    assert done.call is not None
    assert not done.is_over
    assert "three" in after["text"]
    assert "mine" in after["text"]
    assert tries(workspace) == ()
    with pytest.raises(UnknownTry):
        Try(workspace, "t").accept()
    with Try(workspace, "t").use():
        assert not Try(workspace, "t").differences()
    assert tree(place) == after


def test_a_part_that_was_accepted_is_let_go_of_alone(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest stays."""
    with monkeypatch.context() as patched:
        patched.setattr("wink_sandbox.tries._accepted.forget", _full)
        Try(workspace, "t").accept("text", "d")

    assert [change.path for change in Try(workspace, "t").differences().changes()] == ["run.sh", "src/b.txt"]


def test_an_accept_that_is_not_committed_takes_nothing_out(
    workspace: Workspace, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was noted of it is forgotten."""
    before, was = Try(workspace, "t").differences().changes(), tree(place)
    with monkeypatch.context() as patched:
        patched.setattr("wink.workspace._applying.store", _full)
        with pytest.raises(OSError, match="No space"):
            Try(workspace, "t").accept()

    assert tree(place) == was
    assert [change.diff() for change in Try(workspace, "t").differences().changes()] == [
        change.diff() for change in before
    ]
    assert not os.path.lexists(f"{Try(workspace, 't').overlay.directory}/accept.pending")


def test_a_try_ends_as_a_whole(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be removed of it is no try, and goes later."""
    with monkeypatch.context() as patched:
        patched.setattr(Overlay, "drop", _full)
        assert Try(workspace, "t").accept().is_over
    ended = Path(workspace.state, "tries/.ended")
    assert not os.path.lexists(Try(workspace, "t").overlay.directory)
    assert list(ended.iterdir())

    assert tries(workspace) == ()

    assert list(ended.iterdir()) == []


def test_what_an_accept_has_left_in_the_workspace_to_be_taken_back_is_not_taken_for_accepted(
    workspace: Workspace, place: Path
) -> None:
    """Its rollback may fail too; the try must still have what it then takes away."""
    upper = Path(Try(workspace, "t").overlay.upper)
    (place / "d").mkdir()
    (place / "d/new").hardlink_to(upper / "d/new")

    with Try(workspace, "t").use():
        pass
    (place / "d/new").unlink()
    (place / "d").rmdir()

    assert (upper / "d/new").read_text() == "new\n"
    assert (upper / "d/new").stat().st_nlink == 1
    Try(workspace, "t").accept("d")
    assert (place / "d/new").read_text() == "new\n"


def test_an_update_that_was_begun_is_gone_on_with(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """From when it is, it is said to be; the same with its undo."""

    def text() -> str:
        (change,) = (one for one in Try(workspace, "t").differences().changes() if one.path == "text")
        return change.diff()

    before = text()
    with monkeypatch.context() as patched:
        patched.setattr(Bases, "replace", _failing(1, Bases.replace))
        assert Try(workspace, "t").update().merged == ("text",)
    assert "-mine" not in text()
    with monkeypatch.context() as patched:
        patched.setattr(Bases, "put_back", _failing(1, Bases.put_back))
        assert Try(workspace, "t").undo_update() is not None
    assert text() == before
