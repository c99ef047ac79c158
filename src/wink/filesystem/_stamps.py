"""What a session knows of a file: which content it saw, and how much of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from wink.dataclass import dataclass, replace

Ranges = tuple[tuple[int, int], ...]
"""Lines as half-open pairs, counted from 0, ascending and apart."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """One file's content at one time, and the lines of it that are known.

    `digest` is over the whole content, whatever part was read; `size` is in bytes; `ranges` are half-open and count
    lines from 0, `byte_ranges` bytes, where those were read. `complete` says that all of it is known. `total_lines` is None where nobody counted. `origin` tells
    whether the content was read or is what the session itself wrote.
    """

    path: str
    digest: str
    size: int
    ranges: Ranges
    complete: bool
    total_lines: int | None = None
    origin: Literal["read", "write"] = "read"
    byte_ranges: Ranges = ()

    def knows(self, start: int, end: int) -> bool:
        """Whether every line from `start` up to, not including, `end` is known.

        >>> Stamp("a", "d", 9, ((0, 3), (5, 9)), complete=False).knows(5, 7)
        True
        """
        return self.complete or start >= end or any(low <= start and end <= high for low, high in self.ranges)

    def with_earlier(self, earlier: Stamp | None) -> Stamp:
        """This stamp together with what was known before, where that is of the same content.

        >>> first = Stamp("a", "d", 9, ((0, 3),), complete=False, total_lines=5)
        >>> Stamp("a", "d", 9, ((3, 5),), complete=False, total_lines=5).with_earlier(first).complete
        True
        """
        return added(self, earlier)


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same lines with overlapping and touching ranges made one.

    >>> joined([(4, 6), (0, 2), (2, 3), (9, 9)])
    ((0, 3), (4, 6))
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(pair for pair in ranges if pair[0] < pair[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def whole(path: str, digest: str, size: int, total_lines: int, origin: Literal["read", "write"]) -> Stamp:
    """A stamp of content that is known from end to end."""
    return Stamp(path, digest, size, ((0, total_lines),) if total_lines else (), True, total_lines, origin)


def added(stamp: Stamp, earlier: Stamp | None) -> Stamp:
    """`stamp` with what was already known of the same content."""
    if earlier is None or earlier.digest != stamp.digest or stamp.complete:
        return stamp
    if earlier.complete:
        return replace(earlier, path=stamp.path)
    ranges, byte_ranges = joined(stamp.ranges + earlier.ranges), joined(stamp.byte_ranges + earlier.byte_ranges)
    complete = byte_ranges == ((0, stamp.size),) or (
        stamp.total_lines is not None and ranges == ((0, stamp.total_lines),)
    )
    return replace(stamp, ranges=ranges, byte_ranges=byte_ranges, complete=complete)


def shifted(ranges: Ranges, start: int, end: int, new_end: int) -> Ranges:
    """Known lines after lines `start` to `end` were replaced by lines `start` to `new_end`.

    The new lines are known when all that they replaced was: whoever wrote them then knows each line from end to end.

    >>> shifted(((0, 4), (8, 9)), 1, 2, 4)
    ((0, 6), (10, 11))
    """
    moved: list[tuple[int, int]] = []
    by = new_end - end
    for low, high in ranges:
        moved.append((low, min(high, start)))
        moved.append((max(low, end) + by, high + by))
        if low <= start and end <= high:
            moved.append((start, new_end))
    return joined(moved)
