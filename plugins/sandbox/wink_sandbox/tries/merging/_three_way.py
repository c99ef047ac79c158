"""Merge what a try changed with what the workspace has changed meanwhile: from a base, path by path.

Only files that were there when the try began, and are there on both sides, are merged: texts by lines, and permission bits. All
else that both changed is a conflict, but for what both made the same.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import tee
from typing import Final, Literal, NamedTuple

from wink.bounded import content_of
from wink.dataclass import replace
from wink.errors import RecordCorrupt
from wink.state import opened_directory
from wink_sandbox import Differences, Overlay, Step, remove_tree, repository_of
from wink_sandbox.tries._bases import Bases
from wink_sandbox.tries._marks import MOST, MOST_MERGED, content_at, is_text
from wink_sandbox.tries.merging._lines import MergedText, MergeFailed, merge_texts

Choice = Literal["markers", "workspace", "try"]
"""What is taken where both changed the same: both with git's markers, the workspace's lines, or those of the try."""

_PLACE: Final = "merged"
_AT_ONCE: Final = 500
"""So many texts of two tries are compared at once."""
LABELS: Final = ("workspace", "base", "try")
"""What git's markers call the three."""
_SAME_LINES: Final = "in the same lines"
_NO_TEXT: Final = "and is no text that could be merged by lines"
_UNMERGED: Final = "and cannot be merged: {}"
_NO_BASE: Final = "and what it was when the program began is not known"
_GIT: Final = "and is git's own, which is not merged as a file"
_MODES: Final = "and both changed its permissions"
_MEANWHILE: Final = "in this very moment; try again"
_UNREAD: Final = "and may not be read"
_KINDS: Final = "and what is there is no file any more, or was none"
_DELETED: Final = "and was deleted on one side"


class Conflict(NamedTuple):
    """A path that both changed, why that is not merged, and the places in conflict, with markers, where it is a text."""

    path: str
    reason: str
    hunks: tuple[str, ...] = ()


class Merge(NamedTuple):
    """`found` with what was merged in place of what the try has, and what was not.

    `merged` are the paths whose content is made of both, of which those `marked` have markers in them. `same` is where the workspace is
    what it is to be already. At the paths that are `overruled` lines of the try are not taken.
    """

    found: Differences
    conflicts: tuple[Conflict, ...]
    merged: tuple[str, ...]
    same: Differences
    marked: tuple[str, ...]
    overruled: tuple[str, ...]


class _Result(NamedTuple):
    """What becomes of one file; `content` is None where it is the try's own."""

    content: bytes | None
    mode: int
    conflict: Conflict | None = None
    is_same: bool = False


class _Both(NamedTuple):
    """A text that both sides have changed; `conflict` is what else is in the way there."""

    key: tuple[object, ...]
    here: bytes
    base: bytes
    there: bytes
    mode: int
    is_mode: bool
    conflict: Conflict | None


