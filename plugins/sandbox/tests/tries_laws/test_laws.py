"""A slice of the random histories of a workspace and two tries; `nox -s laws` does two thousand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries_laws.merging import Ambiguous, merge
from plugins.sandbox.tests.tries_laws.programs import Differs, Program, carry_out, program, smaller
from plugins.sandbox.tests.tries_laws.world import World

OF_A_TEST = 4
TEXT = b"".join(b"%d\n" % number for number in range(1, 10))
BOTH_CHANGE: Program = (
    ("run", "one", (("edit", "a", 3, 1, 1, "tried", True), ("open", "c"))),
    ("person", (("edit", "a", 20, 1, 1, "mine", True), ("edit", "c", 1, 1, 1, "mine", False))),
    ("accept", "one", (), (), None, False),
)
BOTH_RENAME: Program = (
    ("run", "one", (("move", "a", "new"), ("edit", "c", 3, 1, 1, "tried", True))),
    ("person", (("edit", "a", 20, 1, 1, "mine", True), ("move", "c", "d/new"))),
    ("accept", "one", (), (), None, False),
)


@pytest.mark.parametrize("first", range(0, 32, OF_A_TEST))
def test_a_workspace_and_its_tries_are_as_the_model_says(first: int, tmp_path: Path) -> None:
    """After each operation, whatever came before it: every file, what the tries show, and what is told or refused."""
    for number in range(first, first + OF_A_TEST):
        operations = program(7, number)
        try:
            carry_out(operations, Counter(), tmp_path)
        except Differs as error:
            pytest.fail(f"program {number} of seed 7: {error}\n{operations}")


def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's save that got lost would be told, with nothing in the program that is not about it."""
    monkeypatch.setattr(World, "_save", lambda self, action: None if b"mine" in action.content else saved(self, action))

    program, wrong = smaller((*BOTH_CHANGE[:2], ("update", "one"), BOTH_CHANGE[2]))

    assert len(program) == 1
    assert program[0][0] == "person"
    assert len(program[0][1]) == 1
    assert "the workspace: " in wrong


saved = World._save


def test_what_both_changed_is_counted_as_merged(tmp_path: Path) -> None:
    """Or all programs could agree in that nothing ever happens."""
    seen = Counter[str]()

    carry_out(BOTH_CHANGE, seen, tmp_path)

    assert seen == {"run": 1, "person": 1, "accept, merged": 1}


def test_what_follows_renames_is_counted(tmp_path: Path) -> None:
    """One of each side."""
    seen = Counter[str]()

    carry_out(BOTH_RENAME, seen, tmp_path)

    assert seen == {"run": 1, "person": 1, "accept, merged": 1, "accept, renames followed": 2}


def test_lines_between_those_that_all_have_are_merged() -> None:
    """Apart, side by side, the same, and where nobody could say what belongs together."""
    assert (
        merge(TEXT.replace(b"2\n", b""), TEXT, TEXT.replace(b"8\n", b"8\nx\n")).tried == b"1\n3\n4\n5\n6\n7\n8\nx\n9\n"
    )
    both = merge(TEXT.replace(b"2\n", b"a\n"), TEXT, TEXT.replace(b"3\n", b"b\n"))
    assert both.conflicts == 1
    assert both.markers.startswith(b"1\n<<<<<<< workspace\na\n3\n||||||| base\n2\n3\n=======\n2\nb\n>>>>>>> try\n4\n")
    assert merge(TEXT.replace(b"2\n", b"a\n"), TEXT, TEXT.replace(b"2\n", b"a\n")).conflicts == 0
    with pytest.raises(Ambiguous):
        merge(TEXT + b"1\n", TEXT, TEXT.replace(b"2\n", b"a\n"))
