"""Hunks of a text, parts of them, and what the text becomes with some of them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.filesystem import FileChange, FileVersion
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Hunk, Picked, Try, Unit, split
from wink_sandbox.tries._hunks import content_of, hunks_of

_LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "\n", "-- x\n", "++ y\n", "@@ -1 +1 @@\n", "\\ No\n", "é\r\n"]), max_size=30
)
_TEXTS = st.builds(lambda lines, end: "".join(lines) + end, _LINES, st.sampled_from(["", "end"]))


def _unit(before: str, after: str) -> Unit:
    versions = [
        FileVersion("file", len(text.encode()), 0o644, load=lambda text=text: text.encode()) for text in (before, after)
    ]
    change = FileChange("a.txt", versions[0], versions[1])
    return Unit("a.txt", frozenset(["a.txt"]), (change,), hunks_of(change))


def _some(unit: Unit, hunks: tuple[Hunk, ...]) -> str:
    made = content_of(Picked(unit, hunks))
    content = unit.changes[0].after.content() if made is None and unit.changes[0].after else made and made.after
    assert content is not None
    return content.decode()


@given(_TEXTS, _TEXTS)
def test_all_hunks_make_the_new_text_and_none_the_old_one(before: str, after: str) -> None:
    """Also split as far as they can be, and then one after the other is the same as all at once."""
    unit = _unit(before, after)
    if not unit.hunks:
        return
    parts = tuple(part for hunk in unit.hunks for part in split(hunk))

    assert _some(unit, unit.hunks) == _some(unit, parts) == after
    assert _some(unit, ()) == before

    first = _some(unit, parts[:1])
    rest = _unit(first, after)
    assert _some(rest, rest.hunks) == after
    assert (first == before) == (not parts[0].edits)


@given(_TEXTS, _TEXTS)
def test_a_part_of_a_hunk_says_what_it_does(before: str, after: str) -> None:
    """Its numbers are those of the lines it shows, so that it can be read by itself."""
    for hunk in _unit(before, after).hunks:
        for part in split(hunk):
            shown = [line[1:] for line in part.text.split("\n")[1:-1] if line[:1] in " -"]
            start = int(part.text.split("-")[1].split(",")[0].split(" ")[0])
            old = before.split("\n")
            assert shown == old[start - 1 : start - 1 + len(shown)] or not shown


def test_any_choice_of_hunks_is_a_text_between_the_two() -> None:
    """Far enough apart to be hunks of their own."""
    lines = [f"{number}\n" for number in range(60)]
    changed = [*lines[:5], "new\n", *lines[5:30], "other\n", *lines[32:55], *lines[56:]]
    unit = _unit("".join(lines), "".join(changed))
    assert len(unit.hunks) == 3

    for number in range(4):
        for chosen in combinations(unit.hunks, number):
            text = _some(unit, chosen)
            assert ("new\n" in text.splitlines(True)) == (unit.hunks[0] in chosen)
            assert ("other\n" in text.splitlines(True)) == (unit.hunks[1] in chosen)
            assert ("55\n" not in text.splitlines(True)) == (unit.hunks[2] in chosen)


@pytest.mark.parametrize("content", [b"x\0y", b"x" * 70_000])
def test_what_has_no_lines_to_show_has_no_hunks(content: bytes) -> None:
    """It is asked about as a whole."""
    one, other = (FileVersion("file", len(data), 0o644, load=lambda d=data: d) for data in (b"text\n", content))
    if len(content) > 65536:
        other = FileVersion("file", len(content), 0o644, load=lambda: None)
    assert hunks_of(FileChange("a", one, other)) == ()
    assert hunks_of(FileChange("a", None, one)) == ()
    assert hunks_of(FileChange("a", one, None)) == ()


def test_what_is_asked_together(tmp_path: Path) -> None:
    """A deleted directory with all in it, also one with another in its place; a new one with what is chosen in it."""
    asked: list[tuple[str, int, list[str]]] = []

    def look(units: tuple[Unit, ...]) -> list[Picked]:
        asked.extend((unit.path, len(unit.hunks), [change.path for change in unit.changes]) for unit in units)
        return [Picked(unit) for unit in units if unit.path in ("new/deep/x", "swapped", "empty", "run.sh")]

    root = tmp_path / "project"
    for name in ("a.txt", "gone/x", "swapped/before", "run.sh", "kind"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("one\n")
    (root / "mode").mkdir()
    words = """set -e; echo two >> a.txt; chmod 700 a.txt; rm -r gone swapped; mkdir swapped empty; echo s > swapped/now
        mkdir -p new/deep; echo x > new/deep/x; echo y > new/y; chmod 700 run.sh; rm kind; ln -s a.txt kind; chmod 711 mode
        echo m > mode/m"""
    with Workspace.open(root) as workspace:
        one = Try(workspace, "t")
        with one.use() as overlay:
            assert Sandbox().run(Command(("/bin/sh", "-c", words)), overlay).status == 0
        done = one.accept(pick=look)
        left = [change.path for change in one.differences().changes()]

    assert asked == [
        ("a.txt", 2, ["a.txt"]),
        ("empty", 0, ["empty"]),
        ("gone", 0, ["gone", "gone/x"]),
        ("kind", 0, ["kind"]),
        ("mode", 0, ["mode"]),
        ("mode/m", 0, ["mode/m"]),
        ("new/deep/x", 0, ["new/deep/x"]),
        ("new/y", 0, ["new/y"]),
        ("run.sh", 0, ["run.sh"]),
        ("swapped", 0, ["swapped/before", "swapped/now"]),
    ]
    assert {change.path for change in done.changes} >= {
        "empty",
        "new",
        "new/deep",
        "new/deep/x",
        "run.sh",
        "swapped/now",
    }
    assert left == ["a.txt", "gone", "gone/x", "kind", "mode", "mode/m", "new/y"]
