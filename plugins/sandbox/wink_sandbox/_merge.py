"""Make what a program changed in an overlay the workspace's, in one transaction, or say why not."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from wink.dataclass import dataclass, field, replace
from wink.errors import FileConflict, MergeConflict, MergeRefused
from wink.filesystem import (
    FileChange,
    FileTransaction,
    FileVersion,
    check_program_may_change,
    file_version,
    merging,
)
from wink_sandbox import _rules
from wink_sandbox._deep import Changeable, walk_tree
from wink_sandbox._held_index import PATH as INDEX
from wink_sandbox._overlay import Overlay
from wink_sandbox._upper import Step, attributes, clean

if TYPE_CHECKING:
    from wink.filesystem import Merging
    from wink_sandbox._git_remotes import RemoteSetting

Notes = tuple[tuple[str, str], ...]
"""Paths, each with what becomes of it that differs from what the program did."""

_STATE = "is wink's own state, and stays as it is"


@dataclass(frozen=True, slots=True)
class Differences:
    """What a program changed in an overlay, and what of it stays out of the workspace.

    `notes` pairs paths with the reason why they are not carried over. `settings` are the files that are to be taken in
    the place of some that the program left, `refusals` what is wrong with others, and `asked` what a person can confirm
    in these; see `with_git_config`. `merged` are paths at which what others have changed meanwhile was looked at, with the files
    to be taken there, none where that is the one which the program left.
    """

    overlay: Overlay
    steps: tuple[Step, ...]
    notes: Notes = ()
    suspects: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    refusals: Mapping[str, str] = field(default_factory=dict[str, str])
    asked: tuple[RemoteSetting, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict[str, str])

    def __bool__(self) -> bool:
        return bool(self.steps)

    def changes(self) -> tuple[FileChange, ...]:
        """The same as the record shows changes: one for each path, in the order of paths."""
        root = self.overlay.root
        found: dict[str, FileChange] = {}
        for step in self.steps:
            path, known = step.path, found.get(step.path)
            if step.kind == "drop":
                found[path] = FileChange(path, _version(f"{root}/{path}", step.found), None)
                if step.found is not None and stat.S_ISDIR(step.found.st_mode):
                    for inside, status in walk_tree(f"{root}/{path}", closed=False):
                        below = f"{path}/{inside}"
                        found[below] = FileChange(below, _version(f"{root}/{below}", status), None)
                continue
            before = known.before if known is not None else _version(f"{root}/{path}", step.found)
            found[path] = FileChange(path, before, _version(self.source(path), step.made, is_carried=True))
        return tuple(change for _, change in sorted(found.items()) if not _is_same(change))

    def source(self, path: str) -> str:
        """Where the file is that is to be at a path."""
        return self.settings.get(path) or self.merged.get(path) or f"{self.overlay.upper}/{path}"

    def only(self, paths: Iterable[str]) -> Differences:
        """The part of it at and beneath some paths, with the directories that this needs, and what is noted of these paths."""
        wanted = set(paths)

        def is_wanted(path: str) -> bool:
            return "" in wanted or not wanted.isdisjoint((path, *_above(path)))

        chosen = self.exactly(step.path for step in self.steps if is_wanted(step.path))
        return replace(chosen, notes=tuple(note for note in self.notes if is_wanted(note[0])))

    def exactly(self, paths: Iterable[str]) -> Differences:
        """The part of it at some paths and not beneath them, with the directories that this needs."""
        chosen = set(paths)
        inside = [step.path for step in self.steps if step.path in chosen and step.kind != "drop"]
        above = _rules.with_parents(inside) - chosen
        steps: list[Step] = []
        for step in self.steps:
            if step.path in chosen:
                steps.append(_seen_again(step, self.overlay.root))
            elif step.path in above:
                there = _status(f"{self.overlay.root}/{step.path}")
                is_directory = there is not None and stat.S_ISDIR(there.st_mode)
                if not is_directory and (step.kind == "directory" or (step.kind == "drop" and there is not None)):
                    steps.append(step)
        suspects = tuple(path for path in self.suspects if path in chosen)
        notes = tuple(note for note in self.notes if note[0] in chosen)
        return replace(self, steps=tuple(steps), notes=notes, suspects=suspects)

    def without(self, paths: Iterable[str]) -> Differences:
        """What is left without what is at and beneath some paths, and without the deletion of directories that they are in.

        Of a directory that only gets another mode, what is in it stays.
        """
        given = set(paths)
        modes = {step.path for step in self.steps if step.kind == "mode" and step.path in given}
        above = _rules.with_parents(given)
        out = (given - modes) | {step.path for step in self.steps if step.kind == "drop" and step.path in above}
        kept = [
            step for step in self.steps if step.path not in modes and out.isdisjoint((step.path, *_above(step.path)))
        ]
        left = {step.path for step in kept}
        suspects = tuple(path for path in self.suspects if path in left)
        notes = tuple(note for note in self.notes if note[0] not in given and out.isdisjoint(_above(note[0])))
        return replace(self, steps=tuple(kept), notes=notes, suspects=suspects)


def differences(overlay: Overlay) -> Differences:
    """What was changed in an overlay so far, without scratch."""
    reading = overlay.read(lambda path: _STATE if _rules.is_state(path) else None)
    return Differences(overlay, reading.steps, reading.notes, reading.suspects, reading.scratch)


def merge(found: Differences, part: FileTransaction, *, keep: bool = False, file_bytes: int | None = None) -> None:
    """Do in a call's part what the program did; the call must have its turn (`wink.transactions.take_turn`).

    With `keep` the overlay still has everything afterwards, otherwise files are moved out of it. Raises `MergeConflict`
    and `MergeRefused` before anything is changed, also where a file has grown by more than `file_bytes`.
    """
    if not found:
        return
    problems = (*refused(found, part), *(() if file_bytes is None else _too_large(found, file_bytes)))
    if problems:
        raise MergeRefused(problems)
    conflicts = changed_meanwhile(found)
    if conflicts:
        raise MergeConflict(conflicts)
    try:
        with merging(part, found.steps[0].path) as steps:
            _apply(found, steps, keep)
    except FileConflict as error:
        raise MergeConflict((error.path,)) from error


def refused(found: Differences, part: FileTransaction, *, portable_names: bool = False) -> tuple[tuple[str, str], ...]:
    """What must not become the workspace's: paths, each with the reason; with `portable_names` new ones that no Windows can hold."""
    root, is_git = found.overlay.root, found.overlay.is_git

    def check(path: str) -> None:
        check_program_may_change(part, path)

    problems: dict[tuple[str, str], None] = {}
    for step in found.steps:
        reason = None if step.path in found.settings else _rules.problem(step, root, is_git=is_git, check=check)
        if reason is not None:
            problems[step.path, found.refusals.get(step.path, reason)] = None
    if is_git or any(_rules.repository_of(step.path)[0] is not None for step in found.steps):
        from wink_sandbox._objects import unsound  # most programs write to no repository

        problems.update(dict.fromkeys(unsound(found)))
    if not is_git:
        problems.update(_rules.planted(found.steps, root))
    if portable_names:
        problems.update(dict.fromkeys(_rules.unportable(found.steps)))
    return tuple(one for one in problems if not any((above, one[1]) in problems for above in _above(one[0])))


