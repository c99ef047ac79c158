"""A tree of files on the disk that its users cannot leave, and whose changes can be taken back."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, get_args

from wink.errors import PathRefused, RecordCorrupt, StateKeyError, StateNotKnown
from wink.filesystem._change import FileVersion
from wink.filesystem._store import Node, NodeKind, failure
from wink.filesystem.disk._beneath import NEVER_BLOCK, NOT_A_FILE, Level, named
from wink.filesystem.disk._change_set import DiskChangeSet
from wink.filesystem.disk._journal import left_behind
from wink.filesystem.disk._journal_file import NAME, TRANSACTION_ID
from wink.filesystem.disk._lease import Lease
from wink.filesystem.disk._log import Log
from wink.filesystem.disk._recovery import discard, recover
from wink.filesystem.disk._report import Conflict, Recovered
from wink.filesystem.disk._root import DiskRoot, node_of
from wink.state import DIRECTORY as STATE
from wink.state import locate

if TYPE_CHECKING:
    from wink.filesystem.disk._content import Attributes

Durability = Literal["process", "power"]

_CAN_CONFINE = os.open in os.supports_dir_fd
_OF_THE_HOST: Final = frozenset((errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM))
"""Errors of opening a file that say nothing of the file."""


class DiskStore:
    """Implements `Store` beneath the directory `root`.

    `state` is where journals and pre-images go, where `wink.state` has them unless told otherwise; the first change makes it. Changes
    survive a killed process, and with `durability="power"` a cut of power. `resolver` and `exchange` choose how paths are
    resolved and names exchanged; left alone, they are what the system can do best. With `read_only` a state that is not
    known is no obstacle: it is not looked at.
    """

    __slots__ = ("_lease", "_root", "archive")

    def __init__(
        self,
        root: str,
        *,
        state: str | None = None,
        durability: Durability = "process",
        resolver: Literal["openat2", "walk"] | None = None,
        exchange: bool | None = None,
        read_only: bool = False,
    ) -> None:
        if not _CAN_CONFINE:
            raise OSError(errno.ENOTSUP, "files cannot be confined to a directory on this system")
        if durability not in get_args(Durability):
            raise ValueError(f"durability {durability!r} is none of 'process' and 'power'")
        place = _locate(root, state, read_only=read_only)
        self._root = DiskRoot(root, place, durable=durability == "power", resolver=resolver, exchange=exchange)
        self._lease = Lease(self._root.state, self._root.root_fd, self._root.path)
        self.archive: Callable[[str], BinaryIO | None] | None = None

    @property
    def root(self) -> str:
        """The directory's absolute path, for people."""
        return self._root.path

    @property
    def level(self) -> Level:
        """What keeps users beneath the root: the kernel (`openat2`), or stepping from directory to directory (`walk`)."""
        return self._root.beneath.level

    @property
    def state(self) -> str:
        """Where journals, pre-images and conflicts go, for people."""
        return self._root.state.where

    # -- reading

    def node(self, path: str, *, follow: bool = True) -> Node:
        """What is at `path`; with `follow`, at the end of its links."""
        found, target = self._root.beneath.status(path, follow=follow)
        return node_of(found, target)

    def open(self, path: str) -> tuple[BinaryIO, Node]:
        """A stream over a regular file, and its node as of opening; never blocks on FIFOs or devices."""
        fd, found = self._open(path)
        return io.BufferedReader(io.FileIO(fd, "rb")), node_of(found)

    def read(self, path: str, limit: int | None = None) -> tuple[bytes | None, Node]:
        """A whole regular file and its node as of opening; None for a content of more than `limit` bytes."""
        fd, found = self._open(path)
        try:
            return _content(fd, found.st_size, limit), node_of(found)
        finally:
            os.close(fd)

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory, in no order, links not followed; without wink's own state."""
        fd = self._root.beneath.open(path, os.O_RDONLY | os.O_DIRECTORY)
        hidden = self._root.hidden
        names: list[tuple[str, NodeKind]] = []
        try:
            # All of it now: an iterator that nobody finishes would keep the directory open.
            with os.scandir(fd) as entries:
                for entry in entries:
                    name = entry.name
                    if name == STATE or (hidden and (path, name) in hidden):
                        continue
                    if entry.is_file(follow_symlinks=False):
                        names.append((name, "file"))
                    elif entry.is_dir(follow_symlinks=False):
                        names.append((name, "directory"))
                    else:
                        names.append((name, "link" if entry.is_symlink() else "other"))
        except OSError as error:
            raise named(error, path) from None
        finally:
            os.close(fd)
        return iter(names)

    def reader(self) -> DirectoryReader:
        """What reads one small file after the other; to be closed."""
        return DirectoryReader(self._root)

    def names(self, path: str, most: int) -> list[str]:
        """At most so many of the names in a directory, in no order."""
        fd = self._root.beneath.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(fd) as entries:
                return [entry.name for entry in islice(entries, most)]
        except OSError as error:
            raise named(error, path) from None
        finally:
            os.close(fd)

    def _open(self, path: str) -> tuple[int, os.stat_result]:
        fd = self._root.beneath.open(path, os.O_RDONLY)
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode):
            return fd, found
        os.close(fd)
        raise failure(errno.EISDIR, path) if stat.S_ISDIR(found.st_mode) else PathRefused(path, NOT_A_FILE)

    # -- changing

    def begin(self, transaction_id: str) -> DiskChangeSet:
        """A change set for one transaction; O(1), touching nothing. Ids consist of letters, digits, `.`, `_` and `-`."""
        if TRANSACTION_ID.fullmatch(transaction_id) is None or transaction_id == NAME:
            raise ValueError(f"a transaction id cannot be {transaction_id!r}")
        return DiskChangeSet(self._root, Log(self._root, transaction_id))

    def version(self, path: str) -> FileVersion | None:
        """What is at this very path, following no link; None where there is nothing."""
        from wink.filesystem.disk._changes import Side
        from wink.filesystem.disk._journal import mark

        above, _, name = path.rpartition("/")
        beneath = self._root.beneath
        try:
            self._root.check_readable(path, path)
            fd = beneath.directory(above)
            try:
                found = os.stat(name or ".", dir_fd=fd, follow_symlinks=False)
                target = os.readlink(name, dir_fd=fd) if stat.S_ISLNK(found.st_mode) else None
            finally:
                beneath.close(fd)
        except (FileNotFoundError, NotADirectoryError, PathRefused):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            raise named(error, path) from None
        version = Side(self._root, mark(found), (("path", path),), target=target).version()
        if version.kept is not None:
            version.kept.changed_ns = found.st_ctime_ns
        return version

    def open_preimage(self, staged: str) -> BinaryIO | None:
        """A stream over a file that a published transaction replaced or deleted; None when it is not there any more.

        What is not in staging is asked of the `archive`, if there is one.
        """
        fd = self._open_staged(staged)
        if fd is None:
            return None
        if fd < 0:
            return None if self.archive is None else self.archive(staged)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return None
        return io.BufferedReader(io.FileIO(fd, "rb"))

    def obstacle(self, path: str, wanted: FileVersion | None, *, is_replaced: bool) -> str | None:
        """Why a path could not become what is wanted, without changing anything; see `wink.filesystem.disk._obstacle`."""
        from wink.filesystem.disk._obstacle import obstacle

        return obstacle(self._root, path, wanted, is_replaced=is_replaced)

    def room(self) -> int:
        """How many bytes can be written yet."""
        from wink.filesystem.disk._obstacle import room

        return room(self._root)

    def preimage_attributes(self, staged: str) -> Attributes | None:
        """What a directory had that a published transaction deleted; None when it is not there any more."""
        from wink.filesystem.disk._content import attributes_of

        fd = self._open_staged(staged)
        if fd is None or fd < 0:
            return None
        try:
            return attributes_of(fd) if stat.S_ISDIR(os.fstat(fd).st_mode) else None
        finally:
            os.close(fd)

    def _open_staged(self, staged: str) -> int | None:
        """Something in staging, -1 for what is not there, or None for what cannot be a name there."""
        from wink.filesystem.disk._changes import open_staged

        names = staged.split("/")
        # The name comes from a record, which may have come with a copied workspace.
        if "" in names or "." in names or ".." in names:
            return None
        if self._root.state.open():
            try:
                return open_staged(self._root, staged)
            except OSError as error:
                if error.errno in _OF_THE_HOST:
                    raise  # it may well be there
        return -1

    def preimages(self) -> dict[str, int]:
        """How many bytes of pre-images there are of each transaction."""
        from wink.filesystem.disk._recovery import sizes

        return sizes(self._root)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The last things that somebody else had saved where this store put files back, or wrote to what it replaced."""
        return tuple(self._root.conflicts)

    def discard_preimages(self, *transaction_ids: str) -> tuple[Conflict, ...]:
        """Free what published transactions replaced; their changes cannot be undone or shown afterwards.

        What somebody has written to since is kept in the state's `conflicts`, and told.
        """
        return discard(self._root, frozenset(transaction_ids))

    # -- other processes

    def lease(self, timeout: float) -> None:
        """Wait at most `timeout` seconds until no other process changes this tree; raises `WorkspaceBusy`."""
        self._lease.take(timeout)

    def unlease(self) -> None:
        """Let other processes change this tree."""
        self._root.state.journal.is_free = False
        self._lease.give()

    def count_commit(self) -> int:
        """Note for everybody that something is committed, with the lease held; how often that has happened."""
        return self._lease.count()

    def counted_commits(self) -> int:
        """How often anybody has committed to this tree."""
        return self._lease.counted()

    def pending(self) -> bool:
        """Whether a process died in a transaction, so that `recover` has something to do."""
        state = self._root.state
        # Whoever got the lease has looked for a state, and nobody makes one while it is held.
        if state.fd < 0 and (self._lease.is_held or not state.open()):
            return False
        journal = state.journal
        journal.look()
        journal.is_free = self._lease.is_held
        if not journal.owner and not journal.others:
            return False
        return not self._root.active.issuperset(left_behind(state))

    def recover(self, committed: Callable[[str], bool]) -> tuple[Recovered, ...]:
        """End the transactions of dead processes: keep those that `committed` knows, undo the others.

        Call it with the lease held. Raises `RollbackFailed` where that is impossible for now; it can be repeated.
        """
        done = recover(self._root, committed)
        if any(one.outcome == "kept" for one in done):
            self._lease.count()  # what was kept may not have been counted yet
        return done

    def close(self) -> None:
        """Give the lease back and close every descriptor; open change sets cannot be used any more."""
        self._lease.close()
        self._root.close()


def _locate(root: str, given: str | None, *, read_only: bool) -> str:
    try:
        return locate(root, given)
    except (RecordCorrupt, StateNotKnown, StateKeyError):
        if not read_only:
            raise
        return os.path.join(os.path.realpath(root), STATE, "0" * 32)


def _content(fd: int, size: int, limit: int | None) -> bytes | None:
    if limit is not None and size > limit:
        return None
    data = os.read(fd, size + 1)
    # It grew or shrank while it was read, or one read does not give so much.
    return data if len(data) == size else b"".join((data, *iter(lambda: os.read(fd, 1 << 20), b"")))


_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | NEVER_BLOCK


class DirectoryReader:
    """Holds the directory of the last file open. Links are not followed: whoever goes through a tree passes them by."""

    __slots__ = ("_directory", "_fd", "_root")

    def __init__(self, root: DiskRoot) -> None:
        self._root: Final = root
        self._directory: str | None = None
        self._fd = -1

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file; None for more than `limit` bytes, and for a link."""
        directory, _, name = path.rpartition("/")
        self._root.check_readable(path, path)
        if directory != self._directory:
            self._enter(directory)
        try:
            fd = os.open(name, _READ, dir_fd=self._fd)
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            raise named(error, path) from None
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise PathRefused(path, NOT_A_FILE)
            return _content(fd, found.st_size, limit)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Let go of the directory."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._directory = None
            os.close(fd)

    def _enter(self, directory: str) -> None:
        self.close()
        self._fd = self._root.beneath.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        self._directory = directory