class ThreeWay:
    """Merges for one accept of a try, which is in use; what was merged once is not merged again while nobody has changed it."""

    def __init__(self, overlay: Overlay, bases: Bases, choice: Choice | None = None) -> None:
        self._overlay, self._bases, self._choice = overlay, bases, choice
        self._known: dict[tuple[object, ...], _Result] = {}

    @property
    def _directory(self) -> str:
        return f"{self._overlay.directory}/{_PLACE}"

    def close(self) -> None:
        """Remove what was merged; where that fails, the next merge does, and what is said of this one stays what is said."""
        with suppress(OSError):
            remove_tree(self._directory)

    def conflicts(self, found: Differences, changed: Iterable[str]) -> tuple[Conflict, ...]:
        """What cannot be merged of the paths that have `changed` in the workspace, for which the try need not be in use."""
        results = self._results(_by_path(found), changed)
        return tuple(one.conflict for one in results.values() if one.conflict is not None)

    def of(self, found: Differences, changed: Iterable[str]) -> Merge:
        """Merge, at the paths that have `changed` in the workspace meanwhile."""
        remove_tree(self._directory)
        steps = _by_path(found)
        conflicts, results = list[Conflict](), dict[str, _Result]()
        for path, result in self._results(steps, changed).items():
            if result.conflict is not None and not self._is_decided(result.conflict, steps.get(path, [])):
                conflicts.append(result.conflict)
            else:
                results[path] = result
        taken, made = dict.fromkeys(results, ""), dict[str, Step]()
        for path, result in tuple(results.items()):
            if result.content is not None:
                place = f"{self._directory}/{hashlib.sha256(os.fsencode(path)).hexdigest()}"
                try:
                    made[path] = replace(steps[path][0], made=self._laid(steps[path][0], place, result))
                    taken[path] = place
                except FileNotFoundError:  # somebody has just deleted it
                    conflicts.append(Conflict(path, _DELETED))
                    del results[path], taken[path]
        same = {path for path, result in results.items() if result.is_same}
        kept = tuple(made.get(step.path, step) for step in found.steps if step.path not in same)
        there = tuple(step for step in found.steps if step.path in same)
        decided = tuple(path for path, result in results.items() if result.conflict is not None)
        return Merge(
            replace(found, steps=kept, merged={**found.merged, **taken}),
            tuple(conflicts),
            tuple(made),
            replace(found, steps=there),
            decided if self._choice == "markers" else (),
            decided if self._choice == "workspace" else (),
        )

    def _is_decided(self, conflict: Conflict, steps: Iterable[Step]) -> bool:
        """Whether what a person said decides it: lines, or a whole file that the try is to have its way with."""
        if conflict.hunks:
            return self._choice is not None
        if conflict.reason == _MODES:
            return self._choice in ("workspace", "try")
        there = [status for step in steps for status in (step.found, step.made) if status is not None]
        return self._choice == "try" and bool(there) and all(stat.S_ISREG(status.st_mode) for status in there)

    def _results(self, steps: Mapping[str, Sequence[Step]], changed: Iterable[str]) -> dict[str, _Result]:
        """What becomes of each path; git merges many texts at once."""
        results = dict[str, _Result]()
        asked, told = tee((path, self._result(path, steps.get(path, []))) for path in changed)
        texts = ((one.here, one.base, one.there) for _, one in asked if isinstance(one, _Both))
        merged = merge_texts(texts, labels=LABELS)
        for path, one in told:
            results[path] = self._of_both(path, one, next(merged)) if isinstance(one, _Both) else one
        return results

    def _result(self, path: str, steps: Sequence[Step]) -> _Result | _Both:
        if repository_of(path)[0]:
            return _refused(path, _GIT)
        if len(steps) == 1 and steps[0].kind == "drop" and self._is_as_before(path, steps[0].found):
            return _Result(None, 0)
        if len(steps) != 1 or steps[0].found is None or steps[0].made is None:
            return _refused(path, _DELETED if len(steps) < 2 else _KINDS)
        found, made = steps[0].found, steps[0].made
        if not stat.S_ISREG(found.st_mode) or not stat.S_ISREG(made.st_mode):
            return _refused(path, _KINDS)
        key = (path, *_facts(found), *_facts(made))
        if key not in self._known:
            result = self._merged(path, key, found, made, is_mode_only=steps[0].kind == "mode")
            if isinstance(result, _Both):
                return result
            self._known[key] = result
        return self._known[key]

    def _is_as_before(self, path: str, found: os.stat_result | None) -> bool:
        """Whether the workspace's file is still as it was when the run began in which a program deleted it."""
        base = self._bases.of(path)
        if base is None or found is None or not stat.S_ISREG(found.st_mode):
            return False
        try:
            here = found_content(f"{self._overlay.root}/{path}", found)
        except (OSError, RecordCorrupt):
            return False
        return (found.st_mode & 0o777, hashlib.sha256(here).hexdigest()) == (base.mode & 0o777, base.digest)

    def _merged(
        self, path: str, key: tuple[object, ...], found: os.stat_result, made: os.stat_result, *, is_mode_only: bool
    ) -> _Result | _Both:
        ours, theirs = stat.S_IMODE(found.st_mode) & 0o777, stat.S_IMODE(made.st_mode) & 0o777
        try:
            here = found_content(f"{self._overlay.root}/{path}", found)
        except PermissionError:
            return _refused(path, _UNREAD)
        except (OSError, RecordCorrupt):
            return _refused(path, _MEANWHILE if found.st_size <= MOST else _NO_TEXT)
        there = here if is_mode_only else content_at(f"{self._overlay.upper}/{path}", MOST)
        if there is None:
            return _refused(path, _NO_TEXT)
        if here == there and ours == theirs:
            return _Result(None, ours, is_same=True)
        base = self._bases.of(path)
        if base is None:
            return _refused(path, _NO_BASE)
        mode, conflict = merged_mode(base.mode & 0o777, ours, theirs), None
        if mode is None:
            conflict = Conflict(path, _MODES)
            if self._choice not in ("workspace", "try"):
                return _Result(None, 0, conflict)
            mode = ours if self._choice == "workspace" else theirs
        if here == there or hashlib.sha256(there).hexdigest() == base.digest:
            content = None if is_mode_only else here
            return _Result(None, mode, conflict, is_same=True) if mode == ours else _Result(content, mode, conflict)
        if hashlib.sha256(here).hexdigest() == base.digest:
            return _Result(None if mode == theirs else there, mode, conflict)
        if base.content is None or not is_text(here) or not is_text(there):
            return _refused(path, _NO_TEXT)
        return _Both(key, here, base.content, there, mode, mode == ours, conflict)

    def _of_both(self, path: str, both: _Both, merged: MergedText | MergeFailed | None) -> _Result:
        if merged is None or isinstance(merged, MergeFailed):
            self._known[both.key] = _refused(path, _NO_TEXT if merged is None else _UNMERGED.format(merged))
            return self._known[both.key]
        content = {"workspace": merged.ours, "try": merged.theirs}.get(self._choice or "", merged.content)
        is_same = content == both.here and both.is_mode
        conflict = Conflict(path, _SAME_LINES, merged.hunks) if merged.hunks else both.conflict
        self._known[both.key] = _Result(None if is_same else content, both.mode, conflict, is_same)
        return self._known[both.key]

    def _laid(self, step: Step, place: str, result: _Result) -> os.stat_result:
        """A merged file as a program could have left it."""
        assert result.content is not None
        os.makedirs(self._directory, 0o700, exist_ok=True)
        remove_tree(place)
        with open(place, "xb") as file:
            file.write(result.content)
        shutil.copystat(f"{self._overlay.root}/{step.path}", place, follow_symlinks=False)
        if step.found is not None and os.geteuid() == 0:
            os.chown(place, step.found.st_uid, step.found.st_gid)
        os.chmod(place, result.mode)
        os.utime(place)
        return os.lstat(place)


