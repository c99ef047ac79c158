"""Lay out what a change did to a file as rows with line numbers, coloured by its language."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, Literal

from markupsafe import Markup

from wink.dataclass import dataclass, field
from wink.filesystem import FileChange, FileVersion
from wink_ui._highlight import LARGEST, coloured
from wink_ui._text import shown

ROWS: Final = 300
"""So many rows of one file are shown at first."""
LONGEST: Final = 20_000
"""So many rows of one file are shown at most."""
_ALIKE: Final = 4_000_000
"""How many pairs of lines are compared at most; beyond, a block is shown as replaced as a whole."""
_WIDEST: Final = 2000

Opcode = tuple[str, int, int, int, int]


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
    old, new = _text(change.before), _text(change.after)
    rows: list[Row] = []
    note = _mode(change)
    if old is None or new is None or (old == new and not note):
        # What has no lines to show: binary, large, gone, a link, a directory.
        note = change.diff().strip()
        note = note.partition(": ")[2] if note.startswith(f"{change.path}: ") else note
    elif old != new:
        rows = _rows(change.path, old, new)
    return FileDiff(
        change.path,
        change.kind,
        change.moved_from,
        note,
        tuple(rows[:limit]),
        sum(row.kind == "add" for row in rows),
        sum(row.kind == "del" for row in rows),
        max(len(rows) - limit, 0),
    )


def _text(version: FileVersion | None) -> str | None:
    if version is None:
        return ""
    content = version.content() if version.kind == "file" else None
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _mode(change: FileChange) -> str:
    before, after = change.before, change.after
    if before is None or after is None or before.kind != after.kind or before.mode == after.mode:
        return ""
    return f"mode {before.mode:o} became {after.mode:o}"


def _rows(path: str, old: str, new: str) -> list[Row]:
    before, after = old.split("\n"), new.split("\n")
    ends = not old or before[-1] == "", not new or after[-1] == ""
    before, after = (lines[:-1] if lines[-1] == "" else lines for lines in (before, after))
    whole = (coloured(path, old), coloured(path, new)) if max(len(old), len(new)) <= LARGEST else (None, None)
    matcher = SequenceMatcher(None, before, after)
    matcher.opcodes = _opcodes(before, after, at_ends=ends)  # type: ignore[assignment]
    rows: list[Row] = []
    seen = 0
    for group in matcher.get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        if first[3] > seen:
            rows.append(Row("gap", html=Markup("{} lines").format(first[3] - seen)))
        seen = last[4]
        left = _side(path, before, whole[0], first[1], last[2])
        right = _side(path, after, whole[1], first[3], last[4])
        for tag, one, two, three, four in group:
            if tag == "equal":
                for at in range(two - one):
                    rows.append(Row("same", one + at + 1, three + at + 1, right[three + at - first[3]]))
                continue
            rows += [Row("del", at + 1, None, left[at - first[1]]) for at in range(one, two)]
            if two == len(before) and one < two and not ends[0]:
                rows.append(Row("note", html=Markup("no newline at the end before")))
            rows += [Row("add", None, at + 1, right[at - first[3]]) for at in range(three, four)]
            if four == len(after) and three < four and not ends[1]:
                rows.append(Row("note", html=Markup("no newline at the end")))
    return rows


def _side(path: str, lines: Sequence[str], whole: list[Markup] | None, first: int, last: int) -> list[Markup]:
    if whole is not None:
        return whole[first:last]
    part = lines[first:last]
    return coloured(path, "\n".join(part)) or [
        shown(line)
        if len(line) <= _WIDEST
        else shown(line[:_WIDEST]) + Markup(" … {} more characters").format(len(line) - _WIDEST)
        for line in part
    ]


def _opcodes(before: Sequence[str], after: Sequence[str], *, at_ends: tuple[bool, bool]) -> list[Opcode]:
    """How one becomes the other; what is the same at both ends is not searched through."""
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    if at_ends[0] != at_ends[1]:
        # The last line differs by its newline.
        tail = 0
        head = min(head, max(shorter - 1, 0)) if len(before) == len(after) else head
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    if at_ends[0] != at_ends[1] and left and right and left[-1] == right[-1]:
        left, right = [*left[:-1], f"{left[-1]}\n"], list(right)
    opcodes: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    if left and right and len(left) * len(right) <= _ALIKE:
        found = SequenceMatcher(None, left, right).get_opcodes()
    elif left or right:
        found = [("replace", 0, len(left), 0, len(right))]
    else:
        found = []
    opcodes += [(tag, one + head, two + head, three + head, four + head) for tag, one, two, three, four in found]
    if tail:
        opcodes.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return opcodes
