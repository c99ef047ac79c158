"""Take back records whose pre-image is a copy: the same rules as for the others, by content instead of by inode."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from wink.filesystem.disk._content import copy_all, extended_attributes, keep_others_out, set_attributes, set_mode
from wink.filesystem.disk._journal import Record
from wink.filesystem.disk._report import Conflict
from wink.filesystem.disk._root import DiskRoot
from wink.filesystem.disk._trees import is_empty

if TYPE_CHECKING:
    from wink.filesystem.disk._undo import Undo

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BOTH = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 16


class Copies:
    """Steps of an `Undo`."""

    __slots__ = ("_root", "_staged", "_undo")

    def __init__(self, root: DiskRoot, undo: Undo) -> None:
        self._root, self._undo, self._staged = root, undo, root.state.staged

    def take_back(self, record: Record, fd: int, name: str) -> None:
        """One step."""
        {"W": self._rewritten, "K": self._written, "E": self._deleted, "T": self._removed}[record.kind](
            record, fd, name
        )

    def _rewritten(self, record: Record, fd: int, name: str) -> None:
        old, kept = record.old, record.staged
        assert old is not None
        here = self._root.status(fd, name)
        if self._root.status(self._staged, kept) is not None:
            if here is not None and here.st_ino == old.ino:
                self._write_back(record, fd, name)
            else:
                if here is not None:
                    self._set_aside(record, fd, name, here)
                self._recreate(record, fd, name)
        self._drop_spare(record, fd)
        # The pre-image goes last: it is what says that this step is still to be done.
        self._undo.unlink(kept + "~")
        self._undo.unlink(kept)

    def _written(self, record: Record, fd: int, name: str) -> None:
        here = self._root.status(fd, name)
        if here is not None and self._is_ours(record, fd, name, here):
            os.unlink(name, dir_fd=fd)
        elif here is not None and (record.note or self._root.status(self._staged, record.staged + "~") is not None):
            self._set_aside(record, fd, name, here)
        self._undo.unlink(record.staged + "~")

    def _deleted(self, record: Record, fd: int, name: str) -> None:
        old, kept = record.old, record.staged
        assert old is not None
        here = self._root.status(fd, name)
        if self._root.status(self._staged, kept) is None:
            if here is None:
                self._undo.lost.append(record.path)
            return
        if here is None or (here.st_ino != old.ino and not self._is_back(record, fd, name, here)):
            if here is not None:
                self._set_aside(record, fd, name, here)
            self._recreate(record, fd, name)
        here = self._root.status(fd, name)
        if here is not None and here.st_ino != old.ino:
            self._undo.renumber(old, here)
        self._drop_spare(record, fd)
        # Only when the new inode has been noted: a repeated step could not find out any more which one it is.
        self._undo.done_with.append(kept)

    def _removed(self, record: Record, fd: int, name: str) -> None:
        old = record.old
        assert old is not None
        try:
            os.mkdir(name, 0o700, dir_fd=fd)
        except FileExistsError:
            if self._is_in_use(fd, name):
                return
        set_mode(fd, name, stat.S_IMODE(old.mode))
        os.utime(name, ns=(old.modified_ns, old.modified_ns), dir_fd=fd, follow_symlinks=False)
        here = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if here.st_ino != old.ino:
            self._undo.renumber(old, here)

    def _is_in_use(self, fd: int, name: str) -> bool:
        """Whether this is anything but an empty directory, such as we leave when we die in the middle of making it."""
        try:
            return not is_empty(fd, name)
        except NotADirectoryError:
            return True

    def _write_back(self, record: Record, fd: int, name: str) -> None:
        old = record.old
        assert old is not None
        after = self._undo.rewritten.get(record.seq)
        target = os.open(name, _BOTH, dir_fd=fd)
        source = os.open(record.staged, _READ, dir_fd=self._staged)
        try:
            keep_others_out(target)
            found = os.fstat(target)
            if after is not None and after.ino == found.st_ino:
                ours = after.fits(found)
            else:
                ours = self._is_mixture(record, source, target)
            if not ours:
                self._keep_copy(record, target)
            # If this fails half-way, what is there then is a mixture that is ours.
            self._undo.rewritten.pop(record.seq, None)
            os.lseek(source, 0, os.SEEK_SET)
            os.lseek(target, 0, os.SEEK_SET)
            os.ftruncate(target, copy_all(source, target))
            os.utime(target, ns=(found.st_atime_ns, old.modified_ns))
            if self._root.is_durable:
                os.fsync(target)
        finally:
            os.close(source)
            os.close(target)

    def _is_mixture(self, record: Record, source: int, target: int) -> bool:
        """Whether a file can be what an interrupted write of ours left: old to here, new to there, and old again."""
        size = os.fstat(target).st_size
        at = _agree(target, source, 0)
        try:
            new = os.open(record.staged + "~", _READ, dir_fd=self._staged)
        except FileNotFoundError:
            return at >= size  # written back before, only that was not noted any more
        try:
            at = _agree(target, new, at)
            return at >= size or _agree(target, source, at) >= size
        finally:
            os.close(new)

    def _is_back(self, record: Record, fd: int, name: str, here: os.stat_result) -> bool:
        """Whether the file was restored before, only that was not noted any more."""
        old = record.old
        if old is None or here.st_mtime_ns != old.modified_ns or here.st_size != old.size:
            return False
        if record.note:
            return stat.S_ISLNK(here.st_mode) and os.readlink(name, dir_fd=fd) == record.note
        return stat.S_ISREG(here.st_mode) and self._has_content_of(record.staged, fd, name, old.size)

    def _is_ours(self, record: Record, fd: int, name: str, here: os.stat_result) -> bool:
        if record.note:
            return stat.S_ISLNK(here.st_mode) and os.readlink(name, dir_fd=fd) == record.note
        if not stat.S_ISREG(here.st_mode) or self._root.status(self._staged, record.staged + "~") is None:
            return False
        return self._has_content_of(record.staged + "~", fd, name)

    def _has_content_of(self, staged: str, fd: int, name: str, least: int = 0) -> bool:
        """Whether a file has what one in staging has, or the beginning of that, and `least` so many bytes."""
        target = os.open(name, _READ, dir_fd=fd)
        source = os.open(staged, _READ, dir_fd=self._staged)
        try:
            return _agree(target, source, 0) >= max(os.fstat(target).st_size, least)
        finally:
            os.close(source)
            os.close(target)

    def _set_aside(self, record: Record, fd: int, name: str, here: os.stat_result) -> None:
        """Make room for what was there, keeping what somebody put in its place."""
        aside = record.staged + "!"
        try:
            self._root.take(fd, name, aside)
        except OSError as error:
            if error.errno != errno.EXDEV or not stat.S_ISREG(here.st_mode):
                raise
            source = os.open(name, _READ, dir_fd=fd)
            try:
                self._keep_copy(record, source)
            finally:
                os.close(source)
            os.unlink(name, dir_fd=fd)
            return
        self._undo.keep(record.path, aside)

    def _keep_copy(self, record: Record, source: int) -> None:
        aside = record.staged + "!"
        self._undo.unlink(aside)
        copy = os.open(aside, _NEW, 0o600, dir_fd=self._staged)
        try:
            os.lseek(source, 0, os.SEEK_SET)
            copy_all(source, copy)
        finally:
            os.close(copy)
        self._undo.keep(record.path, aside)

    def _drop_spare(self, record: Record, fd: int) -> None:
        """Remove what an earlier attempt left, or the second name that a rename by links left."""
        if self._root.status(fd, _spare(record)) is not None:
            os.unlink(_spare(record), dir_fd=fd)

    def _recreate(self, record: Record, fd: int, name: str) -> None:
        """Make a file anew from its copy, complete before it gets its name."""
        self._drop_spare(record, fd)
        spare = _spare(record)
        if record.note:
            os.symlink(record.note, spare, dir_fd=fd)
            times = record.old.modified_ns if record.old is not None else 0
            os.utime(spare, ns=(times, times), dir_fd=fd, follow_symlinks=False)
        else:
            source = os.open(record.staged, _READ, dir_fd=self._staged)
            target = os.open(spare, _NEW, 0o600, dir_fd=fd)
            try:
                copy_all(source, target)
                was = os.fstat(source)
                if not set_attributes(target, was, os.fstat(target), extended_attributes(source)):
                    self._undo.conflicts.append(Conflict(record.path, None, "lost its owner or extended attributes"))
                os.fchmod(target, stat.S_IMODE(was.st_mode))
                os.utime(target, ns=(was.st_atime_ns, was.st_mtime_ns))
            finally:
                os.close(source)
                os.close(target)
        self._root.place(fd, spare, fd, name)


def _spare(record: Record) -> str:
    return f".wink-{record.staged}"


def _agree(one: int, two: int, at: int) -> int:
    """Up to which offset two files are the same, from an offset up to which it does not matter."""
    while True:
        left, right = os.pread(one, _BLOCK, at), os.pread(two, _BLOCK, at)
        if left == right and left:
            at += len(left)
            continue
        same = next(
            (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
        )
        return at + same
