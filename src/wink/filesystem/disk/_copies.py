"""Make changes where names cannot be exchanged: closed directories, other mounts, attributes that cannot be given.

The pre-image is a copy then, and the file itself is written to. What took place and how to take it back are in the same
journal, under kinds of their own. What moves to another mount is made anew there, and then removed here.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from wink.errors import FileConflict
from wink.filesystem._store import Node
from wink.filesystem.disk._content import (
    copy_all,
    extended_attributes,
    is_being_written,
    keep_others_out,
    set_attributes,
    set_mode,
    write_all,
)
from wink.filesystem.disk._journal import Record, mark
from wink.filesystem.disk._log import Log
from wink.filesystem.disk._preimages import IN_USE
from wink.filesystem.disk._root import DiskRoot, ResolvedPath, node_of, times_of
from wink.filesystem.disk._trees import below

if TYPE_CHECKING:
    from wink.filesystem.disk._operations import Operations


CANNOT_RENAME: Final = frozenset((errno.EXDEV, errno.EACCES, errno.EPERM, errno.EBUSY, errno.EMLINK))
"""Why a name cannot be exchanged with one in staging although the file itself may well be changed."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def rewrite(
    log: Log, at: ResolvedPath, found: os.stat_result, content: bytes | tuple[str, int], mode: int | None
) -> Node:
    """Put new content into an existing file, which keeps its inode, owner and attributes."""
    staged = _new_content(log, content)
    record: Record | None = None
    try:
        _copy(log, at, found, staged)
        fd = os.open(at.name, _WRITE, dir_fd=at.fd)
        try:
            keep_others_out(fd)
            if not mark(found).fits(os.fstat(fd)):
                raise FileConflict(at.asked)
            known = content if isinstance(content, bytes) else None
            record = log.record("W", at.path, times_of(at.fd), staged=staged, old=mark(found), content=known)
            _pour(log, staged, fd)
            log.rewritten[record.seq] = mark(os.fstat(fd))
        finally:
            os.close(fd)
    finally:
        if record is None:
            log.drop(staged + "~")
            log.drop(staged)
    if mode is not None and mode != stat.S_IMODE(found.st_mode):
        log.record("P", at.path, (), old=mark(found), note=str(mode))
        set_mode(at.fd, at.name, mode)
    return node_of(os.stat(at.name, dir_fd=at.fd, follow_symlinks=False))


def write_new(log: Log, at: ResolvedPath, content: bytes | tuple[str, int], mode: int | None) -> Node:
    """Make a file on another mount."""
    staged = _new_content(log, content)
    known = content if isinstance(content, bytes) else None
    record = log.record("K", at.path, times_of(at.fd), staged=staged, content=known)
    try:
        fd = os.open(at.name, _WRITE | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode, dir_fd=at.fd)
    except OSError:
        log.withdraw(record)
        log.drop(staged + "~")
        raise
    try:
        if mode is not None:
            os.fchmod(fd, mode)
        _pour(log, staged, fd)
        made = os.fstat(fd)
        log.rewritten[record.seq] = mark(made)
        return node_of(made)
    finally:
        os.close(fd)


def write_link(log: Log, at: ResolvedPath, target: str) -> None:
    """Make a link on another mount."""
    record = log.record("K", at.path, times_of(at.fd), staged=log.name(), note=target)
    try:
        os.symlink(target, at.name, dir_fd=at.fd)
    except FileExistsError:
        log.withdraw(record)
        raise


def remove_copied(log: Log, at: ResolvedPath, found: os.stat_result) -> None:
    """Remove what staging cannot take, one entry at a time, the deepest first."""
    if not stat.S_ISDIR(found.st_mode):
        _remove_one(log, at.fd, at.name, at.path, found)
        return
    inside = list(below(at.fd, at.name))
    for path, child, _ in reversed(inside):
        real = f"{at.path}/{path}"
        fd = log.root.beneath.directory(real.rpartition("/")[0])
        try:
            _remove_one(log, fd, real.rpartition("/")[2], real, child)
        finally:
            log.root.beneath.close(fd)
    _remove_one(log, at.fd, at.name, at.path, found)


