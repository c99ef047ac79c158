"""Long things on a screen: arguments, replies and diffs in brief."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from wink.cli._shorten import arguments, changed_lines, counts, fit, visible
from wink.filesystem import FileVersion
from wink.filesystem.diffs import FileDiff


@dataclass(frozen=True)
class Params:
    """Arguments as a tool declares them."""

    path: str
    text: str = ""
    tags: list[str] = field(default_factory=list)
    limit: int | None = None


def test_short_arguments_are_shown_as_they_are() -> None:
    """Words without quotes, everything else as JSON, and nothing that was left at its default."""
    assert arguments(Params("src/app.py", "two words", limit=3), 80) == 'path=src/app.py text="two words" limit=3'


def test_long_arguments_are_shortened_before_paths_are() -> None:
    """Which file it is about is what a reader wants to know first."""
    shown = arguments(Params("src/package/module.py", "def f():\n    return 1\n" * 20), 60)

    assert shown == 'path=src/package/module.py text="def f(): return 1 def f()…"'


def test_no_arguments_are_nothing() -> None:
    """Also where they could not be parsed."""
    assert arguments(None, 80) == ""


@given(st.builds(Params, st.text(), st.text(), st.lists(st.text())), st.integers(10, 120))
def test_arguments_never_take_more_than_their_room(params: Params, width: int) -> None:
    """Whatever a model sends, the line stays one line of that width."""
    shown = arguments(params, width)

    assert len(shown) <= width
    assert shown == visible(shown)
    assert "\n" not in shown


@given(st.text(), st.integers(1, 50))
def test_a_line_that_was_made_to_fit_does(text: str, width: int) -> None:
    """On one line, no longer than asked, with nothing in it that moves a cursor."""
    line = fit(text, width)

    assert len(line) <= width
    assert line.isprintable() or visible(line) == line


def _diff(old: bytes | None, new: bytes | None) -> FileDiff:
    sides = [
        content if content is None else FileVersion("file", len(content), 0o644, load=lambda c=content: c)
        for content in (old, new)
    ]
    return FileDiff("a", "a", *sides)


def test_a_changed_line_may_look_like_a_header() -> None:
    """A removed line `-- x` reads `--- x` in a diff."""
    diff = _diff(b"same\n-- x\n", b"same\n++ y\n")

    assert changed_lines(diff) == ("   2 - -- x", "   2 + ++ y")
    assert counts(diff) == "+1 -1"


def test_what_has_no_lines_is_told_as_it_is() -> None:
    """Binary files and links are summed up in a sentence."""
    assert changed_lines(_diff(b"\0", b"\0\0")) == ("a binary file of 1 bytes became a binary file of 2 bytes",)
    assert counts(_diff(b"\0", b"\0\0")) == ""


def test_a_new_file_has_only_added_lines() -> None:
    """Its hunk begins at line 0 on the old side."""
    assert changed_lines(_diff(None, b"one\ntwo")) == ("   1 + one", "   2 + two")
