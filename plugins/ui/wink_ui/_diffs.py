"""Lay out what a change did to a file as rows with line numbers, coloured by its language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Literal

from markupsafe import Markup

from wink.dataclass import dataclass, field
from wink.filesystem import FileChange
from wink.filesystem.diffs import Block
from wink.filesystem.diffs import FileDiff as FileDifference
from wink_ui._highlight import LARGEST, coloured
from wink_ui._text import shown

ROWS: Final = 300
"""So many rows of one file are shown at first."""
LONGEST: Final = 20_000
"""So many rows of one file are shown at most."""
_WIDEST: Final = 2000


@dataclass(frozen=True, slots=True)
class Row:
    """One row: numbers of the line before and after, and the line as HTML; a `gap` stands for lines that are left out."""

    kind: Literal["same", "add", "del", "gap", "note"]
    old: int | None = None
    new: int | None = None
    html: Markup = field(default_factory=Markup)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What became of one path. `note` is a sentence for what has no lines; `more` rows were left out."""

    path: str
    kind: str
    moved_from: str | None
    note: str
    rows: tuple[Row, ...]
    added: int
    removed: int
    more: int


def file_diff(change: FileChange, limit: int = ROWS) -> FileDiff:
    """The rows of one change, at most `limit` of them."""
    told = FileDifference(change.path, change.path, change.before, change.after)
    is_link = any(side is not None and side.kind == "link" for side in (change.before, change.after))
    rows = () if is_link else tuple(islice(_rows(change.path, told, limit), limit))
    lines = sum(hunk.old_end - hunk.old for hunk in told.hunks) + told.added
    gaps = sum(
        hunk.old > before for hunk, before in zip(told.hunks, (0, *(one.old_end for one in told.hunks)), strict=False)
    )
    more = max(lines + gaps - limit, 0) if len(rows) == limit else 0
    added, removed = told.added, told.removed
    return FileDiff(change.path, change.kind, change.moved_from, told.summary, rows, added, removed, more)


def _rows(path: str, told: FileDifference, limit: int) -> Iterator[Row]:
    before, after = told.lines
    whole: list[list[Markup] | None] = [None, None]
    if told.hunks and max(len(content or b"") for content in told.contents) <= LARGEST:
        whole = [coloured(path, _text(lines)) for lines in told.lines]
    seen = 0
    for hunk in told.hunks:
        if hunk.new > seen:
            yield Row("gap", html=Markup("{} lines").format(hunk.new - seen))
        seen = hunk.new_end
        left = _side(path, before, whole[0], hunk.old, min(hunk.old_end, hunk.old + limit))
        right = _side(path, after, whole[1], hunk.new, min(hunk.new_end, hunk.new + limit))
        old, new = hunk.old, hunk.new
        for block in (*hunk.blocks, Block(hunk.old_end, hunk.old_end, hunk.new_end, hunk.new_end)):
            for at in range(block.old - old):
                yield Row("same", old + at + 1, new + at + 1, right[new + at - hunk.new])
            yield from (Row("del", at + 1, None, left[at - hunk.old]) for at in range(block.old, block.old_end))
            if block.old < block.old_end == len(before) and not before[-1].endswith(b"\n"):
                yield Row("note", html=Markup("no newline at the end before"))
            yield from (Row("add", None, at + 1, right[at - hunk.new]) for at in range(block.new, block.new_end))
            if block.new < block.new_end == len(after) and not after[-1].endswith(b"\n"):
                yield Row("note", html=Markup("no newline at the end"))
            old, new = block.old_end, block.new_end


def _side(path: str, lines: Sequence[bytes], whole: list[Markup] | None, first: int, last: int) -> list[Markup]:
    if whole is not None:
        return whole[first:last]
    part = [_text([line]).removesuffix("\n") for line in lines[first:last]]
    return _as_html(path, part)


def lines_as_html(path: str, text: str) -> list[Markup]:
    """The lines of a text, coloured by the language of the file where it is not too long."""
    return _as_html(path, text.split("\n"))


def _as_html(path: str, lines: Sequence[str]) -> list[Markup]:
    return coloured(path, "\n".join(lines)) or [
        shown(line)
        if len(line) <= _WIDEST
        else shown(line[:_WIDEST]) + Markup(" … {} more characters").format(len(line) - _WIDEST)
        for line in lines
    ]


def _text(lines: Sequence[bytes]) -> str:
    return b"".join(lines).decode("utf-8", "backslashreplace")
