"""Bring what the workspace has changed meanwhile into a try, and take that back: as a whole, wherever wink is killed.

All that is to be is written to a directory beside the try's layer, with a plan of it. From when that directory has its name on,
the update is; whoever opens the try next does what of it is still to do.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

from wink.dataclass import dataclass
from wink.errors import MergeRefused, RecordCorrupt, WinkError
from wink.state import opened_directory, read_file
from wink_sandbox import Changeable, Overlay, Step, remove_tree
from wink_sandbox.tries._accept import conflicts
from wink_sandbox.tries._bases import Bases
from wink_sandbox.tries._facts import Facts
from wink_sandbox.tries._layer import PENDING, UNDOING, seen
from wink_sandbox.tries._marks import MOST_MERGED, content_at, mark_of
from wink_sandbox.tries._three_way import Conflict, ThreeWay, found_content

_DRAFT, _DONE = "update.draft", "update.done"
_PLAN: Final = "plan.json"
_MOST_BYTES: Final = 64 << 20
_CHANGED: Final = "has changed in the try since the update, or was accepted or dropped"
_MEANWHILE: Final = "was saved by somebody in this very moment; run the update again"


@dataclass(frozen=True, slots=True)
class Updated:
    """What an update brought into a try, or its undo took out again, by paths.

    `merged` have both changes now, of which those `marked` have conflict markers; where the try had nothing of its own, or the
    same, it shows the workspace's file again, which are the `same`. `conflicts` could not be merged, and are as they were.
    """

    merged: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


class UpdateLost(WinkError):
    """What is noted of an update that has not ended cannot be read; `path` is the plan."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return f"{self.path!r}, the plan of an update, cannot be read ({self.reason}); `wink drop` forgets the try"


class _Entry(NamedTuple):
    """One path: inode, mode and digest of what it becomes in the layer, None where nothing is left there.

    `known` and `before` are what the try knows of the workspace's file, after and before; `had_base` and `was_marked` say what it had before.
    """

    path: str
    inode: int | None
    mode: int
    digest: str | None
    known: list[Any] | None
    before: list[Any] | None
    had_base: bool
    was_marked: bool
    is_marked: bool = False


def update(overlay: Overlay, facts: Facts, *, dry_run: bool) -> Updated:
    """Merge into a try, which is in use, what the workspace has changed since its programs began."""
    bases = Bases(overlay)
    three_way = ThreeWay(overlay, bases, "markers")
    found = seen(overlay)
    try:
        merge = three_way.of(found, conflicts(found, facts, bases))
        steps = {step.path: step for step in merge.found.steps if step.path in merge.merged}
        same = {step.path: step for step in merge.same.steps if _is_file(step)}
        refused = merge.conflicts
        if not dry_run:
            draft = f"{overlay.directory}/{_DRAFT}"
            remove_tree(draft)
            os.mkdir(draft, 0o700)
            known, was_marked, plan = facts.read()["known"], facts.marked, list[_Entry]()
            for path, step in (*steps.items(), *same.items()):
                made = merge.found.merged[path] if path in steps else None
                entry = _planned(overlay, bases, f"{draft}/{len(plan)}", step, made, known.get(path))
                if entry is None:
                    refused = (*refused, Conflict(path, _MEANWHILE))
                else:
                    plan.append(
                        entry._replace(
                            was_marked=path in was_marked, is_marked=path in merge.marked or path in was_marked
                        )
                    )
            done = {entry.path for entry in plan}
            steps = {path: step for path, step in steps.items() if path in done}
            same = {path: step for path, step in same.items() if path in done}
            if plan:
                _write(draft, plan)
                os.rename(draft, f"{overlay.directory}/{PENDING}")
                go_on(overlay, facts)
            remove_tree(draft)
        marked = tuple(path for path in merge.marked if path in steps)
        return Updated(tuple(steps), marked, tuple(same), refused)
    finally:
        three_way.close()


def undo(overlay: Overlay, facts: Facts, *, dry_run: bool) -> Updated | None:
    """Take the last update of a try, which is in use, back; None where there is none. Raises `MergeRefused` and `UpdateLost`."""
    if not os.path.lexists(f"{overlay.directory}/{_DONE}"):
        return None
    plan = _read(overlay, _DONE)
    changed = [entry.path for entry in plan if not _is_as_updated(overlay, entry)]
    if changed:
        raise MergeRefused([(path, _CHANGED) for path in changed])
    if not dry_run:
        os.rename(f"{overlay.directory}/{_DONE}", f"{overlay.directory}/{UNDOING}")
        go_on(overlay, facts)
    return Updated(
        tuple(entry.path for entry in plan if entry.inode is not None),
        tuple(entry.path for entry in plan if entry.is_marked),
        tuple(entry.path for entry in plan if entry.inode is None),
    )


