"""Change files on the disk so that every change can be taken back, whatever happens in between.

What an earlier transaction replaced can become the file at a path again as the inode that it is: size does not matter then. It is
borrowed first: it gets a name of this transaction in staging, from where it changes places with what is at the path as
anything new does. Whoever takes that back gives it its old name in staging again, and never removes it.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from wink.errors import FileConflict, PathRefused, TransactionError, WinkError
from wink.filesystem._change import FileChange
from wink.filesystem._git_data import restoring
from wink.filesystem._paths import check_link, is_protected_name
from wink.filesystem._store import Node, Staging, failure
from wink.filesystem.disk._beneath import NOT_A_FILE, named
from wink.filesystem.disk._content import Attributes
from wink.filesystem.disk._copies import CANNOT_RENAME
from wink.filesystem.disk._journal import mark
from wink.filesystem.disk._log import DOOMED, DiskStaging, Log, directories
from wink.filesystem.disk._operations import Operations, taken
from wink.filesystem.disk._preimages import IN_USE, is_in_use
from wink.filesystem.disk._report import Conflict
from wink.filesystem.disk._root import DiskRoot, Replaced, ResolvedPath, check_permitted, node_of, resolve, times_of
from wink.filesystem.disk._trees import has_name

if TYPE_CHECKING:
    import os


class DiskChangeSet:
    """Implements `ChangeSet`. `conflicts` tells what a rollback found where it did not expect it."""

    __slots__ = ("_log", "_operations", "_root")

    def __init__(self, root: DiskRoot, log: Log) -> None:
        self._root: Final = root
        self._log: Final = log
        self._operations: Final = Operations(root, log)

    @property
    def position(self) -> int:
        """How many records were written and not taken back."""
        return len(self._log.records)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What somebody else had saved where a rollback of this change set put files back."""
        return tuple(self._log.conflicts)

    def stage(self) -> DiskStaging:
        """Start new content."""
        return DiskStaging(self._log)

    def put(
        self,
        path: str,
        content: bytes | Staging,
        *,
        exclusive: bool = False,
        existing: bool = False,
        mode: int | None = None,
        expected: tuple[int, ...] | None = None,
        replacing: bytes | str | None = None,
        like: Attributes | None = None,
    ) -> Node:
        """Make `path` a file with this content, atomically.

        With `expected`, an existing file must still be of that identity, and with `replacing` have that content, otherwise
        `FileConflict`. `like` are the attributes that a file of this content had, to be given back to it.
        """
        position = len(self._log.records)
        mode = None if mode is None else mode & 0o777
        try:
            at = resolve(self._root, path, follow=not exclusive, creates=not existing)
            try:
                found = at.found
                if found is None:
                    if existing:
                        raise failure(errno.ENOENT, path)
                    if expected is not None or replacing is not None:
                        raise FileConflict(path)
                    return self._operations.create(at, taken(content), exclusive, mode, like)
                if exclusive:
                    raise failure(errno.EEXIST, path)
                if stat.S_ISDIR(found.st_mode):
                    raise failure(errno.EISDIR, path)
                if not stat.S_ISREG(found.st_mode):
                    raise PathRefused(path, NOT_A_FILE)
                if expected is not None and node_of(found).identity != expected:
                    raise FileConflict(path)
                check_permitted(at, found)
                return self._operations.overwrite(at, found, taken(content), mode, replacing, like)
            finally:
                self._root.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def put_stored(self, path: str, stored: str) -> bool:
        """Make `path` the very file that an earlier transaction replaced, by its name in staging, which is free then.

        False, with nothing done, where it cannot move there, and has to be copied.
        """
        with self._at(path, creates=True) as at:
            if at.found is not None:
                if not stat.S_ISREG(at.found.st_mode):
                    raise PathRefused(path, NOT_A_FILE)
                check_permitted(at, at.found)
            return put_stored(self._operations, self._root, self._log, at, stored)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link itself, an empty directory, or with `recursive` a whole one."""
        with self._at(path) as at:
            if at.found is None:
                raise failure(errno.ENOENT, path)
            self._root.check_removable(at.path, path)
            is_directory = stat.S_ISDIR(at.found.st_mode)
            if is_directory and recursive:
                inside = has_name(at.fd, at.name, is_protected_name)
                if inside is not None:
                    raise PathRefused(path, f"has {inside!r} in it, which file tools never change")
            self._operations.remove(at, at.found, must_be_empty=is_directory and not recursive)

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Give what is at `source` the name `target`; with `overwrite` a file there is replaced."""
        position = len(self._log.records)
        try:
            here = resolve(self._root, source, follow=False)
            try:
                there = resolve(self._root, target, follow=False)
                try:
                    if here.found is not None:
                        self._root.check_kind(there.path, target, here.found.st_mode, is_moved=True)
                    self._operations.move(here, there, overwrite)
                finally:
                    self._root.beneath.close(there.fd)
            finally:
                self._root.beneath.close(here.fd)
        except OSError as error:
            told = target if isinstance(error, FileExistsError) else source
            raise self._failed(error, error.filename if error.filename == target else told, position) from None

    def mkdir(self, path: str) -> None:
        """Make one directory; its parent must exist."""
        if not path:
            raise failure(errno.EEXIST, ".")
        with self._at(path) as at:
            if at.found is not None:
                raise failure(errno.EEXIST, path)
            self._root.check_kind(at.path, path, stat.S_IFDIR)
            self._operations.make_directory(at)

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits; special bits of a directory stay, those of a file go."""
        with self._at(path, follow=True) as at:
            found = at.found
            if found is None:
                raise failure(errno.ENOENT, path)
            if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
                raise PathRefused(path, NOT_A_FILE)
            self._operations.change_mode(at, found, mode)

    def open_directories(self, paths: Iterable[str]) -> dict[str, int]:
        """Open this user's own directories that are closed to changes; gives the mode of each, to be given back last."""
        return self._operations.open_directories(paths)

    def give_directory(self, path: str, mode: int, like: Attributes | None) -> None:
        """Give a directory exactly these permission bits, and one that this change set has made all that another had."""
        with self._at(path) as at:
            if at.found is None or not stat.S_ISDIR(at.found.st_mode):
                raise failure(errno.ENOTDIR, path)
            self._operations.give_directory(at, at.found, mode, like)

    def symlink(self, path: str, target: str) -> None:
        """Make a link that is relative and stays inside the tree; one that is put back is as it was, wherever it leads."""
        with self._at(path) as at:
            if at.found is not None:
                raise failure(errno.EEXIST, path)
            if not restoring.get():
                check_link(at.path, target, path)
            self._root.check_kind(at.path, path, stat.S_IFLNK)
            self._operations.link(at, target)

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        """The net change of each path since a position, in the order of first change."""
        from wink.filesystem.disk._changes import net_changes

        return net_changes(self._log, since)

    def between(self, since: object, until: object | None = None) -> tuple[FileChange, ...]:
        """The net change of each path between two positions."""
        from wink.filesystem.disk._changes import net_changes

        assert isinstance(since, int)
        assert until is None or isinstance(until, int)
        return net_changes(self._log, since, until)

    def prepare(self) -> None:
        """See that nobody wrote to an old file which we replaced; with durability "power", reach the disk."""
        if self._log.is_doomed:
            raise TransactionError(DOOMED)
        staged = self._root.state.staged
        for record in self._log.records:
            old = record.old
            if record.kind in "XD" and old is not None and not stat.S_ISDIR(old.mode):
                found = self._root.status(staged, record.staged)
                # Somebody had it open and saved: rolling back gives them their file, with what they saved in it.
                if found is None or not old.fits(found):
                    raise FileConflict(record.path)
        if self._root.is_durable:
            self._root.sync(directories(self._log.records))

    def publish(self) -> None:
        """The commit point has passed, or without a record is this: let the changes stand."""
        root, frozen = self._root, self._log.frozen
        for record in self._log.records:
            old = record.old
            if record.kind in "XD" and old is not None:
                if record.seq in frozen:
                    root.remember(record.staged, None)
                    continue
                if stat.S_ISDIR(old.mode):
                    # When it was renamed into staging: what is written in it from then on is not what was deleted.
                    found = root.status(root.state.staged, record.staged)
                    old = old._replace(modified_ns=0 if found is None else found.st_ctime_ns)
                root.remember(record.staged, Replaced(record.path, old))
        self._log.end()

    def leave(self) -> None:
        """Leave the changes and their journal for recovery to judge."""
        self._log.leave()

    def undo(self, to: int = 0) -> None:
        """Take back everything after a position, newest first; raises `RollbackFailed`."""
        try:
            self._log.take_back_to(to)
        except BaseException:  # an interruption too: a journal that nobody ends is recovery's
            if len(self._log.records) > to:
                if to:
                    self._log.doom()  # the rollback of the whole goes on where this one stopped
                else:
                    self._log.leave()
            elif to == 0:
                self._log.tidy()
            raise
        if to == 0:
            self._log.tidy()

    @contextmanager
    def _at(self, path: str, *, follow: bool = False, creates: bool = False) -> Generator[ResolvedPath]:
        """Where `path` is, for one operation; when that fails, what it had begun is taken back."""
        position = len(self._log.records)
        try:
            at = resolve(self._root, path, follow=follow, creates=creates)
            try:
                yield at
            finally:
                self._root.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def _failed(self, error: OSError, path: str, position: int) -> OSError:
        """Undo what a failed operation had begun, and say what concerns the workspace's path."""
        if len(self._log.records) > position:
            self._log.take_back_to(position)
        return error if isinstance(error, WinkError) else named(error, path)


