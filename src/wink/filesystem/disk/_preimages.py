"""Free what transactions replaced, unless somebody has written to it since: then it is theirs, and is kept aside.

Whoever had a file open when it was replaced goes on writing to what lies in staging now. No transaction commits while the
kernel knows of such a program; this is for files of which it tells nothing, and for those in deleted directories.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Final

from wink.filesystem.disk._content import is_being_written
from wink.filesystem.disk._journal import Mark, Record, mark
from wink.filesystem.disk._report import Conflict
from wink.filesystem.disk._root import DiskRoot, Replaced
from wink.filesystem.disk._trees import regular_files, remove

IN_USE: Final = "is open for writing in another program; close it there, or leave it alone"
SAVED_WITHIN: Final = "was saved by somebody else while its directory was being deleted; look at it again"
_TAKEN: Final = "was saved anew by somebody else; what was there before"
_SINCE: Final = "was replaced or deleted by a call, and written to afterwards by a program that had it open"
_UNKNOWN: Final = object()
_TRIES: Final = 5
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def is_in_use(fd: int, name: str, found: os.stat_result) -> bool | None:
    """Whether a program may yet write to a regular file by no other name than this; None where nobody knows."""
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        return False
    try:
        opened = os.open(name, _READ, dir_fd=fd)
    except OSError:
        return None
    try:
        return is_being_written(opened)
    finally:
        os.close(opened)


def marks_within(fd: int, name: str, real: str, leftovers: Leftovers) -> dict[str, Mark]:
    """By what each file in a directory is known again; what the transaction itself left there, by what that was."""
    marks: dict[str, Mark] = {}
    for path, _, _, found in regular_files(fd, name):
        marks[path] = leftovers.at(f"{real}/{path}") or mark(found)
    return marks


def touched_within(fd: int, name: str, before: Mapping[str, Mark]) -> tuple[str, str]:
    """The first file in a directory that somebody has saved since or is about to, and which of them; nothing for none."""
    for path, directory, child, found in regular_files(fd, name):
        known = before.get(path)
        if known is None or not known.fits(found):
            return path, SAVED_WITHIN
        if is_in_use(directory, child, found):
            return path, IN_USE
    return "", ""


def keep_aside(root: DiskRoot, fd: int, name: str, wanted: str) -> str:
    """Move something to the conflicts; gives where it is now, relative to the state directory."""
    conflicts, attempt, chosen = root.state.conflicts(), 0, wanted
    while True:
        try:
            root.place(fd, name, conflicts, chosen)
        except FileExistsError:
            attempt += 1
            chosen = f"{wanted}-{attempt}"
            continue
        return f"conflicts/{chosen}"


def set_aside(root: DiskRoot, staged: str, path: str) -> Conflict:
    """Keep a file whose name somebody took in the moment in which it was in staging: theirs stands."""
    conflict = Conflict(path, keep_aside(root, root.state.staged, staged, staged), _TAKEN)
    root.report(conflict)
    return conflict


def release(root: DiskRoot, staged: str) -> tuple[Conflict, ...]:
    """Free one thing in staging; tells what of it is kept."""
    staging, is_frozen = root.state.staged, root.replaced.get(staged, _UNKNOWN) is None
    known = root.replaced.pop(staged, None)
    top = root.status(staging, staged)
    if top is None:
        return ()
    path = staged if known is None else known.path
    kept: list[Conflict] = []
    if stat.S_ISDIR(top.st_mode):
        since = top.st_ctime_ns if known is None else known.mark.modified_ns
        for inside, fd, name, found in regular_files(staging, staged):
            late = found.st_ctime_ns > since or (_has_fine_times(root) and found.st_ctime_ns == since)
            if is_in_use(fd, name, found) or (late and found.st_nlink == 1):
                at = keep_aside(root, fd, name, f"{staged}-{len(kept) + 1}")
                kept.append(_reported(root, f"{path}/{inside}", at))
    elif not staged.endswith("~") and _is_theirs(root, staged, top, known, is_frozen=is_frozen):
        # Second names, and copies of new content, are never anybody else's.
        return (_reported(root, path, keep_aside(root, staging, staged, staged)),)
    remove(staging, staged)
    return tuple(kept)


def _is_theirs(root: DiskRoot, staged: str, found: os.stat_result, known: Replaced | None, *, is_frozen: bool) -> bool:
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        return False
    # The rename into staging is later than the last write, unless somebody wrote to it there.
    written_last = found.st_mtime_ns >= found.st_ctime_ns
    if is_frozen:
        return written_last and _has_fine_times(root)
    in_use = is_in_use(root.state.staged, staged, found)
    if in_use:
        return True
    if known is not None:
        return not known.mark.fits(found)
    return written_last and (in_use is None or _has_fine_times(root))


def _has_fine_times(root: DiskRoot) -> bool:
    """Whether two changes of a file, with a look at it in between, never show the same time; tried, where nobody knows."""
    staging = root.state.staged
    for _ in range(_TRIES):
        if root.has_fine_times is not None:
            break
        name = f"times.{os.urandom(6).hex()}"
        try:
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=staging)
        except OSError:
            break
        try:
            os.write(fd, b"x")
            written = os.fstat(fd).st_mtime_ns
            os.fchmod(fd, 0o400)
            root.learn_times(written, os.fstat(fd).st_ctime_ns)
        finally:
            os.close(fd)
            os.unlink(name, dir_fd=staging)
    return bool(root.has_fine_times)


def _reported(root: DiskRoot, path: str, kept: str) -> Conflict:
    conflict = Conflict(path, kept, _SINCE)
    root.report(conflict)
    logging.getLogger("wink.filesystem").warning("%s %s; it is kept in %s of wink's state", path, _SINCE, kept)
    return conflict


_NOTHING = Mark(0, 0, 0, 0)


class Leftovers:
    """The marks of what a log's records have left at paths.

    Records come and go at the end of their list; nothing is looked at before somebody asks.
    """

    __slots__ = ("_marks", "_noted", "_records", "_rewritten")

    def __init__(self, records: Sequence[Record], rewritten: Mapping[int, Mark]) -> None:
        self._records, self._rewritten = records, rewritten
        self._marks: dict[str, list[Mark]] = {}
        self._noted: list[tuple[Record, list[str]]] = []

    def at(self, path: str) -> Mark | None:
        """What must be at a path; None where the transaction has changed nothing."""
        self._catch_up()
        marks = self._marks.get(path)
        return marks[-1] if marks else None

    def is_foreign(self, path: str, found: os.stat_result) -> bool:
        """Whether somebody has saved a file that the transaction had changed."""
        known = self.at(path)
        return known is not None and not known.fits(found)

    def _catch_up(self) -> None:
        records, noted = self._records, self._noted
        while noted and (len(noted) > len(records) or noted[-1][0] is not records[len(noted) - 1]):
            for path in noted.pop()[1]:
                self._marks[path].pop()
        for record in records[len(noted) :]:
            noted.append((record, [self._put(path, mark) for path, mark in self._changes(record)]))

    def _changes(self, record: Record) -> list[tuple[str, Mark]]:
        _, kind, path, _, old, new, _, target = record
        new = self._rewritten.get(record.seq, new)
        if new is not None:
            return [(path, new)]
        if kind in "DET":
            return [(path, _NOTHING)]
        if kind != "N" or old is None:
            return []
        beneath = path + "/"
        within = [(inside, marks[-1]) for inside, marks in self._marks.items() if marks and inside.startswith(beneath)]
        moved = [(f"{target}/{inside[len(beneath) :]}", mark) for inside, mark in within]
        return [*moved, *((inside, _NOTHING) for inside, _ in within), (target, old), (path, _NOTHING)]

    def _put(self, path: str, mark: Mark) -> str:
        self._marks.setdefault(path, []).append(mark)
        return path
