"""Free what transactions replaced, unless somebody has written to it since: then it is theirs, and is kept aside.

Whoever had a file open when it was replaced goes on writing to what lies in staging now. No transaction commits while the
kernel knows of such a program; this is for files of which it tells nothing, and for those in deleted directories.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping
from typing import Final

from wink.filesystem._disk_content import is_being_written
from wink.filesystem._disk_ground import Ground, Replaced
from wink.filesystem._disk_left import Left
from wink.filesystem._disk_trees import regular_files, remove
from wink.filesystem._journal_records import Mark, mark
from wink.filesystem._journal_report import Conflict

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


def marks_within(fd: int, name: str, real: str, left: Left) -> dict[str, Mark]:
    """By what each file in a directory is known again; what the transaction itself left there, by what that was."""
    marks: dict[str, Mark] = {}
    for path, _, _, found in regular_files(fd, name):
        marks[path] = left.at(f"{real}/{path}") or mark(found)
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


def keep_aside(ground: Ground, fd: int, name: str, wanted: str) -> str:
    """Move something to the conflicts; gives where it is now, relative to the state directory."""
    conflicts, attempt, chosen = ground.state.conflicts(), 0, wanted
    while True:
        try:
            ground.place(fd, name, conflicts, chosen)
        except FileExistsError:
            attempt += 1
            chosen = f"{wanted}-{attempt}"
            continue
        return f"conflicts/{chosen}"


def set_aside(ground: Ground, staged: str, path: str) -> Conflict:
    """Keep a file whose name somebody took in the moment in which it was in staging: theirs stands."""
    conflict = Conflict(path, keep_aside(ground, ground.state.staged, staged, staged), _TAKEN)
    ground.report(conflict)
    return conflict


def release(ground: Ground, staged: str) -> tuple[Conflict, ...]:
    """Free one thing in staging; tells what of it is kept."""
    staging, is_frozen = ground.state.staged, ground.replaced.get(staged, _UNKNOWN) is None
    known = ground.replaced.pop(staged, None)
    top = ground.status(staging, staged)
    if top is None:
        return ()
    path = staged if known is None else known.path
    kept: list[Conflict] = []
    if stat.S_ISDIR(top.st_mode):
        since = top.st_ctime_ns if known is None else known.mark.modified_ns
        for inside, fd, name, found in regular_files(staging, staged):
            late = found.st_ctime_ns > since or (_has_fine_times(ground) and found.st_ctime_ns == since)
            if is_in_use(fd, name, found) or (late and found.st_nlink == 1):
                at = keep_aside(ground, fd, name, f"{staged}-{len(kept) + 1}")
                kept.append(_reported(ground, f"{path}/{inside}", at))
    elif not staged.endswith("~") and _is_theirs(ground, staged, top, known, is_frozen=is_frozen):
        # Second names, and copies of new content, are never anybody else's.
        return (_reported(ground, path, keep_aside(ground, staging, staged, staged)),)
    remove(staging, staged)
    return tuple(kept)


def _is_theirs(ground: Ground, staged: str, found: os.stat_result, known: Replaced | None, *, is_frozen: bool) -> bool:
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        return False
    # The rename into staging is later than the last write, unless somebody wrote to it there.
    written_last = found.st_mtime_ns >= found.st_ctime_ns
    if is_frozen:
        return written_last and _has_fine_times(ground)
    in_use = is_in_use(ground.state.staged, staged, found)
    if in_use:
        return True
    if known is not None:
        return not known.mark.fits(found)
    return written_last and (in_use is None or _has_fine_times(ground))


def _has_fine_times(ground: Ground) -> bool:
    """Whether two changes of a file, with a look at it in between, never show the same time; tried, where nobody knows."""
    staging = ground.state.staged
    for _ in range(_TRIES):
        if ground.has_fine_times is not None:
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
            ground.learn_times(written, os.fstat(fd).st_ctime_ns)
        finally:
            os.close(fd)
            os.unlink(name, dir_fd=staging)
    return bool(ground.has_fine_times)


def _reported(ground: Ground, path: str, kept: str) -> Conflict:
    conflict = Conflict(path, kept, _SINCE)
    ground.report(conflict)
    logging.getLogger("wink.filesystem").warning("%s %s; it is kept in %s of wink's state", path, _SINCE, kept)
    return conflict