def _too_large(found: Differences, most: int) -> Iterator[tuple[str, str]]:
    for step in found.steps:
        if step.kind == "file" and step.made is not None:
            grown = step.made.st_size - (step.found.st_size if step.found is not None else 0)
            if grown > most and not _is_moved(found, step.path):
                yield step.path, f"was given {grown} bytes, where a program may write {most} to a file"


def _above(path: str) -> Iterator[str]:
    """The directories that a path is in: what is wrong with one of them need not be said of all that it holds."""
    return (path[:at] for at in range(len(path)) if path[at] == "/")


def changed_meanwhile(found: Differences) -> tuple[str, ...]:
    """The paths which somebody else changed since the overlay was made, of those that the program changed."""
    root, since = found.overlay.root, found.overlay.since
    changed: dict[str, None] = {}
    for step in found.steps:
        if step.found is None or step.path in found.settings or step.path in found.merged:
            continue
        if step.found.st_ctime_ns > since and not _is_index_still(found.overlay, step):
            changed[step.path] = None
        if step.kind == "drop" and stat.S_ISDIR(step.found.st_mode):
            for inside, status in walk_tree(f"{root}/{step.path}", closed=False):
                if status.st_ctime_ns > since:
                    changed[f"{step.path}/{inside}"] = None
    for path in found.suspects:
        if path in found.merged:
            continue
        above = _status(os.path.dirname(f"{root}/{path}"))
        if (above is None or above.st_ctime_ns > since) and not _is_moved(found, path):
            changed[path] = None
    return tuple(changed)