def _remove_one(log: Log, fd: int, name: str, path: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        log.record("T", path, times_of(fd), old=mark(found))
        os.rmdir(name, dir_fd=fd)
        return
    at = ResolvedPath(fd, name, path, path, found)
    staged = log.name()
    note = ""
    if stat.S_ISLNK(found.st_mode):
        note = os.readlink(name, dir_fd=fd)
        log.ready()
        os.symlink(note, staged, dir_fd=log.root.state.staged)
    elif stat.S_ISREG(found.st_mode):
        _copy(log, at, found, staged)
    else:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    log.record("E", path, times_of(fd), staged=staged, old=mark(found), note=note)
    os.unlink(name, dir_fd=fd)


def _new_content(log: Log, content: bytes | tuple[str, int]) -> str:
    """Put the new content beside the place of the pre-image: with both, an interrupted write can be recognised."""
    if isinstance(content, bytes):
        staged = log.name()
        _, fd = log.create(0o600, "~", staged)
        try:
            write_all(fd, content)
            if log.root.is_durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        return staged
    name, fd = content
    staging = log.root.state.staged
    os.rename(name, name + "~", src_dir_fd=staging, dst_dir_fd=staging)
    os.close(fd)
    return name


def _copy(log: Log, at: ResolvedPath, found: os.stat_result, staged: str) -> None:
    """Copy a file with its attributes into staging, and make sure that nobody changed it meanwhile."""
    source = os.open(at.name, _READ, dir_fd=at.fd)
    try:
        if is_being_written(source):
            raise FileConflict(at.asked, IN_USE)
        _, target = log.create(0o600, "", staged)
        try:
            copy_all(source, target)
            set_attributes(target, found, os.fstat(target), extended_attributes(source))
            os.fchmod(target, stat.S_IMODE(found.st_mode))
            os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
            if log.root.is_durable:
                os.fsync(target)
                # Its name too: what comes next destroys what it is a copy of.
                os.fsync(log.root.state.staged)
        finally:
            os.close(target)
        if not mark(found).fits(os.fstat(source)):
            raise FileConflict(at.asked)
    finally:
        os.close(source)


def _pour(log: Log, staged: str, target: int) -> None:
    source = os.open(staged + "~", _READ, dir_fd=log.root.state.staged)
    try:
        os.ftruncate(target, copy_all(source, target))
    finally:
        os.close(source)
    if log.root.is_durable:
        os.fsync(target)


def move_by_copy(
    operations: Operations, root: DiskRoot, here: ResolvedPath, there: ResolvedPath, found: os.stat_result
) -> None:
    """Move a file, a link, or a directory with all that is in it."""
    _copy_one(operations, here.fd, here.name, there, found, None)
    if stat.S_ISDIR(found.st_mode):
        for path, child, target in list(below(here.fd, here.name)):
            above, _, name = path.rpartition("/")
            source = root.beneath.directory(f"{here.path}/{above}" if above else here.path)
            try:
                real = f"{there.path}/{path}"
                into = root.beneath.directory(real.rpartition("/")[0])
                try:
                    _copy_one(
                        operations, source, name, ResolvedPath(into, name, real, there.asked, None), child, target
                    )
                finally:
                    root.beneath.close(into)
            finally:
                root.beneath.close(source)
    operations.remove(here, found)


def _copy_one(
    operations: Operations, fd: int, name: str, there: ResolvedPath, found: os.stat_result, target: str | None
) -> None:
    mode = stat.S_IMODE(found.st_mode) & 0o777
    if stat.S_ISDIR(found.st_mode):
        operations.make_directory(there)
        # As the maker's, so that it can be filled; a mode that forbids this is not kept.
        operations.change_mode(there, os.stat(there.name, dir_fd=there.fd, follow_symlinks=False), mode | 0o700)
    elif stat.S_ISLNK(found.st_mode):
        operations.link(there, os.readlink(name, dir_fd=fd) if target is None else target)
    elif stat.S_ISREG(found.st_mode):
        operations.create(there, operations.staged_copy(fd, name), exclusive=True, mode=mode)
    else:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
