"""Change files on the disk so that every change can be taken back, whatever happens in between.

Each operation finds its place, stages what is new, writes a record, and then lets two names change places in one system
call; afterwards it looks whether what came out is what it expected. See `_journal_records` for the kinds.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from wink.errors import FileConflict, PathRefused, RollbackFailed, WinkError
from wink.filesystem import _disk_copies as copies
from wink.filesystem._beneath import NOT_A_FILE, named
from wink.filesystem._change import FileChange
from wink.filesystem._disk_content import extended_attributes, is_open_for_writing, set_attributes, write_all
from wink.filesystem._disk_ground import Ground, times_of
from wink.filesystem._disk_log import DiskStaging, Log
from wink.filesystem._disk_place import Spot, check_permitted, failure, node_of, spot
from wink.filesystem._disk_trees import has_name
from wink.filesystem._journal_records import mark
from wink.filesystem._journal_report import Conflict
from wink.filesystem._journal_undo import set_mode
from wink.filesystem._paths import is_protected_name
from wink.filesystem._store import Node, Staging

Content = bytes | tuple[str, int]
"""New content in memory, or the name of a file in staging and its descriptor."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class DiskFrame:
    """Implements `Frame`. `conflicts` tells what a rollback found where it did not expect it."""

    __slots__ = ("_ground", "_log")

    def __init__(self, ground: Ground, log: Log) -> None:
        self._ground: Final = ground
        self._log: Final = log

    @property
    def position(self) -> int:
        """How many records were written and not taken back."""
        return len(self._log.records)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What somebody else had saved where a rollback of this frame put files back."""
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
        mode: int | None = None,
        expected: tuple[int, ...] | None = None,
    ) -> Node:
        """Make `path` a file with this content, atomically.

        With `expected`, an existing file must still be of that identity, otherwise `FileConflict`.
        """
        position = len(self._log.records)
        mode = None if mode is None else mode & 0o777
        try:
            at = spot(self._ground, path, follow=not exclusive, creates=True)
            try:
                found = at.found
                if found is None:
                    if expected is not None:
                        raise FileConflict(path)
                    return self._create(at, _taken(content), exclusive, mode)
                if exclusive:
                    raise failure(errno.EEXIST, path)
                if stat.S_ISDIR(found.st_mode):
                    raise failure(errno.EISDIR, path)
                if not stat.S_ISREG(found.st_mode):
                    raise PathRefused(path, NOT_A_FILE)
                if expected is not None and node_of(found).identity != expected:
                    raise FileConflict(path)
                check_permitted(at, found)
                return self._overwrite(at, found, _taken(content), mode)
            finally:
                self._ground.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link itself, an empty directory, or with `recursive` a whole one."""
        position = len(self._log.records)
        try:
            at = spot(self._ground, path, follow=False)
            try:
                if at.found is None:
                    raise failure(errno.ENOENT, path)
                self._ground.check_removable(at.path, path)
                is_directory = stat.S_ISDIR(at.found.st_mode)
                if is_directory and recursive:
                    inside = has_name(at.fd, at.name, is_protected_name)
                    if inside is not None:
                        raise PathRefused(path, f"has {inside!r} in it, which file tools never change")
                self._remove(at, at.found, must_be_empty=is_directory and not recursive)
            finally:
                self._ground.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Give what is at `source` the name `target`; with `overwrite` a file there is replaced."""
        position = len(self._log.records)
        try:
            here = spot(self._ground, source, follow=False)
            try:
                there = spot(self._ground, target, follow=False)
                try:
                    self._move(here, there, overwrite)
                finally:
                    self._ground.beneath.close(there.fd)
            finally:
                self._ground.beneath.close(here.fd)
        except OSError as error:
            told = target if isinstance(error, FileExistsError) else source
            raise self._failed(error, error.filename if error.filename == target else told, position) from None

    def mkdir(self, path: str) -> None:
        """Make one directory; its parent must exist."""
        position = len(self._log.records)
        try:
            if not path:
                raise failure(errno.EEXIST, path)
            at = spot(self._ground, path, follow=False)
            try:
                if at.found is not None:
                    raise failure(errno.EEXIST, path)
                record = self._log.record("M", at.path, times_of(at.fd))
                try:
                    os.mkdir(at.name, 0o777, dir_fd=at.fd)
                except OSError:
                    # Or else undoing would remove the directory that somebody else has made just now.
                    self._log.withdraw(record)
                    raise
            finally:
                self._ground.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits; special bits of a directory stay, those of a file go."""
        position = len(self._log.records)
        try:
            at = spot(self._ground, path, follow=True)
            try:
                found = at.found
                if found is None:
                    raise failure(errno.ENOENT, path)
                if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
                    raise PathRefused(path, NOT_A_FILE)
                wanted = mode & 0o777 | (found.st_mode & 0o7000 if stat.S_ISDIR(found.st_mode) else 0)
                if wanted != stat.S_IMODE(found.st_mode):
                    self._log.record("P", at.path, (), old=mark(found), note=str(wanted))
                    set_mode(at.fd, at.name, wanted)
            finally:
                self._ground.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def symlink(self, path: str, target: str) -> None:
        """Make a relative link that stays inside the tree."""
        position = len(self._log.records)
        try:
            at = spot(self._ground, path, follow=False)
            try:
                if at.found is not None:
                    raise failure(errno.EEXIST, path)
                _check_link(at.path, target, path)
                log, staged = self._log, self._log.name()
                log.ready()
                os.symlink(target, staged, dir_fd=self._ground.state.staged)
                new = os.stat(staged, dir_fd=self._ground.state.staged, follow_symlinks=False)
                if not self._place(at, staged, new, None, target):
                    log.drop(staged)
                    copies.write_link(log, at, target)
            finally:
                self._ground.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        """The net change of each path since a position, in the order of first change."""
        from wink.filesystem._disk_changes import net_changes

        return net_changes(self._log, since)

    def prepare(self) -> None:
        """See that nobody wrote to an old file which we replaced; with durability "power", reach the disk."""
        staged = self._ground.state.staged
        for record in self._log.records:
            old = record.old
            if record.kind in "XD" and old is not None and not stat.S_ISDIR(old.mode):
                found = self._ground.status(staged, record.staged)
                # Somebody had it open and saved: rolling back gives them their file, with what they saved in it.
                if found is None or not old.fits(found):
                    raise FileConflict(record.path)
        if self._ground.is_durable:
            paths = [path for record in self._log.records for path in (record.path, record.note)]
            self._ground.sync({path.rpartition("/")[0] for path in paths})

    def publish(self) -> None:
        """The commit point has passed, or without a record is this: let the changes stand."""
        self._log.end()

    def leave(self) -> None:
        """Leave the changes and their journal for recovery to judge."""
        self._log.leave()

    def undo(self, to: int = 0) -> None:
        """Take back everything after a position, newest first; raises `RollbackFailed`."""
        try:
            self._log.take_back_to(to)
        except RollbackFailed:
            if len(self._log.records) > to:
                self._log.leave()
            elif to == 0:
                self._log.end()
            raise
        if to == 0:
            self._log.end()

    # -- what the operations are made of

    def _failed(self, error: OSError, path: str, position: int) -> OSError:
        """Undo what a failed operation had begun, and say what concerns the workspace's path."""
        if len(self._log.records) > position:
            self._log.take_back_to(position)
        return error if isinstance(error, WinkError) else named(error, path)

    def _create(self, at: Spot, content: Content, exclusive: bool, mode: int | None) -> Node:
        log = self._log
        staged, fd = self._staged(content, 0o666 if mode is None else mode)
        try:
            new = os.fstat(fd)
            above = os.fstat(at.fd)
            if mode is not None and stat.S_IMODE(new.st_mode) != mode:
                os.fchmod(fd, mode)
            if above.st_mode & stat.S_ISGID and above.st_gid != new.st_gid:
                os.fchown(fd, -1, above.st_gid)
            if self._ground.is_durable:
                os.fsync(fd)
            new = os.fstat(fd)
        finally:
            os.close(fd)
        try:
            placed = self._place(at, staged, new, content if isinstance(content, bytes) else None)
        except FileExistsError:
            log.drop(staged)
            if exclusive:
                raise
            raise FileConflict(at.asked) from None
        if not placed:
            return copies.write_new(log, at, self._again(staged, content), mode)
        return self._node(at, new)

    def _place(self, at: Spot, staged: str, new: os.stat_result, content: bytes | None, target: str = "") -> bool:
        """Give what is staged its name; False where staging is on another mount."""
        log = self._log
        record = log.record("C", at.path, times_of(at.fd), staged=staged, new=mark(new), note=target, content=content)
        try:
            self._ground.place(self._ground.state.staged, staged, at.fd, at.name)
        except OSError as error:
            log.withdraw(record)
            if error.errno == errno.EXDEV:
                return False
            raise
        return True

    def _overwrite(self, at: Spot, found: os.stat_result, content: Content, mode: int | None) -> Node:
        log = self._log
        if found.st_nlink > 1:
            return copies.rewrite(log, at, found, content, mode)
        try:
            old_fd = os.open(at.name, _READ, dir_fd=at.fd)
        except PermissionError:
            extended: list[tuple[str, bytes]] = []
        else:
            try:
                if is_open_for_writing(old_fd):
                    return copies.rewrite(log, at, found, content, mode)
                extended = extended_attributes(old_fd)
            finally:
                os.close(old_fd)
        wanted = found.st_mode & 0o777 if mode is None else mode
        staged, fd = self._staged(content, wanted)
        try:
            new = os.fstat(fd)
            permitted = set_attributes(fd, found, new, extended)
            if stat.S_IMODE(new.st_mode) != wanted:
                os.fchmod(fd, wanted)
            if self._ground.is_durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        if permitted and self._exchange(at, staged, found, new, content):
            return self._node(at, new)
        return copies.rewrite(log, at, found, self._again(staged, content), mode)

    def _exchange(self, at: Spot, staged: str, found: os.stat_result, new: os.stat_result, content: Content) -> bool:
        """Swap new content in and the old file out into staging; False where only the file itself can be written."""
        log, ground, staging = self._log, self._ground, self._ground.state.staged
        known = content if isinstance(content, bytes) else None
        old = mark(found)
        record = log.record("X", at.path, times_of(at.fd), staged=staged, old=old, new=mark(new), content=known)
        spare = staged + "~"
        try:
            exchanged = ground.swap(staging, staged, at.fd, at.name)
            if not exchanged:
                os.rename(staged, spare, src_dir_fd=staging, dst_dir_fd=staging)
                os.link(at.name, staged, src_dir_fd=at.fd, dst_dir_fd=staging, follow_symlinks=False)
        except OSError as error:
            if ground.status(staging, staged) is None and ground.status(staging, spare) is not None:
                os.rename(spare, staged, src_dir_fd=staging, dst_dir_fd=staging)
            log.withdraw(record)
            if error.errno in copies.CANNOT_RENAME:
                return False
            log.drop(staged)
            if error.errno == errno.ENOENT:
                raise FileConflict(at.asked) from None
            raise
        if not old.fits(os.stat(staged, dir_fd=staging, follow_symlinks=False)):
            # Undoing turns the exchange round: what somebody saved in this very moment goes back to its path.
            log.take_back_to(len(log.records) - 1)
            raise FileConflict(at.asked)
        if not exchanged:
            os.rename(spare, at.name, src_dir_fd=staging, dst_dir_fd=at.fd)
        return True

    def _remove(self, at: Spot, found: os.stat_result, *, must_be_empty: bool = False) -> None:
        log, ground = self._log, self._ground
        if must_be_empty and not _is_empty(at.fd, at.name):
            raise failure(errno.ENOTEMPTY, at.asked)
        log.ready()
        staged = log.name()
        record = log.record("D", at.path, times_of(at.fd), staged=staged, old=mark(found))
        try:
            ground.take(at.fd, at.name, staged)
        except OSError as error:
            log.withdraw(record)
            if error.errno not in (errno.EXDEV, errno.EACCES, errno.EPERM):
                raise
            copies.remove_copied(log, at, found)
            return
        staging = ground.state.staged
        out = os.stat(staged, dir_fd=staging, follow_symlinks=False)
        is_expected = out.st_ino == found.st_ino if stat.S_ISDIR(found.st_mode) else mark(found).fits(out)
        if not is_expected or (must_be_empty and not _is_empty(staging, staged)):
            log.take_back_to(len(log.records) - 1)
            raise failure(errno.ENOTEMPTY, at.asked) if is_expected else FileConflict(at.asked)

    def _move(self, here: Spot, there: Spot, overwrite: bool) -> None:
        found, taken = here.found, there.found
        if found is None:
            raise failure(errno.ENOENT, here.asked)
        if there.path.startswith(here.path + "/"):
            raise failure(errno.EINVAL, here.asked)
        if taken is not None and not overwrite:
            raise failure(errno.EEXIST, there.asked)
        if here.path == there.path:
            return
        self._ground.check_removable(here.path, here.asked)
        is_directory = stat.S_ISDIR(found.st_mode)
        if taken is not None:
            if stat.S_ISDIR(taken.st_mode):
                raise failure(errno.EEXIST if is_directory else errno.EISDIR, there.asked)
            if is_directory:
                raise failure(errno.ENOTDIR, there.asked)
        times = times_of(here.fd) + times_of(there.fd)
        if taken is not None:
            self._remove(there, taken)
        log = self._log
        staged = log.name()
        record = log.record("N", here.path, times, staged=staged, old=mark(found), note=there.path)
        try:
            self._ground.place(here.fd, here.name, there.fd, there.name)
        except OSError as error:
            log.withdraw(record)
            if error.errno != errno.EXDEV or not stat.S_ISREG(found.st_mode):
                raise
            self._move_by_copy(here, there, found)
            return
        out = self._ground.status(there.fd, there.name)
        if out is None or out.st_ino != found.st_ino:
            raise FileConflict(here.asked)

    def _move_by_copy(self, here: Spot, there: Spot, found: os.stat_result) -> None:
        source = os.open(here.name, _READ, dir_fd=here.fd)
        staging = self.stage()
        try:
            while chunk := os.read(source, 1 << 20):
                staging.write(chunk)
            self._create(there, _taken(staging), exclusive=True, mode=stat.S_IMODE(found.st_mode))
        finally:
            os.close(source)
            staging.discard()
        self._remove(here, found)

    def _staged(self, content: Content, mode: int) -> tuple[str, int]:
        if not isinstance(content, bytes):
            return content
        staged, fd = self._log.create(mode)
        try:
            write_all(fd, content)
        except BaseException:
            os.close(fd)
            self._log.drop(staged)
            raise
        return staged, fd

    def _again(self, staged: str, content: Content) -> Content:
        """The same content for another attempt."""
        if isinstance(content, bytes):
            self._log.drop(staged)
            return content
        return staged, os.open(staged, _READ, dir_fd=self._ground.state.staged)

    def _node(self, at: Spot, new: os.stat_result) -> Node:
        now = self._ground.status(at.fd, at.name)
        return node_of(now if now is not None and now.st_ino == new.st_ino else new)


def _taken(content: bytes | Staging) -> Content:
    if isinstance(content, bytes):
        return content
    assert isinstance(content, DiskStaging), "content that another store has staged"
    return content.take()


def _is_empty(fd: int, name: str) -> bool:
    opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        return not os.listdir(opened)
    finally:
        os.close(opened)


def _check_link(place: str, target: str, path: str) -> None:
    depth = place.count("/")
    if target.startswith("/") or not target or "\0" in target:
        raise PathRefused(path, "would be a link that is not relative")
    for name in target.split("/"):
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 0:
            raise PathRefused(path, "would be a link that leads out of the workspace")