def _is_index_still(overlay: Overlay, step: Step) -> bool:
    """Whether this is a git index that says what it said when the program began, with other times in it."""
    if step.path != INDEX or step.kind != "file" or overlay.index is None:
        return False
    return overlay.index.says_the_same(since=overlay.since)


def _is_moved(found: Differences, path: str) -> bool:
    """Whether a file that the program had from the workspace has a new name, as far as size and time can tell.

    Otherwise it worked on the file at this very path, and somebody has deleted that one.
    """
    made = next((step.made for step in found.steps if step.path == path and step.made is not None), None)
    gone = (step.found for step in found.steps if step.kind == "drop" and step.found is not None)
    return made is not None and any((old.st_size, old.st_mtime_ns) == (made.st_size, made.st_mtime_ns) for old in gone)


def _apply(found: Differences, to: Merging, keep: bool) -> None:
    upper = found.overlay.upper
    above = {os.path.dirname(step.path) for step in found.steps}
    # A directory is renamed out of the way only by whoever may write to it.
    above.update(step.path for step in found.steps if step.kind == "drop" and step.found and _is_directory(step.found))
    # Open, until everything is in them.
    modes = to.open_directories(above)
    directories: dict[str, Step] = {}
    taken = Counter(step.made.st_ino for step in found.steps if step.kind == "file" and step.made is not None)
    for step in found.steps:
        path, status = step.path, step.made
        if step.kind == "drop":
            to.drop(path, step.found)
            modes.pop(path, None)
            continue
        assert status is not None, "only what is deleted has left nothing"
        mode = stat.S_IMODE(status.st_mode) & (0o3777 if stat.S_ISDIR(status.st_mode) else 0o777)
        if step.kind == "link":
            to.take_link(path, step.target)
        elif step.kind == "directory":
            to.take_directory(path, mode | 0o700, attributes(found.source(path)))
            modes[path], directories[path] = mode, step
        elif step.kind == "file":
            source = found.source(path)
            clean(source)
            # Another name of it may be in scratch, in a part of a try that is not accepted, or where nobody looks.
            is_shared = source != f"{upper}/{path}" or status.st_nlink > taken[status.st_ino]
            to.take_file(path, source, mode, step.found, keep=keep, is_shared=is_shared)
        elif stat.S_ISDIR(status.st_mode):
            to.take_mode(path, mode | 0o700)
            modes[path] = mode
        else:
            to.take_mode(path, mode)
    for path in sorted(modes, reverse=True):
        made = directories[path].made if path in directories else None
        if made is not None:
            to.set_times(path, (made.st_atime_ns, made.st_mtime_ns))
        to.take_mode(path, modes[path])