def between(one: tuple[Differences, Bases], other: tuple[Differences, Bases]) -> tuple[Conflict, ...]:
    """What cannot be merged of the paths that two tries have both changed, neither of which need be in use."""
    (found, bases), (there, others) = one, other
    here, beside = _by_path(found), _by_path(there)
    paths, conflicts = sorted(here.keys() & beside.keys()), list[Conflict]()
    for at in range(0, len(paths), _AT_ONCE):
        found_here = {
            path: _clash(path, (here[path], bases, found), (beside[path], others, there))
            for path in paths[at : at + _AT_ONCE]
        }
        clashes = found_here | _in_turn([clash for clash in found_here.values() if isinstance(clash, _Turn)])
        conflicts += (clash for clash in clashes.values() if isinstance(clash, Conflict))
    return tuple(conflicts)


def with_markers(overlay: Overlay, paths: Iterable[str]) -> frozenset[str]:
    """Those of some paths at which a try has a text with a line that an update marks conflicts with."""
    places = {path: f"{overlay.upper}/{path}" for path in paths}
    texts = ((path, content_at(place, MOST_MERGED)) for path, place in places.items())
    # One that is there and cannot be read, or is too large, is in doubt.
    return frozenset(
        path for path, text in texts if (is_marked(text) if text is not None else os.path.lexists(places[path]))
    )


def regular_files(overlay: Overlay, paths: Iterable[str]) -> Iterator[str]:
    """Those of some paths at which a try has a regular file of its own."""
    for path in paths:
        with suppress(OSError):
            if stat.S_ISREG(os.lstat(f"{overlay.upper}/{path}").st_mode):
                yield path


def is_marked(text: bytes) -> bool:
    """Whether a text has a line that an update marks conflicts with."""
    marks = {f"<<<<<<< {LABELS[0]}".encode(), f">>>>>>> {LABELS[2]}".encode()}
    return bool(marks.intersection(text.replace(b"\r", b"").split(b"\n")))