def put_stored(operations: Operations, root: DiskRoot, log: Log, at: ResolvedPath, stored: str) -> bool:
    """Let the file of this name in staging take the place of what is there; False, with nothing done, where it cannot move."""
    log.ready()
    staged, position = log.name(), len(log.records)
    if stored.partition("/")[0].rpartition(".")[0] == staged.rpartition(".")[0]:
        return False  # this transaction may itself be taken back in part, and looks there for what it has replaced
    try:
        with root.in_staging(stored) as (fd, name):
            log.record("B", at.path, (), staged=staged, note=stored)
            root.place(fd, name, root.state.staged, staged)
        _put(operations, root, log, at, staged)
    except OSError as error:
        log.take_back_to(position)
        if isinstance(error, FileExistsError):
            raise FileConflict(at.asked) from None
        if error.errno in CANNOT_RENAME and not isinstance(error, FileConflict):
            return False
        raise
    return True


def _put(operations: Operations, root: DiskRoot, log: Log, at: ResolvedPath, staged: str) -> None:
    staging = root.state.staged
    new = mark(_status(root, staged))
    if at.found is not None and not _is_exchanged(root, log, at, at.found, staged):
        operations.remove(at, at.found)
        at = at._replace(found=None)
    if at.found is None:
        log.record("C", at.path, times_of(at.fd), staged=staged, new=new)
        root.place(staging, staged, at.fd, at.name)


def _is_exchanged(root: DiskRoot, log: Log, at: ResolvedPath, found: os.stat_result, staged: str) -> bool:
    staging, old = root.state.staged, mark(found)
    if log.leftovers.is_foreign(at.path, found):
        raise FileConflict(at.asked)
    if is_in_use(at.fd, at.name, found):
        raise FileConflict(at.asked, IN_USE)
    new = mark(_status(root, staged))
    record = log.record("X", at.path, times_of(at.fd), staged=staged, old=old, new=new)
    if not root.swap(staging, staged, at.fd, at.name):
        log.withdraw(record)
        return False
    out = _status(root, staged)
    if not old.fits(out):
        raise FileConflict(at.asked)
    in_use = is_in_use(staging, staged, out)
    if in_use:
        raise FileConflict(at.asked, IN_USE)
    if in_use is False:
        log.frozen.add(record.seq)
    return True


def _status(root: DiskRoot, staged: str) -> os.stat_result:
    found = root.status(root.state.staged, staged)
    assert found is not None, "the lease keeps everybody else out of staging"
    return found