def lay_aside(found: Differences, upper: str, *, keep: bool = False) -> None:
    """Move what was changed out of an overlay into another one's upper directory, which is empty.

    With `keep` it stays there, and is copied. What is so deep that it has no path is left where it is. `forget` has then still to let go of directories.
    """
    source = found.overlay.upper
    made = {step.path for step in found.steps if step.kind != "drop"}
    shutil.copystat(source, upper, follow_symlinks=False)
    modes: dict[str, int] = {}
    with Changeable() as changeable:
        for step in found.steps:
            if step.is_too_deep or (step.kind == "drop" and step.path in made):
                continue
            for above in sorted(_above(step.path)):
                if not os.path.lexists(f"{upper}/{above}"):
                    there = f"{source}/{above}"
                    like = there if os.path.lexists(there) else f"{found.overlay.root}/{above}"
                    modes[above] = stat.S_IMODE(os.lstat(like).st_mode)
                    _make_like(like, f"{upper}/{above}", is_through=True)
            if step.made is not None and stat.S_ISDIR(step.made.st_mode):
                _make_like(found.source(step.path), f"{upper}/{step.path}")
            else:
                if not keep:
                    changeable.open(os.path.dirname(f"{source}/{step.path}"))
                place = found.source(step.path) if keep and step.kind == "file" else f"{source}/{step.path}"
                if not keep:
                    os.rename(place, f"{upper}/{step.path}")
                elif step.made is None:  # what marks it as gone
                    os.link(place, f"{upper}/{step.path}", follow_symlinks=False)
                else:
                    from wink_sandbox._copy import copy_file  # which what is merged does not need

                    copy_file(place, f"{upper}/{step.path}", step.made)
            if step.made is not None and step.kind != "link":
                modes[step.path] = _carried_mode(step.made.st_mode) if keep else stat.S_IMODE(step.made.st_mode)
        for path in sorted(modes, reverse=True):
            os.chmod(f"{upper}/{path}", modes[path])


def _make_like(source: str, target: str, *, is_through: bool = False) -> None:
    """Make a directory with another one's times and attributes, open to its owner; one that is `through` hides nothing below it."""
    os.mkdir(target, 0o700)
    shutil.copystat(source, target, follow_symlinks=False)
    os.chmod(target, 0o700)
    if is_through:
        with suppress(OSError):
            os.removexattr(target, "user.overlay.opaque")


def forget(found: Differences) -> None:
    """Take out of an overlay what has been merged, so that the rest of it can be looked at and merged later."""
    upper = found.overlay.upper
    made = {step.path for step in found.steps if step.kind != "drop"}
    with Changeable() as changeable:
        for step in reversed(found.steps):
            place = f"{upper}/{step.path}"
            changeable.open(os.path.dirname(place))
            if step.made is not None and stat.S_ISDIR(step.made.st_mode):
                changeable.open(place)
                _let_through(place)
            elif step.kind != "drop" or step.path not in made:
                _unlink(place)


def _let_through(directory: str) -> None:
    """Hide nothing of the workspace's own directory any more; it stays as long as something is in it that is to stay."""
    try:
        os.removexattr(directory, "user.overlay.opaque")
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.ENOENT, errno.ENOTSUP):
            raise
    try:
        os.rmdir(directory)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
            raise


def _unlink(place: str) -> None:
    try:
        os.unlink(place)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        pass


def _seen_again(step: Step, root: str) -> Step:
    return step if step.kind in ("drop", "mode") else replace(step, found=_file(f"{root}/{step.path}"))


def _file(place: str) -> os.stat_result | None:
    found = _status(place)
    return found if found is not None and stat.S_ISREG(found.st_mode) else None


def _is_directory(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode)


def _status(place: str) -> os.stat_result | None:
    try:
        return os.lstat(place)
    except (
        FileNotFoundError,
        NotADirectoryError,
        PermissionError,
    ):  # what is in a closed directory is nobody's to replace
        return None


def _carried_mode(mode: int) -> int:
    """The mode that something gets in the workspace: no program may leave one there that runs as its owner."""
    return stat.S_IMODE(mode) & (0o3777 if stat.S_ISDIR(mode) else 0o777)


def _version(place: str, status: os.stat_result | None, *, is_carried: bool = False) -> FileVersion | None:
    if status is None:
        return None
    mode = _carried_mode(status.st_mode) if is_carried else stat.S_IMODE(status.st_mode)
    if stat.S_ISREG(status.st_mode):
        return file_version(status.st_size, mode, lambda: _opened(place))
    if stat.S_ISLNK(status.st_mode):
        return FileVersion("link", status.st_size, mode, os.readlink(place))
    return FileVersion("directory" if stat.S_ISDIR(status.st_mode) else "other", 0, mode)


def _opened(place: str) -> BinaryIO:
    return open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _is_same(change: FileChange) -> bool:
    before, after = change.before, change.after
    if before is None or after is None or before != after:
        return before is after
    return before.kind != "file" or (before.content() is not None and before.content() == after.content())