class _Turn(NamedTuple):
    """A text that two tries have changed: that of the workspace, and what each made of which base."""

    path: str
    here: bytes
    base: bytes
    first: bytes
    other: bytes
    second: bytes


def _clash(
    path: str, one: tuple[list[Step], Bases, Differences], other: tuple[list[Step], Bases, Differences]
) -> Conflict | _Turn | None:
    (steps, bases, found), (others, beside, there) = one, other
    made = [step[-1].made for step in (steps, others)]
    if None in made and made[0] != made[1]:
        return Conflict(path, _DELETED)
    kinds = {stat.S_IFMT(status.st_mode) for status in made if status is not None}
    if len(kinds) > 1 or repository_of(path)[0]:
        return Conflict(path, _KINDS if len(kinds) > 1 else _GIT)
    if not kinds or kinds == {stat.S_IFDIR}:
        return None
    if kinds == {stat.S_IFLNK}:
        return None if steps[-1].target == others[-1].target else Conflict(path, _KINDS)
    first, second = (content_at(_file(side, steps), MOST) for side, steps in ((found, steps), (there, others)))
    if first is not None and first == second:
        return None
    base, other_base = bases.of(path), beside.of(path)
    if base is None or other_base is None:
        return Conflict(path, _NO_BASE)
    here = content_at(f"{found.overlay.root}/{path}", MOST)
    if first is None or second is None or here is None or base.content is None or other_base.content is None:
        return Conflict(path, _NO_TEXT)
    return _Turn(path, here, base.content, first, other_base.content, second)


def _in_turn(turns: Sequence[_Turn]) -> dict[str, Conflict | None]:
    """Whether the second texts merge with the workspace when the first have been accepted, whatever that needs."""
    found = dict[str, Conflict | None]()
    first = zip(turns, merge_texts((turn.here, turn.base, turn.first) for turn in turns), strict=True)
    merged = dict(first)
    accepted = {turn: text.theirs for turn, text in merged.items() if isinstance(text, MergedText)}
    second = merge_texts(((text, turn.other, turn.second) for turn, text in accepted.items()), labels=LABELS)
    merged |= zip(accepted, second, strict=True)
    clashes = [turn for turn, text in merged.items() if isinstance(text, MergedText) and text.hunks]
    alone = merge_texts((turn.here, turn.other, turn.second) for turn in clashes)
    # What conflicts with the workspace already is not for the other try to answer for.
    answered = dict(zip(clashes, alone, strict=True))
    for turn, text in merged.items():
        if isinstance(text, MergedText):
            before = answered.get(turn)
            hunks = len(before.hunks) if isinstance(before, MergedText) else 0
            found[turn.path] = Conflict(turn.path, _SAME_LINES, text.hunks) if len(text.hunks) > hunks else None
        else:
            found[turn.path] = Conflict(turn.path, _NO_TEXT if text is None else _UNMERGED.format(text))
    return found


def _file(found: Differences, steps: Sequence[Step]) -> str:
    """Where the file is that a try shows: where it has changed the mode alone, that is the workspace's."""
    return f"{found.overlay.root if steps[-1].kind == 'mode' else found.overlay.upper}/{steps[-1].path}"


def _by_path(found: Differences) -> dict[str, list[Step]]:
    steps: dict[str, list[Step]] = {}
    for step in found.steps:
        steps.setdefault(step.path, []).append(step)
    return steps


def found_content(place: str, found: os.stat_result) -> bytes:
    """What is in a file of the workspace that is still the one which was found; raises `OSError` and `RecordCorrupt`."""
    above, _, name = place.rpartition("/")
    with opened_directory(above) as directory:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=directory)
    again = os.dup(fd)
    try:
        content = content_of(fd, place, MOST)
        if _facts(os.fstat(again)) != _facts(found):
            raise FileNotFoundError(place)
        return content
    finally:
        os.close(again)


def _refused(path: str, reason: str) -> _Result:
    return _Result(None, 0, Conflict(path, reason))


def merged_mode(base: int, ours: int, theirs: int) -> int | None:
    """What becomes of permission bits; None where both changed them, and not alike."""
    if ours in (theirs, base):
        return theirs
    return ours if theirs == base else None


def _facts(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_size, found.st_mode, found.st_mtime_ns, found.st_ctime_ns
