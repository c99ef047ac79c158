"""Tell what happened to a tree in memory between two moments: positions of a frame, or marks of its store."""

from __future__ import annotations

from collections.abc import Iterator

from wink.filesystem._memory import Segment, Step

Move = tuple[int, str, str]
"""At which position of the frame something was moved, from where and to where."""


def steps_since(own: list[Step], since: object) -> list[Step]:
    """All steps from a moment to now; `own` are the frame's."""
    if since is None:
        return []
    if not isinstance(since, Segment):
        assert isinstance(since, int), "neither a position nor a mark"
        return own[since:]
    steps = [step for segment in _chain(since) for step in segment.first.values()]
    return steps + own


def first_steps(own: list[Step], since: object) -> list[Step]:
    """The first step of each entry since a moment."""
    if isinstance(since, Segment) and since.next is None and not own:
        return list(since.first.values())
    first: dict[tuple[object, ...], Step] = {}
    for step in steps_since(own, since):
        key = step[:2]
        if key not in first:
            first[key] = step
    return list(first.values())


def moves_between(own: list[Move], earlier: object, later: object) -> list[tuple[str, str]]:
    """The moves from one moment to another."""
    found: list[tuple[str, str]] = []
    begin = 0
    if isinstance(earlier, Segment):
        for segment in _chain(earlier):
            if segment is later:
                return found
            found += segment.moves
    elif isinstance(earlier, int):
        begin = earlier
    return found + [
        (source, target)
        for position, source, target in own
        if position >= begin and not (isinstance(later, int) and position >= later)
    ]


def is_before(one: object, other: object) -> bool:
    """Whether one moment is not after another; None is now."""
    if other is None or one is other:
        return True
    if isinstance(one, int):
        return isinstance(other, int) and one <= other
    if not isinstance(one, Segment):
        return False
    return isinstance(other, int) or any(segment is other for segment in _chain(one))


def _chain(segment: Segment | None) -> Iterator[Segment]:
    while segment is not None:
        yield segment
        segment = segment.next
