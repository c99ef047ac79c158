"""Find which lines differ between two texts, in time that is bounded whatever they are.

What is alike at both ends is passed over. Between, E. Myers' greedy algorithm ("An O(ND) Difference Algorithm", 1986) finds
the fewest lines, as long as these are few; else the lines that both texts have once (B. Cohen's "patience diff") divide what
is left into smaller parts. What neither can tell within the bounds is shown as replaced as a whole, which is right as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

CONTEXT: Final = 3
"""So many unchanged lines are shown around what changed."""
_STEPS: Final = 4_000_000
"""So many steps are taken to find the fewest lines, for a file: some two seconds, where nothing is alike."""
_FURTHEST: Final = 1000
_LOOKS: Final = 16_000_000
"""So many times a line is looked at to divide what is left."""


class Block(NamedTuple):
    """The lines from `old` up to `old_end` of one text became those from `new` up to `new_end` of the other, counted from 0."""

    old: int
    old_end: int
    new: int
    new_end: int


class Hunk(NamedTuple):
    """What is shown together: blocks, and the lines around them. The other numbers are as in `Block`."""

    old: int
    old_end: int
    new: int
    new_end: int
    blocks: tuple[Block, ...]


def lines_of(content: bytes) -> list[bytes]:
    r"""The lines of a text, each with its newline; nothing else ends a line.

    >>> lines_of(b"a\r\nb\x0cc")
    [b'a\r\n', b'b\x0cc']
    """
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def changed_blocks(old: Sequence[bytes], new: Sequence[bytes]) -> list[Block]:
    """How one becomes the other: what of it is replaced, in order, with something unchanged between any two.

    >>> changed_blocks([b"a", b"b", b"c"], [b"a", b"x", b"c", b"d"])
    [Block(old=1, old_end=2, new=1, new_end=2), Block(old=3, old_end=3, new=3, new_end=4)]
    """
    numbers: dict[bytes, int] = {}
    one = [numbers.setdefault(line, len(numbers)) for line in old]
    other = [numbers.setdefault(line, len(numbers)) for line in new]
    return _joined(_Comparison(one, other).blocks())


def hunks_between(old: Sequence[bytes], new: Sequence[bytes], context: int = CONTEXT) -> list[Hunk]:
    """The blocks with `context` unchanged lines around; those that are closer than twice that are one hunk."""
    found: list[list[Block]] = []
    for block in changed_blocks(old, new):
        if found and block.old - found[-1][-1].old_end <= 2 * context:
            found[-1].append(block)
        else:
            found.append([block])
    return [_hunk(blocks, len(old), context) for blocks in found]


def _hunk(blocks: list[Block], length: int, context: int) -> Hunk:
    first, last = blocks[0], blocks[-1]
    before, after = min(context, first.old), min(context, length - last.old_end)
    return Hunk(first.old - before, last.old_end + after, first.new - before, last.new_end + after, tuple(blocks))


def _joined(blocks: Iterator[Block]) -> list[Block]:
    found: list[Block] = []
    for block in sorted(blocks):
        if found and (found[-1].old_end, found[-1].new_end) == (block.old, block.new):
            block = Block(found[-1].old, block.old_end, found.pop().new, block.new_end)
        found.append(block)
    return found


class _Comparison:
    """Two lists of numbers, and what may still be spent on them."""

    def __init__(self, old: list[int], new: list[int]) -> None:
        self._old, self._new = old, new
        self._steps, self._looks = _STEPS, _LOOKS

    def blocks(self) -> Iterator[Block]:
        waiting = [Block(0, len(self._old), 0, len(self._new))]
        while waiting:
            part = self._without_ends(waiting.pop())
            if part.old == part.old_end or part.new == part.new_end:
                if part.old < part.old_end or part.new < part.new_end:
                    yield part
                continue
            few = self._fewest(part)
            if few is not None:
                yield from few
                continue
            parts = self._divided(part)
            if parts is None:
                yield part
            else:
                waiting += parts

    def _without_ends(self, part: Block) -> Block:
        old, old_end, new, new_end = part
        one, other = self._old, self._new
        while old < old_end and new < new_end and one[old] == other[new]:
            old, new = old + 1, new + 1
        while old < old_end and new < new_end and one[old_end - 1] == other[new_end - 1]:
            old_end, new_end = old_end - 1, new_end - 1
        return Block(old, old_end, new, new_end)

    def _fewest(self, part: Block) -> list[Block] | None:
        """The fewest blocks; None where finding them would take too long."""
        one, other = self._old[part.old : part.old_end], self._new[part.new : part.new_end]
        size, width = len(one), len(other)
        furthest, allowed = min(_FURTHEST, size + width), self._steps // 2
        reached = [0] * (2 * furthest + 3)  # by diagonal: how far in `one`
        middle = furthest + 1
        trace: list[list[int]] = []
        for distance in range(furthest + 1):
            trace.append(reached[middle - distance - 1 : middle + distance + 2])
            for diagonal in range(-distance, distance + 1, 2):
                at = middle + diagonal
                if diagonal == -distance or (diagonal != distance and reached[at - 1] < reached[at + 1]):
                    x = reached[at + 1]
                else:
                    x = reached[at - 1] + 1
                y = x - diagonal
                allowed -= 1 - x
                while x < size and y < width and one[x] == other[y]:
                    x, y = x + 1, y + 1
                reached[at] = x
                allowed -= x
                if x >= size and y >= width:
                    self._steps += allowed - self._steps // 2
                    return _walked_back(trace, part)
            if allowed < 0:
                break
        self._steps += allowed - self._steps // 2
        return None

    def _divided(self, part: Block) -> list[Block] | None:
        """The parts between the lines that both sides have exactly once, in the longest order that both have them in."""
        self._looks -= part.old_end - part.old + part.new_end - part.new
        if self._looks < 0:
            return None
        in_old = Counter(self._old[part.old : part.old_end])
        in_new = Counter(self._new[part.new : part.new_end])
        at_new = {line: at for at, line in enumerate(self._new[part.new : part.new_end], part.new) if in_new[line] == 1}
        pairs = [
            (at, at_new[line])
            for at, line in enumerate(self._old[part.old : part.old_end], part.old)
            if in_old[line] == 1 and line in at_new
        ]
        if not pairs:
            return None
        parts: list[Block] = []
        old, new = part.old, part.new
        for at, there in _longest_rising(pairs):
            parts.append(Block(old, at, new, there))
            old, new = at + 1, there + 1
        return [*parts, Block(old, part.old_end, new, part.new_end)]


def _walked_back(trace: list[list[int]], part: Block) -> list[Block]:
    """The blocks on the shortest way, found from its end."""
    x, y = part.old_end - part.old, part.new_end - part.new
    blocks: list[Block] = []
    for distance in range(len(trace) - 1, 0, -1):
        reached, diagonal = trace[distance], x - y
        at = diagonal + distance + 1
        is_added = diagonal == -distance or (diagonal != distance and reached[at - 1] < reached[at + 1])
        before = reached[at + 1] if is_added else reached[at - 1]
        was = before - (diagonal + 1 if is_added else diagonal - 1)
        end, there = (before, was + 1) if is_added else (before + 1, was)
        blocks.append(Block(part.old + before, part.old + end, part.new + was, part.new + there))
        x, y = before, was
    return blocks


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs in the order of their first numbers, as many as rise in the second."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, there) in enumerate(pairs):
        at = bisect_left(tails, there)
        before.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(there)
            ends.append(number)
        else:
            tails[at], ends[at] = there, number
    found: list[tuple[int, int]] = []
    number = ends[-1]
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]
