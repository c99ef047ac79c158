"""Searching files for what a model wrote."""

import pytest

from wink.errors import PatternError
from wink.filesystem import InMemoryFilesystem


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("^b", [2]),
        ("b$", [2, 3]),
        ("^$", [4]),
        ("x*", [1, 2, 3, 4, 5]),
        (r"a\s+b", []),
        ("[^q]+", [1, 2, 3, 5]),
        (r"\bb\b", [2]),
        ("(?i)B", [2, 3]),
        ("a|c", [1, 5]),
        ("é.", []),
        (".é", [5]),
        ("a.c", []),
        ("b", [2, 3]),
    ],
)
def test_a_pattern_is_searched_in_each_line(memory: InMemoryFilesystem, pattern: str, lines: list[int]) -> None:
    """`^` and `$` mean the line, with either newline, and nothing reaches over its end."""
    memory.write("a.txt", "a\nb\r\nxb\n\ncé")

    assert [match.line_number for match in memory.grep(pattern)] == lines


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?<!a*)b", "look-behind requires fixed-width"),
        (r"(a)\2", "invalid group reference"),
        (r"\pL{900}\pL{900}", "at most 1000"),
        ("a**", "multiple repeat"),
        ("(", "is not a regular expression"),
        ("a)(b", "is not a regular expression"),
        ("[", "is not a regular expression"),
        ("", "is empty"),
        ("a" * 1001, "longer than"),
        ("a\nb", "newline"),
        ("\ud800", "Unicode"),
    ],
)
def test_what_is_not_supported_is_named(memory: InMemoryFilesystem, pattern: str, reason: str) -> None:
    """The model rewrites the pattern when it knows what in it is the matter."""
    with pytest.raises(PatternError, match=reason):
        memory.grep(pattern)


def test_a_catastrophic_pattern_is_only_a_pattern(memory: InMemoryFilesystem) -> None:
    """A backtracking engine needs 2**5000 steps for this line."""
    memory.write("a.txt", "a" * 5000 + "!")

    assert memory.grep("(a+)+$") == ()


def test_matches_are_limited(memory: InMemoryFilesystem) -> None:
    """And the listing says that there are more."""
    memory.write("a.txt", "x\n" * 10)

    assert len(memory.grep("x", max_matches=3)) == 3
    assert memory.grep("x", max_matches=3).truncated
    assert not memory.grep("x", max_matches=10).truncated


def test_long_lines_are_cut_around_the_match(memory: InMemoryFilesystem) -> None:
    """A minified file is one line of a megabyte."""
    memory.write("a.js", "é" * 100_000 + "needle" + "y" * 100_000)
    memory.write("b.js", "x" * 100_000)

    first, second = memory.grep("needle")[0], memory.grep("x+")[0]

    assert first.line_content[first.match_start : first.match_end] == "needle"
    assert first.clipped
    assert len(first.line_content) == len(second.line_content) == 500


def test_large_files_are_searched_in_pieces(memory: InMemoryFilesystem) -> None:
    """Line numbers must be right beyond the first piece."""
    lines = [f"{number:08d}\n" for number in range(1_000_000)]
    memory.write("big.log", "".join(lines))

    for number in (1, 466_033, 466_034, 999_999):
        match = memory.grep(f"0*{number}$", max_matches=1, glob="big.log")[0]
        assert (match.line_number, match.line_content) == (number + 1, f"{number:08d}")


def test_case_can_be_ignored(memory: InMemoryFilesystem) -> None:
    """Also for patterns without special characters."""
    memory.write("a.txt", "Word\n")

    assert memory.grep("word") == ()
    assert len(memory.grep("word", ignore_case=True)) == 1
