"""Which lines differ, and that finding it comes to an end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.filesystem.diffs import changed_blocks, hunks_between, lines_of

LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=14)


def replaced(old: list[bytes], new: list[bytes]) -> list[bytes]:
    """The old lines with each block put in its place."""
    made: list[bytes] = []
    at = 0
    for block in changed_blocks(old, new):
        made += old[at : block.old] + new[block.new : block.new_end]
        at = block.old_end
    return made + old[at:]


@given(LINES, LINES)
def test_the_blocks_make_the_new_lines_of_the_old_ones(old: list[bytes], new: list[bytes]) -> None:
    """With something that is the same in both between any two, and no more of them than the fewest lines need."""
    blocks = changed_blocks(old, new)

    assert replaced(old, new) == new
    assert all(one.old_end < other.old and one.new_end < other.new for one, other in pairwise(blocks))
    common = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for at in range(len(old)):
        for there in range(len(new)):
            is_same = old[at] == new[there]
            common[at + 1][there + 1] = (
                common[at][there] + 1 if is_same else max(common[at][there + 1], common[at + 1][there])
            )
    changed = sum(block.old_end - block.old + block.new_end - block.new for block in blocks)
    assert changed == len(old) + len(new) - 2 * common[-1][-1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([b"%d" % at for at in range(30_000)], [b"%d" % at for at in range(30_000, 0, -1)]),
        ([b"same"] * 20_000, [b"same", b"other"] * 10_000),
        ([b"%d" % (at * at % 97) for at in range(5_000)], [b"%d" % (at * at % 89) for at in range(5_000)]),
        ([b"%d" % at for at in range(20_000)], [b"%d" % (at if at % 50 else -at) for at in range(20_000)]),
    ],
    ids=["turned round", "alike", "nothing unique", "many small changes"],
)
def test_what_cannot_be_told_within_the_bounds_is_right_all_the_same(old: list[bytes], new: list[bytes]) -> None:
    """Somebody may have made two files so that no way of comparing them is fast."""
    assert replaced(old, new) == new


def test_lines_that_are_moved_past_each_other_are_found_by_those_that_are_unique() -> None:
    """Where too much differs to find the fewest lines, at least what stays is not shown as new."""
    old = [b"old %d" % at for at in range(3_000)] + [b"mark"] + [b"%d" % at for at in range(10)]
    new = [b"new %d" % at for at in range(3_000)] + [b"mark"] + [b"%d" % at for at in range(10)]
    new[3_005] = b"x"

    assert [(block.old, block.old_end) for block in changed_blocks(old, new)] == [(0, 3_000), (3_005, 3_006)]


def test_blocks_that_are_close_are_one_hunk() -> None:
    """Six lines between are shown once, seven are left out in part."""
    old = [b"%d" % at for at in range(40)]
    for apart, hunks in ((6, 1), (7, 2)):
        new = [b"x" if at in (10, 11 + apart) else line for at, line in enumerate(old)]
        assert len(hunks_between(old, new)) == hunks


def test_only_a_newline_ends_a_line() -> None:
    """A form feed is a file's own, and so is a carriage return."""
    assert lines_of(b"a\x0cb\r\nc\rd") == [b"a\x0cb\r\n", b"c\rd"]
    assert lines_of(b"") == []
