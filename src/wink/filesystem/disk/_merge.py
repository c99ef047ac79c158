"""Take over what a program has made in an upper directory, through a change set, so that all of it can be taken back.

What programs may do and file tools may not, such as write objects into a `.git`, is decided by whoever calls this; here
only wink's own state is out of bounds, no link is ever followed, and every step goes through the journal.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from wink.errors import FileConflict, SandboxUnavailable
from wink.filesystem._store import failure
from wink.filesystem._transaction import FileTransaction
from wink.filesystem.disk import _copies as copies
from wink.filesystem.disk._change_set import DiskChangeSet
from wink.filesystem.disk._content import copy_with_holes, is_being_written, set_mode, write_all
from wink.filesystem.disk._journal import Mark, mark
from wink.filesystem.disk._operations import Operations
from wink.filesystem.disk._root import ResolvedPath, times_of
from wink.filesystem.disk._store import DiskStore

if TYPE_CHECKING:
    from wink.filesystem._filesystem import Filesystem

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CANNOT_LINK: Final = frozenset((errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EACCES, errno.ENOTSUP))


class Was(NamedTuple):
    """What was, or is, at a path that somebody else has changed.

    `mode` has the type of the file too, as `st_mode` does, and `target` is a link's body; `content` is needed only of what
    was there, and None where it is not known. `inode` is 0 of what is gone.
    """

    mode: int
    size: int = 0
    modified_ns: int = 0
    content: bytes | None = None
    target: str = ""
    owner: tuple[int, int] | None = None
    inode: int = 0


class Merging(Operations):
    """The steps of a merge. Paths are real: a directory above one that turns out to be a link is a `FileConflict`."""

    __slots__ = ()

    def take_file(
        self,
        path: str,
        source: str,
        mode: int,
        expected: os.stat_result | None,
        *,
        keep: bool = False,
        is_shared: bool = False,
    ) -> None:
        """Make the file `source`, an absolute path, the one at `path`, with its times and attributes.

        What is there must be what was `expected`, a file that nobody has touched since, or nothing.

        Where it can, the same inode gets another name, so that size does not matter and hard links among what is taken
        stay such; with `keep` it has its old name too, until whoever keeps it lets go. One that `is_shared` has names that
        are not taken, and is copied: whoever writes to one of those must not write to what was taken. Other names of a
        file that it replaces go on showing the old one.
        """
        at = self._resolve(path)
        try:
            _check_untouched(at, expected)
            staged, fd = self._copied(source) if is_shared else self._borrowed(source, keep)
            try:
                os.fchmod(fd, mode)
                new = os.fstat(fd)
                if self._root.is_durable:
                    os.fsync(fd)
                if at.found is None:
                    if not self._place(at, staged, new, None):
                        copies.write_new(self._log, at, (staged, os.dup(fd)), stat.S_IMODE(new.st_mode))
                else:
                    self._replace(at, at.found, staged, fd, new)
            finally:
                os.close(fd)
        finally:
            self._root.beneath.close(at.fd)

    def take_link(self, path: str, target: str) -> None:
        """Make a symbolic link with whatever body a program gave it: it is read under the rules for links anyway."""
        at = self._resolve(path)
        try:
            if at.found is not None:
                raise FileConflict(path)
            self.link(at, target)
        finally:
            self._root.beneath.close(at.fd)

    def take_directory(self, path: str, mode: int, attributes: Mapping[str, bytes]) -> None:
        """Make a directory with exactly these permission bits and extended attributes."""
        at = self._resolve(path)
        try:
            if at.found is not None:
                raise FileConflict(path)
            self.make_directory(at)
            if attributes:
                self._set_attributes(at, attributes)
            self._set_mode(at, os.stat(at.name, dir_fd=at.fd, follow_symlinks=False), mode)
        finally:
            self._root.beneath.close(at.fd)

    def _set_attributes(self, at: ResolvedPath, attributes: Mapping[str, bytes]) -> None:
        fd = os.open(at.name, _READ | os.O_DIRECTORY, dir_fd=at.fd)
        try:
            for name, value in attributes.items():
                os.setxattr(fd, name, value)
        finally:
            os.close(fd)

    def take_mode(self, path: str, mode: int) -> None:
        """Give what is at `path` these permission bits."""
        at = self._resolve(path)
        try:
            if at.found is None:
                raise FileConflict(path)
            if stat.S_ISREG(at.found.st_mode):
                self.change_mode(at, at.found, mode)
            else:
                self._set_mode(at, at.found, mode)
        finally:
            self._root.beneath.close(at.fd)

    def drop(self, path: str, expected: os.stat_result | None) -> None:
        """Remove what is at `path`, and must be what was `expected`, a directory with all that is in it."""
        at = self._resolve(path)
        try:
            if at.found is None:
                raise failure(errno.ENOENT, path)
            _check_untouched(at, expected)
            self._root.check_readable(at.path, path)
            self.remove(at, at.found)
        finally:
            self._root.beneath.close(at.fd)

    def set_times(self, path: str, times: tuple[int, int]) -> None:
        """Give a directory that was made here its times, when nothing more comes into it; a rollback removes it anyway."""
        at = self._resolve(path)
        try:
            os.utime(at.name, ns=times, dir_fd=at.fd, follow_symlinks=False)
        finally:
            self._root.beneath.close(at.fd)

    def note_change(self, path: str, before: Was | None, after: Was | None) -> None:
        """Take somebody else's change of `path`, made already, into the transaction, with what was there `before`.

        Nothing at the path is touched, now or when the transaction is rolled back. `after` is what is there now, and None
        means nothing. Where the content of `before` is not known, the change cannot be undone.
        """
        staged, old = "", None
        if before is not None:
            staged, old = self._kept(before)
        new = None if after is None else Mark(after.inode, after.size, after.modified_ns, after.mode)
        self._log.record("S", path, (), staged=staged, old=old, new=new, note="" if after is None else after.target)

    def _kept(self, before: Was) -> tuple[str, Mark]:
        """A copy of what was there in staging, with its mode and times."""
        log, kind = self._log, stat.S_IFMT(before.mode)
        if kind == stat.S_IFLNK:
            log.ready()
            staged = log.name()
            os.symlink(before.target, staged, dir_fd=self._root.state.staged)
            return staged, mark(os.stat(staged, dir_fd=self._root.state.staged, follow_symlinks=False))
        if kind != stat.S_IFREG or before.content is None:
            return "", Mark(before.inode, before.size, before.modified_ns, before.mode)
        staged, fd = log.create(0o600)
        try:
            write_all(fd, before.content)
            owner = before.owner
            if owner is not None and owner != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):
                    os.fchown(fd, *owner)
            os.fchmod(fd, stat.S_IMODE(before.mode))
            os.utime(fd, ns=(before.modified_ns, before.modified_ns))
            return staged, mark(os.fstat(fd))
        finally:
            os.close(fd)

    def _resolve(self, path: str) -> ResolvedPath:
        self._root.check_readable(path, path)
        fd, name, real = self._root.beneath.parent(path)
        try:
            if real != path:
                raise FileConflict(path)
            found = self._root.status(fd, name)
        except BaseException:
            self._root.beneath.close(fd)
            raise
        return ResolvedPath(fd, name, real, path, found)

    def _replace(self, at: ResolvedPath, found: os.stat_result, staged: str, fd: int, new: os.stat_result) -> None:
        try:
            old_fd = os.open(at.name, _READ, dir_fd=at.fd) if stat.S_ISREG(found.st_mode) else -1
        except PermissionError:
            old_fd = -1
        try:
            if old_fd >= 0 and found.st_nlink == 1 and is_being_written(old_fd):
                raise FileConflict(at.asked)
            record = self._log.record(
                "X", at.path, times_of(at.fd), staged=staged, old=mark(found), new=mark(new), content=None
            )
            if not self._exchange(at, record, old_fd if found.st_nlink == 1 else -1, None):
                copies.rewrite(self._log, at, found, (staged, os.dup(fd)), stat.S_IMODE(new.st_mode))
        finally:
            if old_fd >= 0:
                os.close(old_fd)

    def _set_mode(self, at: ResolvedPath, found: os.stat_result, mode: int) -> None:
        if mode != stat.S_IMODE(found.st_mode):
            self._log.record("P", at.path, (), old=mark(found), note=str(mode))
            set_mode(at.fd, at.name, mode)

    def _borrowed(self, source: str, keep: bool) -> tuple[str, int]:
        """The file under a name in staging, and a descriptor of it."""
        log, root = self._log, self._root
        log.ready()
        staged = log.name()
        try:
            if keep:
                os.link(source, staged, dst_dir_fd=root.state.staged, follow_symlinks=False)
            else:
                os.rename(source, staged, dst_dir_fd=root.state.staged)
        except OSError as error:
            if error.errno not in _CANNOT_LINK:
                raise
            return self._copied(source)
        try:
            return staged, os.open(staged, _READ, dir_fd=root.state.staged)
        except BaseException:
            log.drop(staged)
            raise

    def _copied(self, source: str) -> tuple[str, int]:
        staged, fd = self._log.create(0o600)
        try:
            reading = os.open(source, _READ)
            try:
                found = os.fstat(reading)
                copy_with_holes(reading, fd)
                if found.st_uid != os.geteuid() or found.st_gid != os.getegid():
                    os.fchown(fd, found.st_uid, found.st_gid)
                for name in os.listxattr(reading):
                    os.setxattr(fd, name, os.getxattr(reading, name))
                os.fchmod(fd, stat.S_IMODE(found.st_mode))
                os.utime(fd, ns=(found.st_atime_ns, found.st_mtime_ns))
            finally:
                os.close(reading)
        except BaseException:
            os.close(fd)
            self._log.drop(staged)
            raise
        return staged, fd


def _check_untouched(at: ResolvedPath, expected: os.stat_result | None) -> None:
    """Raise `FileConflict` where something else is there by now, or the file has been saved."""
    found = at.found
    if found is None or expected is None:
        is_untouched = found is expected
    elif stat.S_ISDIR(expected.st_mode):
        is_untouched = found.st_ino == expected.st_ino
    else:
        # Of a file with more names, a step before this one may have moved another.
        is_touched = found.st_ctime_ns != expected.st_ctime_ns and found.st_nlink == expected.st_nlink == 1
        is_untouched = mark(found) == mark(expected) and not is_touched
    if not is_untouched:
        raise FileConflict(at.asked)


def check_program_may_change(transaction: FileTransaction, path: str) -> None:
    """Raise `PathRefused` where nobody but wink and the running Python itself may change anything."""
    _disk_store(transaction)._root.check_writable(path, path)  # pyright: ignore[reportPrivateUsage]


def program_state(files: Filesystem | FileTransaction) -> str:
    """The directory for what belongs to these files and is none of them, made if need be: overlays of programs lie there.

    Raises `SandboxUnavailable` for files that are in memory.
    """
    state = _disk_store(files)._root.state  # pyright: ignore[reportPrivateUsage]
    state.create()
    return state.where


@contextmanager
def merging(transaction: FileTransaction, path: str) -> Generator[Merging]:
    """The steps of a merge in a transaction, the first of which is at `path`; raises as any change of it does."""
    with transaction.changing(path) as change_set:
        assert isinstance(change_set, DiskChangeSet), "programs run over files on the disk"
        yield Merging(change_set._root, change_set._log)  # pyright: ignore[reportPrivateUsage]


def _disk_store(files: Filesystem | FileTransaction) -> DiskStore:
    tree = files.tree if isinstance(files, FileTransaction) else files._transaction.tree  # pyright: ignore[reportPrivateUsage]
    if not isinstance(tree.store, DiskStore):
        raise SandboxUnavailable("overlay", (f"programs need files on the disk, and these are in {tree.store.root}",))
    return tree.store
