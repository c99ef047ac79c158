"""Change files on the disk so that every change can be taken back, whatever happens in between."""

from __future__ import annotations

import errno
import stat
from typing import Final

from wink.errors import FileConflict, PathRefused, TransactionError, WinkError
from wink.filesystem._beneath import NOT_A_FILE, named
from wink.filesystem._change import FileChange
from wink.filesystem._disk_content import Attributes
from wink.filesystem._disk_ground import Ground, Replaced
from wink.filesystem._disk_log import DOOMED, DiskStaging, Log, directories
from wink.filesystem._disk_place import check_permitted, failure, node_of, spot
from wink.filesystem._disk_steps import Steps, taken
from wink.filesystem._disk_trees import has_name
from wink.filesystem._journal_report import Conflict
from wink.filesystem._paths import is_protected_name
from wink.filesystem._store import Node, Staging


class DiskFrame:
    """Implements `Frame`. `conflicts` tells what a rollback found where it did not expect it."""

    __slots__ = ("_ground", "_log", "_steps")

    def __init__(self, ground: Ground, log: Log) -> None:
        self._ground: Final = ground
        self._log: Final = log
        self._steps: Final = Steps(ground, log)

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
        replacing: bytes | None = None,
        like: Attributes | None = None,
    ) -> Node:
        """Make `path` a file with this content, atomically.

        With `expected`, an existing file must still be of that identity, and with `replacing` have that content, otherwise
        `FileConflict`. `like` are the attributes that a file of this content had, to be given back to it.
        """
        position = len(self._log.records)
        mode = None if mode is None else mode & 0o777
        try:
            at = spot(self._ground, path, follow=not exclusive, creates=True)
            try:
                found = at.found
                if found is None:
                    if expected is not None or replacing is not None:
                        raise FileConflict(path)
                    return self._steps.create(at, taken(content), exclusive, mode, like)
                if exclusive:
                    raise failure(errno.EEXIST, path)
                if stat.S_ISDIR(found.st_mode):
                    raise failure(errno.EISDIR, path)
                if not stat.S_ISREG(found.st_mode):
                    raise PathRefused(path, NOT_A_FILE)
                if expected is not None and node_of(found).identity != expected:
                    raise FileConflict(path)
                check_permitted(at, found)
                return self._steps.overwrite(at, found, taken(content), mode, replacing, like)
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
                self._steps.remove(at, at.found, must_be_empty=is_directory and not recursive)
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
                    if here.found is not None:
                        self._ground.check_kind(there.path, target, here.found.st_mode, is_moved=True)
                    self._steps.move(here, there, overwrite)
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
                self._ground.check_kind(at.path, path, stat.S_IFDIR)
                self._steps.make_directory(at)
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
                self._steps.change_mode(at, found, mode)
            finally:
                self._ground.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def give_directory(self, path: str, mode: int, like: Attributes | None) -> None:
        """Give a directory exactly these permission bits, and one that this frame has made all that another had."""
        position = len(self._log.records)
        try:
            at = spot(self._ground, path, follow=False)
            try:
                if at.found is None or not stat.S_ISDIR(at.found.st_mode):
                    raise failure(errno.ENOTDIR, path)
                self._steps.give_directory(at, at.found, mode, like)
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
                self._ground.check_kind(at.path, path, stat.S_IFLNK)
                self._steps.link(at, target)
            finally:
                self._ground.beneath.close(at.fd)
        except OSError as error:
            raise self._failed(error, path, position) from None

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        """The net change of each path since a position, in the order of first change."""
        from wink.filesystem._disk_changes import net_changes

        return net_changes(self._log, since)

    def between(self, since: object, until: object | None = None) -> tuple[FileChange, ...]:
        """The net change of each path between two positions."""
        from wink.filesystem._disk_changes import net_changes

        assert isinstance(since, int)
        assert until is None or isinstance(until, int)
        return net_changes(self._log, since, until)

    def prepare(self) -> None:
        """See that nobody wrote to an old file which we replaced; with durability "power", reach the disk."""
        if self._log.is_doomed:
            raise TransactionError(DOOMED)
        staged = self._ground.state.staged
        for record in self._log.records:
            old = record.old
            if record.kind in "XD" and old is not None and not stat.S_ISDIR(old.mode):
                found = self._ground.status(staged, record.staged)
                # Somebody had it open and saved: rolling back gives them their file, with what they saved in it.
                if found is None or not old.fits(found):
                    raise FileConflict(record.path)
        if self._ground.is_durable:
            self._ground.sync(directories(self._log.records))

    def publish(self) -> None:
        """The commit point has passed, or without a record is this: let the changes stand."""
        ground, frozen = self._ground, self._log.frozen
        for record in self._log.records:
            old = record.old
            if record.kind in "XD" and old is not None:
                if record.seq in frozen:
                    ground.remember(record.staged, None)
                    continue
                if stat.S_ISDIR(old.mode):
                    # When it was renamed into staging: what is written in it from then on is not what was deleted.
                    found = ground.status(ground.state.staged, record.staged)
                    old = old._replace(modified_ns=0 if found is None else found.st_ctime_ns)
                ground.remember(record.staged, Replaced(record.path, old))
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

    def _failed(self, error: OSError, path: str, position: int) -> OSError:
        """Undo what a failed operation had begun, and say what concerns the workspace's path."""
        if len(self._log.records) > position:
            self._log.take_back_to(position)
        return error if isinstance(error, WinkError) else named(error, path)


def _check_link(place: str, target: str, path: str) -> None:
    depth = place.count("/")
    if target.startswith("/") or not target or "\0" in target:
        raise PathRefused(path, "would be a link that is not relative")
    for name in target.split("/"):
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 0:
            raise PathRefused(path, "would be a link that leads out of the workspace")
