"""Accept a part of a directory that a program deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree


@pytest.fixture
def place(place: Path) -> Path:
    """With directories in directories."""
    (place / "d/e/f").mkdir(parents=True)
    for name in ("d/a.py", "d/b.txt", "d/e/c.py", "d/e/f/g.py"):
        (place / name).write_text(name)
    return place


def names(root: Path) -> set[str]:
    return {name for name, shown in tree(root).items() if name.startswith("d/") and not shown.startswith("4")}


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        (("d/e/f",), {"d/a.py", "d/b.txt", "d/e/c.py"}),
        (("*.py",), {"d/b.txt"}),
        (("--without", "d/e/c.py"), {"d/e/c.py"}),
        (("d/e", "--without", "d/e/f"), {"d/a.py", "d/b.txt", "d/e/f/g.py"}),
    ],
)
def test_the_part_goes_and_the_rest_waits(wink: Wink, place: Path, asked: tuple[str, ...], left: set[str]) -> None:
    """Of `rm -r d` nothing less than all could be accepted."""
    before = tree(place)
    wink("try", "--", "rm", "-r", "d")

    part = wink("accept", *asked)

    assert part.returncode == 0, part.stderr
    assert names(place) == left
    assert all(f"--- a/{name}" in wink("diff").stdout for name in left)
    rest = wink("accept")
    assert rest.returncode == 0, rest.stderr
    assert not (place / "d").exists()
    assert wink("undo").returncode == 0
    assert names(place) == left
    assert wink("undo").returncode == 0
    assert tree(place) == before


@pytest.mark.parametrize("anew", ["a directory", "a file"])
def test_what_takes_the_place_of_the_directory_waits_too(wink: Wink, place: Path, anew: str) -> None:
    """What is in it now can be accepted, and stands beside what stays."""
    before = tree(place)
    made = "mkdir d; echo new > d/new; echo new > d/b.txt" if anew == "a directory" else "echo new > d"
    wink("try", "--", "sh", "-ec", f"rm -r d; {made}")

    assert wink("accept", "--without", "d/a.py").returncode == 0

    assert (place / "d/a.py").read_text() == "d/a.py"
    assert not (place / "d/e").exists()
    if anew == "a directory":
        assert (place / "d/b.txt").read_text() == (place / "d/new").read_text() == "new\n"
    done = wink("accept")
    assert done.returncode == 0, done.stderr
    assert not (place / "d/a.py").exists()
    assert (place / "d").is_dir() == (anew == "a directory")
    assert wink("undo", "2").returncode == 0
    assert tree(place) == before


def test_a_part_that_a_person_saved_is_in_the_way_of_itself_alone(wink: Wink, place: Path) -> None:
    """Everything else of the directory can go."""
    wink("try", "--", "rm", "-r", "d")
    (place / "d/e/c.py").write_text("mine")

    assert wink("accept", "d/e/c.py").returncode == 2
    assert wink("accept").returncode == 2
    assert wink("accept", "--without", "d/e/c.py").returncode == 0
    assert names(place) == {"d/e/c.py"}
    assert (place / "d/e/c.py").read_text() == "mine"
