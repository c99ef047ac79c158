"""The rows of a diff tell exactly what became of a file."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wink.filesystem import FileChange, FileVersion
from wink_ui._diffs import file_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "def f():", '"""', "x = '\\u202e'"]), max_size=14)


def change(old: str | None, new: str | None, path: str = "a.py") -> FileChange:
    """A change between two texts; None is no file."""
    return FileChange(path, _version(old), _version(new))


def _version(text: str | None) -> FileVersion | None:
    if text is None:
        return None
    data = text.encode()
    return FileVersion("file", len(data), 0o644, load=lambda: data)


def plain(html: str) -> str:
    """The line that a row stands for."""
    return unescape(re.sub(r"<[^>]+>", "", html))


@settings(deadline=None)  # the first one loads a lexer
@given(LINES, LINES, st.booleans(), st.booleans(), st.sampled_from(["a.py", "a.txt", "a.md", "a.json"]))
def test_rows_with_the_lines_between_give_both_sides(
    old: list[str], new: list[str], old_ends: bool, new_ends: bool, path: str
) -> None:
    """Numbers and texts of both sides are right, and what is left out is the same on both."""
    before = "\n".join(old) + ("\n" if old and old_ends else "")
    after = "\n".join(new) + ("\n" if new and new_ends else "")
    diff = file_diff(change(before, after, path))
    lines = {True: before.split("\n"), False: after.split("\n")}

    shown: dict[bool, set[int]] = {True: set(), False: set()}
    for row in diff.rows:
        for is_old, number in ((True, row.old), (False, row.new)):
            if number is not None:
                assert lines[is_old][number - 1] == plain(row.html)
                shown[is_old].add(number)
    rest = {side: [line for at, line in enumerate(lines[side], 1) if at not in shown[side]] for side in lines}
    if before != after:
        assert [line for line in rest[True] if line] == [line for line in rest[False] if line]
    assert (diff.added, diff.removed) == (
        sum(row.kind == "add" for row in diff.rows), sum(row.kind == "del" for row in diff.rows)
    )  # fmt: skip


def test_a_newline_at_the_end_that_comes_or_goes_is_told() -> None:
    """It is a change like any other."""
    rows = file_diff(change("a", "a\n")).rows

    assert [(row.kind, plain(row.html)) for row in rows] == [
        ("del", "a"), ("note", "no newline at the end before"), ("add", "a"),
    ]  # fmt: skip


def test_code_is_coloured_across_lines() -> None:
    """A text of several lines is one thing in the language, and several rows here."""
    rows = file_diff(change(None, 'x = """one\ntwo"""\n')).rows

    assert [str(row.html).count("t-s") for row in rows] == [2, 2]


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (_version(None), FileVersion("link", 3, 0o777, "b"), "created a link to b"),
        (FileVersion("file", 2, 0o644, load=lambda: b"\0x"), None, "deleted a binary file of 2 bytes"),
        (FileVersion("file", 1 << 20, 0o644), FileVersion("file", 5, 0o644), "a file of 1048576 bytes became a file of 5 bytes"),
        (FileVersion("directory", 0, 0o755), FileVersion("directory", 0, 0o700), "mode 755 became 700"),
    ],
)  # fmt: skip
def test_what_has_no_lines_is_said_in_a_sentence(
    before: FileVersion | None, after: FileVersion | None, note: str
) -> None:
    """Links, binary and large files, modes."""
    diff = file_diff(FileChange("a", before, after))

    assert not diff.rows
    assert diff.note == note


def test_a_mode_is_told_beside_the_lines() -> None:
    """Both may change at once."""
    before, after = _version("a\n"), FileVersion("file", 2, 0o755, load=lambda: b"b\n")

    diff = file_diff(FileChange("a.sh", before, after))

    assert diff.note == "mode 644 became 755"
    assert (diff.added, diff.removed) == (1, 1)


def test_a_long_diff_is_cut_and_says_so() -> None:
    """A person asks for the rest."""
    diff = file_diff(change(None, "x\n" * 5000), limit=100)

    assert (len(diff.rows), diff.more, diff.added) == (100, 4900, 5000)


def test_lines_without_end_are_cut() -> None:
    """One line can be a whole file."""
    (row,) = file_diff(change(None, "x" * 60_000, "a.txt")).rows[:1]

    assert len(row.html) < 3000
    assert "58000 more characters" in row.html
