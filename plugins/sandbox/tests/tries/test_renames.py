"""A file that one side has renamed and the other has changed: the change follows, and whatever is less than a rename is none."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from wink.errors import TryConflict
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Try

BASE, EDITED = "one\ntwo\nthree\n", "one\n2\nthree\n"
EDIT = "sed -i s/two/2/"


class Case(NamedTuple):
    """What the try does, what the person does meanwhile, and the files in the end; none where it is a conflict."""

    tried: str
    meanwhile: str
    ends: dict[str, str] | None


CASES = {
    "the try renames": Case("mv a b", f"{EDIT} a", {"b": EDITED}),
    "the try renames into a new directory": Case("mkdir -p x/y; mv a x/y/b", f"{EDIT} a", {"x/y/b": EDITED}),
    "the try renames what is saved as editors do": Case("mv a b", f"{EDIT} a; cp a c; mv c a", {"b": EDITED}),
    "the workspace renames": Case(f"{EDIT} a", "mv a b", {"b": EDITED}),
    "the workspace renames as git does": Case(f"{EDIT} a", "mkdir x; cp a x/b; rm a", {"x/b": EDITED}),
    "the try renames, and the mode changes": Case("mv a b", f"{EDIT} a; chmod 755 a", {"b": f"x {EDITED}"}),
    "the workspace renames, and the mode changes in the try": Case(f"{EDIT} a; chmod 755 a", "mv a b", {"b": f"x {EDITED}"}),
    "both rename to one name": Case("mv a b", "mv a b", {"b": BASE}),
    "the try renames, and nobody changes it": Case("mv a b", "true", {"b": BASE}),
    "the try renames and changes": Case("mv a b; echo four >> b", f"{EDIT} a", None),
    "the workspace renames and changes": Case(f"{EDIT} a", "mv a b; echo four >> b", None),
    "the try makes two of it": Case("cp a c; mv a b", f"{EDIT} a", None),
    "the workspace makes two of it": Case(f"{EDIT} a", "cp a c; mv a b", None),
    "the try deletes": Case("rm a", f"{EDIT} a", None),
    "the workspace deletes": Case(f"{EDIT} a", "rm a", None),
    "the try renames to what the workspace has made": Case("mv a b", f"{EDIT} a; echo mine > b", None),
}  # fmt: skip


def files(root: Path) -> dict[str, str]:
    """What is in the files, with an x before it where they can be run."""
    found = [path for path in root.rglob("*") if path.is_file() and ".wink" not in path.parts]
    return {
        str(path.relative_to(root)): ("x " if path.stat().st_mode & 0o100 else "") + path.read_text() for path in found
    }


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file, alone."""
    (tmp_path / "a").write_text(BASE)
    (tmp_path / "a").chmod(0o644)
    return tmp_path


@pytest.fixture
def workspace(place: Path) -> Iterator[Workspace]:
    with Workspace.open(place) as opened:
        yield opened


def tried(workspace: Workspace, script: str) -> Try:
    one = Try(workspace, "t")
    with one.use() as overlay:
        assert Sandbox().run(Command(("/bin/sh", "-ec", script)), overlay).status == 0
    return one


@pytest.mark.parametrize("name", CASES)
def test_each_has_one_outcome(workspace: Workspace, place: Path, name: str) -> None:
    """And undo gives what the person had."""
    case = CASES[name]
    one = tried(workspace, case.tried)
    subprocess.run(["sh", "-ec", case.meanwhile], cwd=place, check=True)
    before = files(place)

    assert bool(one.unmerged()) == (case.ends is None)
    if case.ends is None:
        with pytest.raises(TryConflict):
            one.accept()
        assert files(place) == before
        return
    done = one.accept()

    assert files(place) == case.ends
    assert done.is_over
    if done.call is not None:
        workspace.undo()
        assert files(place) == before


def test_what_follows_is_checked_and_told(workspace: Workspace, place: Path) -> None:
    """A check sees it by its new name, and a dry run says so."""
    one = tried(workspace, "mv a b")
    subprocess.run(["sh", "-ec", f"{EDIT} a"], cwd=place, check=True)

    told = one.accept(dry_run=True)
    assert told.merged == ("b",)
    assert [(change.path, change.kind) for change in told.changes] == [("a", "deleted"), ("b", "created")]
    assert told.changes[1].after is not None
    assert told.changes[1].after.content() == EDITED.encode()

    assert one.accept(check=["grep", "-q", "^2$", "b"]).merged == ("b",)
    assert files(place) == {"b": EDITED}


def test_an_update_leaves_a_rename_as_it_is(workspace: Workspace, place: Path) -> None:
    """It is followed when it is accepted."""
    one = tried(workspace, "mv a b")
    subprocess.run(["sh", "-ec", f"{EDIT} a"], cwd=place, check=True)

    assert one.update().merged == ()
    one.accept()

    assert files(place) == {"b": EDITED}
