"""A file that one side has renamed and the other has changed: the change follows, and whatever is less than a rename is none."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from wink.errors import MergeRefused, TryConflict
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Picked, Try

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
    "both change its mode": Case("mv a b; chmod 755 b", f"{EDIT} a; chmod 600 a", None),
    "what it renames was only saved": Case("mv a b", "cp a c; mv c a", {"b": BASE}),
    "the workspace renames into a directory that the try deletes": Case(f"{EDIT} a; rm -r d", "mv a d/b", None),
    "the workspace renames to where the try hides what there is": Case(f"{EDIT} a; rm -r d; mkdir d; echo > d/c", "mv a d/b", None),
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
    (tmp_path / "d").mkdir()
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


class Beside(NamedTuple):
    """What else there is at the beginning, and what is done."""

    there: str
    tried: str
    meanwhile: str


LESS = {
    "the try deletes another with the same": Beside("cp a c", "rm a; mv c b", f"{EDIT} a"),
    "the try deletes another with the same, in a directory": Beside("mkdir x; cp a x/c", "rm a; mv x/c b; rm -r x", f"{EDIT} a"),
    "the workspace has deleted what is in the place of the new name": Beside("echo > c", "mv a c", f"{EDIT} a; rm c"),
    "the try renames what is empty": Beside(": > a", "mv a b", "echo mine > a"),
    "the workspace renames what is empty": Beside(": > a", "echo tried > a", "mv a b"),
}  # fmt: skip


@pytest.mark.parametrize("name", LESS)
def test_what_could_be_another_one_is_a_conflict(place: Path, name: str) -> None:
    """And what the person has saved is there."""
    case = LESS[name]
    subprocess.run(["sh", "-ec", case.there], cwd=place, check=True)
    with Workspace.open(place) as workspace:
        one = tried(workspace, case.tried)
        subprocess.run(["sh", "-ec", case.meanwhile], cwd=place, check=True)
        before = files(place)

        assert one.unmerged()
        with pytest.raises(TryConflict):
            one.accept()
        one.accept(rest=True)

        assert {path: text for path, text in before.items() if path in "ab"}.items() <= files(place).items()


def test_what_both_rename_over_one_another_is_not_lost(place: Path) -> None:
    """The edit of one follows, and that of the other stays."""
    (place / "c").write_text("c\n")
    with Workspace.open(place) as workspace:
        one = tried(workspace, "mv a c")
        subprocess.run(["sh", "-ec", f"{EDIT} a; mv c e"], cwd=place, check=True)

        with pytest.raises(TryConflict):
            one.accept()
        one.accept(rest=True)

    assert files(place) == {"a": EDITED, "e": BASE}


@pytest.mark.parametrize("denied", ["a", "b"])
def test_what_stays_in_the_try_leaves_the_other_name_there(workspace: Workspace, place: Path, denied: str) -> None:
    """What is there by the old name is not deleted without the new one."""
    one = tried(workspace, "mv a b; echo > other")
    subprocess.run(["sh", "-ec", f"{EDIT} a"], cwd=place, check=True)

    done = one.accept(rest=True, denial=lambda path: "not this one" if path == denied else "")

    assert [path for path, _ in done.left] == ["a", "b"]
    assert files(place) == {"a": EDITED, "other": "\n"}
    assert one.accept().merged == ("b",)
    assert files(place)["b"] == EDITED


def test_what_the_try_has_changed_in_a_file_stays_where_its_new_name_is_denied(
    workspace: Workspace, place: Path
) -> None:
    """It is there for another accept."""
    one = tried(workspace, f"{EDIT} a; echo > other")
    subprocess.run(["sh", "-ec", "mv a b"], cwd=place, check=True)

    done = one.accept(rest=True, denial=lambda path: "not this one" if path == "b" else "")

    assert [path for path, _ in done.left] == ["a", "b"]
    assert files(place) == {"b": BASE, "other": "\n"}
    assert one.accept().merged == ("b",)
    assert files(place)["b"] == EDITED


def test_what_else_the_try_has_at_the_new_name_is_not_lost(workspace: Workspace, place: Path) -> None:
    """Also where only the old name is accepted."""
    one = tried(workspace, f"{EDIT} a; echo tried > b")
    subprocess.run(["sh", "-ec", "mv a b"], cwd=place, check=True)

    with pytest.raises(TryConflict):
        one.accept("a")

    assert files(place) == {"b": BASE}
    assert {step.path for step in one.differences().steps} == {"a", "b"}


def test_what_an_update_has_marked_is_not_accepted_by_another_name(workspace: Workspace, place: Path) -> None:
    one = tried(workspace, f"{EDIT} a")
    subprocess.run(["sh", "-ec", "sed -i s/two/zwei/ a"], cwd=place, check=True)
    assert one.update().marked == ("a",)
    subprocess.run(["sh", "-ec", "mv a b"], cwd=place, check=True)

    with pytest.raises(MergeRefused):
        one.accept()

    assert "<<<" not in files(place)["b"]


def test_what_is_picked_follows_no_rename(workspace: Workspace, place: Path) -> None:
    """A part of it, at one of the names, would not be what it says."""
    one = tried(workspace, f"{EDIT} a")
    subprocess.run(["sh", "-ec", "mv a b"], cwd=place, check=True)

    with pytest.raises(TryConflict):
        one.accept(pick=lambda units: [Picked(unit) for unit in units])

    assert files(place) == {"b": BASE}
