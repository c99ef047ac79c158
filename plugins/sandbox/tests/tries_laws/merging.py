"""Merge texts by three ways, by lines that occur once: slow to be wrong, since there is nothing to align."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LABELS = ("workspace", "base", "try")
MARKERS = ("<" * 7, "|" * 7, "=" * 7, ">" * 7)
MARKED = (f"{MARKERS[0]} {LABELS[0]}".encode(), f"{MARKERS[3]} {LABELS[2]}".encode())


class Ambiguous(Exception):
    """What is right here depends on how lines are aligned, or on times: no law says it."""


class Merged(NamedTuple):
    """With a side's lines, or all in markers, in the places where both changed the same; and how many of these there are."""

    workspace: bytes
    tried: bytes
    markers: bytes
    conflicts: int


def is_text(content: bytes) -> bool:
    return b"\0" not in content


def is_marked(content: bytes) -> bool:
    """Whether a text has a line as an update marks conflicts with."""
    return not set(MARKED).isdisjoint(content.split(b"\n"))


def lines_of(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def merge(workspace: bytes, base: bytes, tried: bytes) -> Merged:
    """Between two lines that all three have, take what the one has that changed it; raises `Ambiguous`."""
    texts = [lines_of(text) for text in (workspace, base, tried)]
    common = [line for line in texts[1] if all(line in text for text in texts)]
    if any(text.count(line) > 1 for text in texts for line in set(texts[1])):
        raise Ambiguous("a line of the base occurs more than once")
    if any([line for line in text if line in set(common)] != common for text in texts):
        raise Ambiguous("lines have changed places")
    made: tuple[list[bytes], list[bytes], list[bytes]] = ([], [], [])
    conflicts, at = 0, [0, 0, 0]
    for line in [*common, None]:
        ends = [text.index(line) if line is not None else len(text) for text in texts]
        here, old, there = (text[start:end] for text, start, end in zip(texts, at, ends, strict=True))
        at = [end + 1 for end in ends]
        conflicts += here != old and there != old and here != there
        for lines, some in zip(made, _taken(here, old, there), strict=True):
            lines.extend([*some, line] if line is not None else some)
    return Merged(*(b"".join(lines) for lines in made), conflicts)


def _taken(here: Sequence[bytes], old: Sequence[bytes], there: Sequence[bytes]) -> tuple[Sequence[bytes], ...]:
    """What becomes of the lines between two that all have: with the workspace's, the try's, and with markers."""
    if here in (old, there):
        return there, there, there
    if there == old:
        return here, here, here
    first, second, third, last = (mark.encode() for mark in MARKERS)
    labels = [label.encode() for label in LABELS]
    marked = [
        *(b"%s %s\n" % (first, labels[0]), *here),
        *(b"%s %s\n" % (second, labels[1]), *old),
        *(b"%s\n" % third, *there),
        b"%s %s\n" % (last, labels[2]),
    ]
    return here, there, marked
