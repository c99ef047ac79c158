"""No pattern takes longer than a moment, whoever wrote it: the model, or the author of an ignore file."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import EditFailed, PatternError
from wink.filesystem import InMemoryFilesystem
from wink.filesystem.search._pattern import Pattern

LIMIT = 30
"""Seconds: what this suite guards against takes minutes, so that a busy machine fails no test."""


def ends(use: Callable[[], object]) -> object:
    """What a use gives or raises; fails when it does not end."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(use())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert outcome, "it does not end"
    return outcome[0]


EVIL = (
    "(a+)+b", "(a|a)*b", "(a|aa)+$", "(.*a){30}b", "((a*)*)*b", "(a?){500}a{500}b", "(?i)(a{0,30}){30}b",
    r"(a+)+(?!a)b", r"(a*)*\1b", r"(?=(a+)+$)(a|aa)+c",
    "(a{0,500}a{0,500})b", "a.{0,400}a.{0,400}a.{0,150}b", "(x+x+)+y|(a?){450}a{450}c", "([a-z]{0,9}){99}1",
)  # fmt: skip


@pytest.mark.parametrize("pattern", EVIL)
@pytest.mark.parametrize("text", ["lines", "one line"])
def test_catastrophic_expressions_end(pattern: str, text: str) -> None:
    """With what they find or with an error that says what to do; in RE2 some would take half an hour for this file."""
    files = InMemoryFilesystem()
    files.write("a.txt", ("a" * 1000 + ("\n" if text == "lines" else "")) * 8000)

    outcome = ends(lambda: files.grep(pattern))

    if isinstance(outcome, PatternError):
        assert any(words in str(outcome) for words in ("takes too long", "too large", "too much memory"))
    else:
        assert isinstance(outcome, tuple), outcome


@pytest.mark.parametrize(
    "pattern",
    ["a" * 1001, "(" * 500 + ")" * 499, "(?=a", r"(a)\2", "a**", r"\pL{900}\pL{900}", "[", "*", "(?P<x", "a\nb", ""],
)
def test_what_cannot_be_searched_is_said(pattern: str) -> None:
    """A model can fix its pattern only when it is told what is wrong."""
    with pytest.raises(PatternError, match=r"pattern"):
        InMemoryFilesystem().grep(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["{a,b}" * 6 + "{" * 960, "{" * 990, "{a," * 300, "{a,b}" * 200, "/".join(["**", "a"] * 240), "*a" * 490,
     "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}/**" + "/*" * 470, "[" * 999, "[a-" * 300, "?" * 1000, "**" * 500],
)  # fmt: skip
def test_catastrophic_globs_end(pattern: str) -> None:
    """Braces multiply, stars backtrack."""
    files = InMemoryFilesystem()
    for number in range(2000):
        files.write("a/" * (number % 20) + "a" * 200 + str(number), "x")

    outcome = ends(lambda: files.glob(pattern))

    assert isinstance(outcome, PatternError | tuple), outcome
    assert isinstance(ends(lambda: files.grep("x", glob=pattern)), PatternError | tuple)


@given(st.text("ab*?[]{},!-^/.\\#&|~", min_size=1, max_size=40))
def test_no_glob_breaks_anything(pattern: str) -> None:
    """Either it is a pattern, or the error says that it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compiled = Pattern(pattern)
        except PatternError:
            return
        compiled.fits("ab/a-b")


@pytest.mark.parametrize(
    "ignore",
    ["*a" * 12 + "b\n", ("*a" * 15 + "b\n") * 3000, "a\n" * 300_000, "[" * 100_000, "**/" * 10_000, "\\" * 99_999,
     "!" * 50_000, "[z-a]\n" * 5000, "\udcff".encode("utf-8", "surrogateescape").decode("latin-1") * 1000],
    ids=range(9),
)  # fmt: skip
def test_catastrophic_ignore_files_end(world: Any, ignore: str) -> None:
    """A workspace brings its own ignore files, and every search of the file tools honours them."""
    files = world.files
    files.write("a" * 200, "x")
    files.write("dir/.gitignore", ignore)
    files.write("dir/" + "a" * 200, "x")

    found = ends(lambda: [match.path for match in files.glob("**", respect_ignore=True)])

    assert isinstance(found, list), found
    assert "a" * 200 in found


@pytest.mark.parametrize(
    ("text", "old"),
    [("x\n" * 1_000_000, "x\n" * 1000 + "y"), ("x\n" * 300_000, "x \n" * 100_000 + "y"),
     ("\n" * 1_000_000 + "\r\n", "\n" * 100_000 + "y"), ("ab" * 2_000_000, "ab" * 1_000_000 + "b")],
    ids=["absent", "respaced", "mixed newlines", "one line"],
)  # fmt: skip
def test_edits_that_find_nothing_end(text: str, old: str) -> None:
    """Looking for the nearest match must not compare everything with everything."""
    files = InMemoryFilesystem()
    files.write("a.txt", text)

    assert isinstance(ends(lambda: files.edit("a.txt", old, "new")), EditFailed)
