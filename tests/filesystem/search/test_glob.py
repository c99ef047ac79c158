"""Finding paths by patterns."""

import re
from fnmatch import translate

from hypothesis import given
from hypothesis import strategies as st

from wink.filesystem import InMemoryFilesystem


def test_a_pattern_of_many_stars_ends(memory: InMemoryFilesystem) -> None:
    """A backtracking matcher would be busy for years."""
    memory.write("/".join(["a" * 100] * 20), "")

    assert memory.glob("**/" * 30 + "b") == ()
    assert memory.glob("/".join(["*a*a*a*a*a*a*a*a*b"] * 20)) == ()


NAMES = st.text(alphabet="ab.", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
PIECES = st.lists(st.sampled_from(["**", "*", "a", "*.b", "?", "a*", "[ab]"]), min_size=1, max_size=4)


@given(paths=st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=6), pieces=PIECES)
def test_glob_finds_exactly_what_the_pattern_says(paths: list[list[str]], pieces: list[str]) -> None:
    """Cutting directories off must never lose a match; compared with one regular expression over whole paths."""
    memory = InMemoryFilesystem(portable_names=False)
    for path in paths:
        try:
            memory.write("/".join(path), "")
        except (NotADirectoryError, IsADirectoryError):
            continue
    everything = [match.path for match in memory.glob("**")]

    found = [match.path for match in memory.glob("/".join(pieces))]

    last = len(pieces) - 1
    parts = [
        ("(?:[^/]+/)*[^/]+" if at == last else "(?:[^/]+/)*") if piece == "**"
        else translate(piece)[4:-3].replace(".*", "[^/]*") + ("" if at == last else "/")
        for at, piece in enumerate(pieces)
    ]  # fmt: skip
    expression = re.compile("".join(parts))
    assert found == [path for path in everything if expression.fullmatch(path)]
