"""Take the changes of a try apart into what a person says yes or no to: hunks of texts, and whole changes of all else."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wink.filesystem import FileChange
from wink.filesystem.diffs import diffs_of, hunk_text, lines_of, signed_lines
from wink_sandbox import Differences, repository_of


class Edit(NamedTuple):
    """So many lines from `start` on, counted from 0, become `lines`."""

    start: int
    length: int
    lines: tuple[bytes, ...]


class Hunk(NamedTuple):
    """A part of the change of one text: `lines`, each after its sign, or `mode`, that the permission bits change.

    They begin at line `old` of the text as it was, and at line `new` of what it became, counted from 0.
    """

    lines: tuple[tuple[bytes, bytes], ...] = ()
    old: int = 0
    new: int = 0
    mode: int | None = None

    @property
    def text(self) -> str:
        """The hunk as a diff shows it."""
        return hunk_text(self.old, self.new, self.lines).decode("utf-8", "backslashreplace")

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What it does."""
        return tuple(_edits(self.lines, self.old))


class Unit(NamedTuple):
    """What is asked about together: the paths of a try's steps, what they change, and the hunks where it is one text."""

    path: str
    paths: frozenset[str]
    changes: tuple[FileChange, ...]
    hunks: tuple[Hunk, ...]


class Picked(NamedTuple):
    """What was chosen of one unit: some hunks, or with None all of it."""

    unit: Unit
    hunks: tuple[Hunk, ...] | None = None


class Content(NamedTuple):
    """What a text becomes with some of its hunks, and what it was when they were chosen, each with its permission bits."""

    before: bytes
    after: bytes
    old_mode: int
    mode: int


class TextChanged(Exception):
    """The text at `path` is not the one any more whose hunks were shown, or cannot be read again."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


def units(found: Differences) -> tuple[Unit, ...]:
    """All changes, in the order of paths: what git keeps for itself together, and what is in a deleted directory with that.

    A new directory goes with what is chosen in it, and is asked about where nothing is.
    """
    filled = {step.path.rpartition("/")[0] for step in found.steps}
    groups: dict[str, set[str]] = {}
    owner: dict[str, str] = {}
    deleted: set[str] = set()
    for step in found.steps:
        inside = next((above for above in _above(step.path) if above in deleted), None)
        key = inside or repository_of(step.path)[0] or step.path
        if key == step.path and step.kind == "directory" and key not in groups and key in filled:
            continue
        if step.kind == "drop" and step.found is not None and stat.S_ISDIR(step.found.st_mode):
            deleted.add(key)
        groups.setdefault(key, set()).add(step.path)
        owner[step.path] = key
    changes: dict[str, list[FileChange]] = {key: [] for key in groups}
    for change in found.changes():
        key = owner.get(change.path) or next((above for above in _above(change.path) if above in deleted), None)
        if key is not None:
            changes[key].append(change)
    return tuple(
        Unit(key, frozenset(groups[key]), tuple(made), hunks_of(made[0]) if len(made) == 1 else ())
        for key, made in changes.items()
        if made
    )


def hunks_of(change: FileChange) -> tuple[Hunk, ...]:
    """The parts of a text's change, that of its mode first; none for what has no lines, or is new, or deleted."""
    before, after = change.before, change.after
    if before is None or after is None or before.kind != "file" or after.kind != "file":
        return ()
    diff = diffs_of(change)[0]
    if not diff.hunks:
        return ()
    modes = () if before.mode == after.mode else (Hunk(mode=after.mode),)
    return (*modes, *(Hunk(tuple(signed_lines(one, *diff.lines)), one.old, one.new) for one in diff.hunks))


def split(hunk: Hunk) -> tuple[Hunk, ...]:
    """The same in as many parts as have unchanged lines between them."""
    lines = hunk.lines
    changed = [sign != b" " for sign, _ in lines]
    runs = [at for at in range(len(lines)) if changed[at] and (not at or not changed[at - 1])]
    ends = [next((at for at in range(run, len(lines)) if not changed[at]), len(lines)) for run in runs]
    parts: list[Hunk] = []
    for number in range(len(runs)):
        first = ends[number - 1] if number else 0
        last = runs[number + 1] if number + 1 < len(runs) else len(lines)
        old, new = (sum(sign != other for sign, _ in lines[:first]) for other in (b"+", b"-"))
        parts.append(Hunk(lines[first:last], hunk.old + old, hunk.new + new))
    return tuple(parts)


def content_of(picked: Picked) -> Content | None:
    """What the text becomes where only a part of it was chosen; None for all of it. Raises `TextChanged`."""
    if picked.hunks is None or set(picked.hunks) == set(picked.unit.hunks):
        return None
    (change,) = picked.unit.changes
    assert change.before is not None, "only what was and is a text has hunks"
    before = change.before.content()
    if before is None:  # it is read when it is asked for, and may be gone by now
        raise TextChanged(picked.unit.path)
    lines = lines_of(before)
    for edit in sorted((edit for hunk in picked.hunks for edit in hunk.edits), reverse=True):
        lines[edit.start : edit.start + edit.length] = edit.lines
    mode = next((hunk.mode for hunk in picked.hunks if hunk.mode is not None), change.before.mode)
    made = Content(before, b"".join(lines), change.before.mode, mode)
    # All of it, too, where each part of a hunk that was split was chosen.
    is_whole = change.after is not None and (made.after, made.mode) == (change.after.content(), change.after.mode)
    return None if is_whole else made


def _edits(lines: Iterable[tuple[bytes, bytes]], at: int) -> Iterator[Edit]:
    start, new = at, list[bytes]()
    for sign, line in (*lines, (b" ", b"")):
        if sign == b"+":
            new.append(line)
            continue
        if sign == b" ":
            if at > start or new:
                yield Edit(start, at - start, tuple(new))
            start, new = at + 1, []
        at += 1


def _above(path: str) -> Iterator[str]:
    return (path[:at] for at in range(len(path)) if path[at] == "/")
