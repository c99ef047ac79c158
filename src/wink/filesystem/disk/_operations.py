"""Take the steps that a change of files is made of, each with its record.

A step stages what is new, writes its record, and then lets two names change places in one system call; afterwards it
looks whether what came out is what it expected. Where names cannot change places, `_copies` does it. See
`_journal` for the kinds.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from typing import Final

from wink.errors import FileConflict, PathRefused
from wink.filesystem._change import DIFFABLE_BYTES
from wink.filesystem._store import Node, Staging, failure
from wink.filesystem.disk import _copies as copies
from wink.filesystem.disk._content import (
    Attributes,
    attributes_of_closed,
    copy_all,
    digest_of,
    extended_attributes,
    give_attributes,
    has_content,
    is_being_written,
    set_attributes,
    set_mode,
    write_all,
)
from wink.filesystem.disk._copies import move_by_copy
from wink.filesystem.disk._journal import Mark, Record, mark
from wink.filesystem.disk._log import DiskStaging, Log
from wink.filesystem.disk._preimages import IN_USE, is_in_use, marks_within, set_aside, touched_within
from wink.filesystem.disk._root import DiskRoot, ResolvedPath, node_of, times_of
from wink.filesystem.disk._trees import is_empty
from wink.filesystem.disk._undo import GONE

SAVED: Final = "was saved by somebody else while it was being changed; read it again"

Content = bytes | tuple[str, int]
"""New content in memory, or the name of a file in staging and its descriptor."""

_CHANGES: Final = stat.S_IWUSR | stat.S_IXUSR
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Operations:
    """What a change set does to the disk. A step that raises may leave records behind, which the change set takes back."""

    __slots__ = ("_log", "_root")

    def __init__(self, root: DiskRoot, log: Log) -> None:
        self._root: Final = root
        self._log: Final = log

    def create(
        self, at: ResolvedPath, content: Content, exclusive: bool, mode: int | None, like: Attributes | None = None
    ) -> Node:
        """Make a new file, with all the attributes that one of this content had, if they are given."""
        log = self._log
        staged, fd = self._staged(content, 0o666 if mode is None else mode)
        try:
            new = os.fstat(fd)
            above = os.fstat(at.fd)
            if mode is not None and stat.S_IMODE(new.st_mode) != mode:
                os.fchmod(fd, mode)
            if above.st_mode & stat.S_ISGID and above.st_gid != new.st_gid:
                os.fchown(fd, -1, above.st_gid)
            if like is not None:
                give_attributes(fd, like)
            if self._root.is_durable:
                os.fsync(fd)
            new = os.fstat(fd)
        finally:
            os.close(fd)
        try:
            placed = self._place(at, staged, new, content if isinstance(content, bytes) else None)
        except FileExistsError:
            if exclusive:
                raise
            raise FileConflict(at.asked) from None
        if not placed:
            return copies.write_new(log, at, self._again(staged, content), mode)
        return self._node(at, new)

    def _place(
        self, at: ResolvedPath, staged: str, new: os.stat_result, content: bytes | None, target: str = ""
    ) -> bool:
        """Give what is staged its name; False where staging is on another mount."""
        log = self._log
        record = log.record("C", at.path, times_of(at.fd), staged=staged, new=mark(new), note=target, content=content)
        try:
            self._root.place(self._root.state.staged, staged, at.fd, at.name)
        except OSError as error:
            if self._is_at(at, new):
                raise  # by a link, only its first name could not be removed; undoing the record removes both
            log.withdraw(record)
            if error.errno == errno.EXDEV:
                return False
            log.drop(staged)
            raise
        return True

    def overwrite(
        self,
        at: ResolvedPath,
        found: os.stat_result,
        content: Content,
        mode: int | None,
        replacing: bytes | str | None = None,
        like: Attributes | None = None,
    ) -> Node:
        """Put new content into an existing file, which must still have the content `replacing`, where that is given.

        It is another file then, and the old one's other names, if it has any, go on showing the old content.
        """
        log, root, is_linked = self._log, self._root, found.st_nlink > 1
        old = mark(found)
        extended: list[tuple[str, bytes]] = []
        original: bytes | None = None
        try:
            old_fd = os.open(at.name, _READ, dir_fd=at.fd)
        except PermissionError:
            old_fd, extended = -1, attributes_of_closed(at.fd, at.name)
        try:
            if old_fd >= 0:
                # First the look and then the question: so whoever opens it from here on changes what was seen.
                is_foreign = bool(log.records) and log.leftovers.is_foreign(at.path, found)
                problem = SAVED if is_foreign or not old.fits(os.fstat(old_fd)) else ""
                if not problem and not is_linked and is_being_written(old_fd):
                    problem = IN_USE
                if problem:
                    self._abandon(content)
                    raise FileConflict(at.asked, problem)
                extended = extended_attributes(old_fd)
                if isinstance(content, bytes) and len(content) == old.size <= DIFFABLE_BYTES:
                    original = os.pread(old_fd, old.size + 1, 0)  # whether it changes anything will be asked
                if replacing is None and not root.has_fine_times and root.is_racy(old.modified_ns):
                    replacing = digest_of(old_fd)
            wanted = found.st_mode & 0o777 if mode is None else mode
            staged, fd = self._staged(content, wanted)
            try:
                new = os.fstat(fd)
                permitted = set_attributes(fd, found, new, extended)
                if stat.S_IMODE(new.st_mode) != wanted or like is not None:
                    os.fchmod(fd, wanted)
                    if like is not None:
                        give_attributes(fd, like)
                    new = os.fstat(fd)  # the mode is a part of what the file is known by
                if root.is_durable:
                    os.fsync(fd)
            finally:
                os.close(fd)
            if permitted:
                known = content if isinstance(content, bytes) else None
                record = log.record("X", at.path, times_of(at.fd), staged=staged, old=old, new=mark(new), content=known)
                if self._exchange(at, record, -1 if is_linked else old_fd, replacing):
                    if original is not None and record.seq in log.frozen:
                        log.originals[record.seq] = original
                    return self._node(at, new)
        finally:
            if old_fd >= 0:
                os.close(old_fd)
        if is_linked:
            # Written in place it would change under all its names, and who knows where they are.
            log.drop(staged)
            raise PathRefused(at.asked, "has other names, and cannot be replaced here without changing what they show")
        return copies.rewrite(log, at, found, self._again(staged, content), mode)

    def _exchange(self, at: ResolvedPath, record: Record, old_fd: int, replacing: bytes | str | None) -> bool:
        """Swap new content in and the old file out into staging; False where only the file itself can be written."""
        log, root, staging, staged = self._log, self._root, self._root.state.staged, record.staged
        spare = staged + "~"
        try:
            exchanged = root.swap(staging, staged, at.fd, at.name)
            if not exchanged:
                os.rename(staged, spare, src_dir_fd=staging, dst_dir_fd=staging)
                root.take(at.fd, at.name, staged)
        except OSError as error:
            if root.status(staging, staged) is None and root.status(staging, spare) is not None:
                os.rename(spare, staged, src_dir_fd=staging, dst_dir_fd=staging)
            log.withdraw(record)
            if error.errno in copies.CANNOT_RENAME:
                return False
            log.drop(staged)
            if error.errno == errno.ENOENT:
                raise FileConflict(at.asked) from None
            raise
        if not exchanged:
            # The name is free for a moment: renaming over it would destroy what somebody saves just now.
            try:
                root.place(staging, spare, at.fd, at.name)
            except FileExistsError:
                log.conflicts.append(set_aside(root, staged, at.path))
                log.withdraw(record)
                log.drop(spare)
                raise FileConflict(at.asked) from None
        problem = self._problem(record, old_fd, replacing)
        if problem:
            # Undoing turns the exchange round: what somebody saved in this very moment goes back to its path.
            log.take_back_to(len(log.records) - 1)
            raise FileConflict(at.asked, problem)
        return True

    def _problem(self, record: Record, fd: int, replacing: bytes | str | None) -> str:
        """Why what came out is not what was expected, if so."""
        old, in_use = record.old, None if fd < 0 else is_being_written(fd, again=True)
        if in_use:
            return IN_USE
        assert old is not None
        if not old.fits(os.stat(record.staged, dir_fd=self._root.state.staged, follow_symlinks=False)):
            return SAVED
        if fd >= 0 and replacing is not None and not has_content(fd, replacing):
            return SAVED
        if in_use is False:
            # It has no name any more, and nobody writes to it: so it stays as it is from here on.
            self._log.frozen.add(record.seq)
        return ""

    def link(self, at: ResolvedPath, target: str) -> None:
        """Make a symbolic link."""
        log, staged = self._log, self._log.name()
        log.ready()
        os.symlink(target, staged, dir_fd=self._root.state.staged)
        new = os.stat(staged, dir_fd=self._root.state.staged, follow_symlinks=False)
        if not self._place(at, staged, new, None, target):
            log.drop(staged)
            copies.write_link(log, at, target)

    def make_directory(self, at: ResolvedPath) -> None:
        """Make a directory."""
        record = self._log.record("M", at.path, times_of(at.fd))
        try:
            os.mkdir(at.name, 0o777, dir_fd=at.fd)
        except OSError:
            # Or else undoing would remove the directory that somebody else has made just now.
            self._log.withdraw(record)
            raise

    def change_mode(self, at: ResolvedPath, found: os.stat_result, mode: int) -> None:
        """Set the permission bits; special bits of a directory stay, those of a file go."""
        wanted = mode & 0o777 | (found.st_mode & 0o7000 if stat.S_ISDIR(found.st_mode) else 0)
        if wanted == stat.S_IMODE(found.st_mode):
            return
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            # Its other names, wherever they are, keep their mode.
            self.overwrite(at, found, self.staged_copy(at.fd, at.name, found), wanted)
        else:
            self._log.record("P", at.path, (), old=mark(found), note=str(wanted))
            set_mode(at.fd, at.name, wanted)

    def open_directories(self, paths: Iterable[str]) -> dict[str, int]:
        """Open this user's own directories that are closed to changes, such as those of mode 0555; gives the mode of each.

        Whoever asks gives it back when all is done in them, the deepest first. What is no directory is passed by.
        """
        root, modes = self._root, dict[str, int]()
        for path in sorted({one[:at] for one in paths for at in _ends(one)}):
            try:
                fd = root.beneath.directory(path.rpartition("/")[0])
            except OSError as error:
                if error.errno in GONE:
                    continue
                raise
            try:
                name = path.rpartition("/")[2]
                found = root.status(fd, name)
                if found is None or not is_closed(found):
                    continue
                modes[path] = stat.S_IMODE(found.st_mode)
                self._log.record("P", path, (), old=mark(found), note=str(modes[path] | stat.S_IRWXU))
                set_mode(fd, name, modes[path] | stat.S_IRWXU)
            finally:
                root.beneath.close(fd)
        return modes

    def give_directory(self, at: ResolvedPath, found: os.stat_result, mode: int, like: Attributes | None) -> None:
        """Give a directory exactly these permission bits, and what else another had; of that a rollback knows nothing."""
        if like is not None:
            fd = os.open(at.name, _READ | os.O_DIRECTORY, dir_fd=at.fd)
            try:
                give_attributes(fd, like._replace(mode=stat.S_IMODE(found.st_mode)))
            finally:
                os.close(fd)
            found = os.stat(at.name, dir_fd=at.fd, follow_symlinks=False)
        if mode != stat.S_IMODE(found.st_mode):
            self._log.record("P", at.path, (), old=mark(found), note=str(mode))
            set_mode(at.fd, at.name, mode)

    def remove(self, at: ResolvedPath, found: os.stat_result, *, must_be_empty: bool = False) -> None:
        """Take something out of the tree, a directory with all that is in it."""
        log, root = self._log, self._root
        if must_be_empty and not is_empty(at.fd, at.name):
            raise failure(errno.ENOTEMPTY, at.asked)
        log.ready()
        staged = log.name()
        is_directory = stat.S_ISDIR(found.st_mode)
        within: dict[str, Mark] = {}
        if is_directory and not must_be_empty:
            within = marks_within(at.fd, at.name, at.path, log.leftovers)
        elif not is_directory:
            if log.records and log.leftovers.is_foreign(at.path, found):
                raise FileConflict(at.asked)
            # Also before: what a mapping stores that has stored there before changes no time.
            if is_in_use(at.fd, at.name, found):
                raise FileConflict(at.asked, IN_USE)
        record = log.record("D", at.path, times_of(at.fd), staged=staged, old=mark(found))
        try:
            root.take(at.fd, at.name, staged)
        except OSError as error:
            log.withdraw(record)
            if error.errno not in (errno.EXDEV, errno.EACCES, errno.EPERM):
                raise
            copies.remove_copied(log, at, found)
            return
        staging = root.state.staged
        out = os.stat(staged, dir_fd=staging, follow_symlinks=False)
        place, problem = at.asked, ""
        if not (out.st_ino == found.st_ino if is_directory else mark(found).fits(out)):
            problem = SAVED
        elif is_directory and not must_be_empty:
            inside, problem = touched_within(staging, staged, within)
            place = f"{place}/{inside}"
        else:
            in_use = is_in_use(staging, staged, out)
            problem = IN_USE if in_use else ""
            if in_use is False:
                log.frozen.add(record.seq)
        is_filled = not problem and must_be_empty and not is_empty(staging, staged)
        if problem or is_filled:
            log.take_back_to(len(log.records) - 1)
            raise failure(errno.ENOTEMPTY, at.asked) if is_filled else FileConflict(place, problem)

    def move(self, here: ResolvedPath, there: ResolvedPath, overwrite: bool) -> None:
        """Give what is in one place the name of another."""
        found, taken = here.found, there.found
        if found is None:
            raise failure(errno.ENOENT, here.asked)
        if there.path.startswith(here.path + "/"):
            raise failure(errno.EINVAL, here.asked)
        if taken is not None and not overwrite:
            raise failure(errno.EEXIST, there.asked)
        if here.path == there.path:
            return
        self._root.check_removable(here.path, here.asked)
        is_directory = stat.S_ISDIR(found.st_mode)
        if taken is not None:
            if stat.S_ISDIR(taken.st_mode):
                raise failure(errno.EEXIST if is_directory else errno.EISDIR, there.asked)
            if is_directory:
                raise failure(errno.ENOTDIR, there.asked)
        times = times_of(here.fd) + times_of(there.fd)
        if taken is not None:
            self.remove(there, taken)
        log = self._log
        staged = log.name()
        record = log.record("N", here.path, times, staged=staged, old=mark(found), note=there.path)
        try:
            self._root.place(here.fd, here.name, there.fd, there.name)
        except OSError as error:
            if self._is_at(there, found):
                raise  # it has both names; undoing the record takes one away
            log.withdraw(record)
            if error.errno != errno.EXDEV:
                raise
            move_by_copy(self, self._root, here, there, found)
            return
        out = self._root.status(there.fd, there.name)
        if out is None or out.st_ino != found.st_ino:
            raise FileConflict(here.asked)

    def staged_copy(self, fd: int, name: str, found: os.stat_result | None = None) -> Content:
        """A file's content, in staging; with the times of `found`."""
        source = os.open(name, _READ, dir_fd=fd)
        try:
            staged, copy = self._log.create(0o600)
            try:
                copy_all(source, copy)
                if found is not None:
                    os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))
            except BaseException:
                os.close(copy)
                self._log.drop(staged)
                raise
        finally:
            os.close(source)
        return staged, copy

    def _is_at(self, at: ResolvedPath, found: os.stat_result) -> bool:
        here = self._root.status(at.fd, at.name)
        return here is not None and here.st_ino == found.st_ino and here.st_dev == found.st_dev

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

    def _abandon(self, content: Content) -> None:
        """Content that is not wanted any more."""
        if not isinstance(content, bytes):
            os.close(content[1])
            self._log.drop(content[0])

    def _again(self, staged: str, content: Content) -> Content:
        """The same content for another attempt."""
        if isinstance(content, bytes):
            self._log.drop(staged)
            return content
        return staged, os.open(staged, _READ, dir_fd=self._root.state.staged)

    def _node(self, at: ResolvedPath, new: os.stat_result) -> Node:
        now = self._root.status(at.fd, at.name)
        if now is None or now.st_ino != new.st_ino:
            return node_of(new)
        if self._root.has_fine_times is None:
            self._root.learn_times(new.st_mtime_ns, now.st_ctime_ns)
        return node_of(now)


def is_closed(found: os.stat_result) -> bool:
    """Whether a directory's owner, who asks, has closed it to changes, and may open it."""
    me = os.geteuid()
    return stat.S_ISDIR(found.st_mode) and me == found.st_uid != 0 and found.st_mode & _CHANGES != _CHANGES


def _ends(path: str) -> list[int]:
    return [at for at, letter in enumerate(path) if letter == "/"] + [len(path)] if path else []


def taken(content: bytes | Staging) -> Content:
    """What a caller wants written, in whichever form it is."""
    if isinstance(content, bytes):
        return content
    assert isinstance(content, DiskStaging), "content that another store has staged"
    return content.take()