def go_on(overlay: Overlay, facts: Facts) -> None:
    """Do what of an update, or of its undo, is still to be done in a try, which is in use; raises `UpdateLost`."""
    bases = Bases(overlay)
    if os.path.lexists(f"{overlay.directory}/{UNDOING}"):
        place, plan = f"{overlay.directory}/{UNDOING}", _read(overlay, UNDOING)
        with Changeable() as changeable:
            for number, entry in enumerate(plan):
                bases.put_back(entry.path, f"{place}/{number}.old-base" if entry.had_base else None)
                if os.path.lexists(f"{place}/{number}.old"):
                    there = f"{overlay.upper}/{entry.path}"
                    changeable.open(os.path.dirname(there))
                    os.rename(f"{place}/{number}.old", there)
        facts.updated({entry.path: (entry.before, entry.was_marked) for entry in plan})
        remove_tree(draft := f"{overlay.directory}/{_DRAFT}")
        os.rename(place, draft)
        remove_tree(draft)
    if os.path.lexists(f"{overlay.directory}/{PENDING}"):
        place, plan = f"{overlay.directory}/{PENDING}", _read(overlay, PENDING)
        with Changeable() as changeable:
            for number, entry in enumerate(plan):
                _apply(overlay, bases, changeable, f"{place}/{number}", entry)
        facts.updated({entry.path: (entry.known, entry.is_marked) for entry in plan})
        remove_tree(f"{overlay.directory}/{_DONE}")
        os.rename(place, f"{overlay.directory}/{_DONE}")


def _planned(
    overlay: Overlay, bases: Bases, place: str, step: Step, made: str | None, before: list[Any] | None
) -> _Entry | None:
    """What becomes of one path, with its file and its base in the draft; None where the workspace's has just changed."""
    assert step.found is not None, "only what both have is merged"
    try:
        content = found_content(f"{overlay.root}/{step.path}", step.found)
    except (OSError, RecordCorrupt):
        return None
    digest = hashlib.sha256(content).hexdigest()
    known = mark_of(f"{overlay.root}/{step.path}", digest)
    if known is None or known[-1] is None or known[:5] != _mark(step.found):
        return None
    had_base = bool(bases.among([step.path]))
    if made is None:
        return _Entry(step.path, None, 0, None, None, before, had_base, False)
    text = content_at(made, MOST_MERGED)
    if text is None:
        return None
    os.rename(made, f"{place}.new")
    bases.lay(f"{place}.base", step.found, content)
    there = os.lstat(f"{place}.new")
    digest = hashlib.sha256(text).hexdigest()
    return _Entry(step.path, there.st_ino, stat.S_IMODE(there.st_mode), digest, known, before, had_base, False)


def _mark(found: os.stat_result) -> list[int]:
    return [found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_ctime_ns]


def _apply(overlay: Overlay, bases: Bases, changeable: Changeable, place: str, entry: _Entry) -> None:
    """Put one path into the layer, each step of which may have been done before."""
    there = f"{overlay.upper}/{entry.path}"
    changeable.open(os.path.dirname(there))
    if entry.inode is None or os.lstat(there).st_ino != entry.inode:
        with suppress(FileExistsError, *(() if entry.inode is not None else (FileNotFoundError,))):
            os.link(there, f"{place}.old", follow_symlinks=False)
        if entry.inode is not None:
            os.rename(f"{place}.new", there)
        else:
            with suppress(FileNotFoundError):
                os.unlink(there)
    bases.replace(entry.path, f"{place}.base" if entry.inode is not None else None, f"{place}.old-base")


def _is_as_updated(overlay: Overlay, entry: _Entry) -> bool:
    there = f"{overlay.upper}/{entry.path}"
    try:
        found = os.lstat(there)
    except FileNotFoundError:
        return entry.inode is None and os.path.isdir(os.path.dirname(there))
    except OSError:
        return False
    if (found.st_ino, stat.S_IMODE(found.st_mode)) != (entry.inode, entry.mode):
        return False
    content = content_at(there, MOST_MERGED)
    return content is not None and hashlib.sha256(content).hexdigest() == entry.digest


def _is_file(step: Step) -> bool:
    return step.kind == "file" and all(
        status is not None and stat.S_ISREG(status.st_mode) for status in (step.found, step.made)
    )


def _write(draft: str, plan: Iterable[_Entry]) -> None:
    with open(f"{draft}/{_PLAN}", "x", encoding="ascii") as file:
        json.dump(list(plan), file)
        file.flush()
        os.fsync(file.fileno())


def _read(overlay: Overlay, name: str) -> list[_Entry]:
    place = f"{overlay.directory}/{name}"
    try:
        with opened_directory(place) as directory:
            said: object = json.loads(read_file(directory, _PLAN, _MOST_BYTES))
        return list(_entries(said))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UpdateLost(f"{place}/{_PLAN}", str(error)) from error


def _entries(said: object) -> Iterator[_Entry]:
    for one in cast("list[Any]", said):
        entry = _Entry(*one)
        if any(part in ("", ".", "..") for part in entry.path.split("/")):
            raise ValueError(entry.path)
        yield entry
