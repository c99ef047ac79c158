"""Hold one directory tree with its state, and change names in them one atomic step at a time."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Final, NamedTuple

from wink.errors import PathRefused
from wink.filesystem._git_data import is_git_config, is_git_data, restoring
from wink.filesystem._paths import check_readable, check_writable
from wink.filesystem._store import Node, NodeKind, failure
from wink.filesystem.disk._beneath import Openat2, Walk, named
from wink.filesystem.disk._installed import DISTRIBUTION, IRREGULAR, SETTINGS, distribution_at, import_places
from wink.filesystem.disk._journal import Mark
from wink.filesystem.disk._report import Conflict
from wink.filesystem.disk._state import State
from wink.filesystem.disk._syscalls import RENAME_EXCHANGE, RENAME_NOREPLACE, UNSUPPORTED, has_openat2, renameat2
from wink.state import user_directory

DANGLING: Final = "is a link that leads to nothing"
_OWN = "is wink's own state"
_ROOT = "is the workspace root"
_RACY_NS: Final = 20_000_000
_TICK_NS: Final = 900_000  # clocks that tick do so a thousand times a second at most
_MOST_REPLACED: Final = 4096
_MOST_CONFLICTS: Final = 1000


class Replaced(NamedTuple):
    """What is in staging: the path that it had, and its mark then; of a directory the time when it came there."""

    path: str
    mark: Mark


class DiskRoot:
    """What a store, its change sets and its recovery share.

    `can_exchange` turns false for good when the filesystem refuses an exchange; then links and renames do the same in
    two steps. `active` are the transactions of this store that have a journal. `has_fine_times` is true where each write
    that follows a look at a file's time gives it another one, false where clocks tick, None while nobody knows. `replaced`
    tells of the last files that came to staging, by their names there; `conflicts` are the last that were found. `untidy` are
    transactions whose journals could not be removed when all that they say had been taken back. `hidden` are the places of
    wink's own in the tree, beside `.wink`: each the directory above it, and its name.
    """

    __slots__ = (
        "_importable",
        "_private",
        "_unread",
        "active",
        "beneath",
        "can_exchange",
        "conflicts",
        "has_fine_times",
        "hidden",
        "is_durable",
        "path",
        "replaced",
        "root_fd",
        "state",
        "untidy",
    )

    def __init__(self, root: str, state: str, *, durable: bool, resolver: str | None, exchange: bool | None) -> None:
        self.root_fd = -1  # nothing is open, should the next lines fail
        self.path: Final = os.path.realpath(root)
        self.is_durable: Final = durable
        self.active: Final[set[str]] = set()
        self.untidy: Final[set[str]] = set()
        self.can_exchange = sys.platform == "linux" if exchange is None else exchange
        self.root_fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.state: Final = State(self.root_fd, self.path, state)
        kernel = has_openat2() if resolver is None else resolver == "openat2"
        self.has_fine_times: bool | None = None
        self.replaced: Final[dict[str, Replaced | None]] = {}
        self.conflicts: Final[deque[Conflict]] = deque(maxlen=_MOST_CONFLICTS)
        self._private: Final = tuple(_private_places(self.path))
        states = () if self.state.is_usual else (self.state.where,)
        found = (_within(place, self.path) for place in (*states, user_directory()) if place is not None)
        self._unread: Final = tuple(place for place in found if place is not None)
        self.hidden: Final = frozenset(os.path.split(place) for place in self._unread)
        # Most trees have no state but `.wink`, so that one look at the path is enough.
        readable = self.check_readable if self._unread else check_readable
        self.beneath: Final = (Openat2 if kernel else Walk)(self.root_fd, readable)
        self._importable: Final = import_places(self.path)

    def close(self) -> None:
        """Close every descriptor."""
        fd, self.root_fd = self.root_fd, -1
        if fd >= 0:
            self.state.forget()
            self.beneath.forget()
            os.close(fd)

    __del__ = close  # as of Python's own files: whoever forgets to close one of many must not run out of descriptors

    # -- what may be touched

    def check_readable(self, real: str, asked: str) -> None:
        """Raise `PathRefused` for wink's own state."""
        check_readable(real, asked)
        for place in self._unread:
            if _is_in(real, place):
                raise PathRefused(asked, _OWN)

    def check_writable(self, real: str, asked: str) -> None:
        """Raise `PathRefused` for what file tools must not change, wherever the path came from."""
        if not real:
            raise PathRefused(asked or ".", _ROOT)
        if not (restoring.get() and (is_git_data(real) or is_git_config(real))):
            check_writable(real, asked)
        self.check_readable(real, asked)
        for place, reason in self._private:
            if _is_in(real, place):
                raise PathRefused(asked, reason)

    def check_given(self, real: str, asked: str) -> None:
        """Like `check_writable`, for a path that a tool gives; programs and installers make distributions too."""
        self.check_writable(real, asked)
        if distribution_at(real, self._importable) is not None and not restoring.get():
            raise PathRefused(asked, DISTRIBUTION)

    def check_kind(self, real: str, asked: str, mode: int, *, is_moved: bool = False) -> None:
        """Raise `PathRefused` where a tool would put something that is no file in the place of settings.

        Nor does a directory that is moved become one that Python imports from: it may hold what could not be written there.
        """
        if restoring.get() or stat.S_ISREG(mode):
            return
        if real.casefold() in SETTINGS:
            raise PathRefused(asked, IRREGULAR)
        if is_moved and any(_is_in(place, real) for place in self._importable):
            raise PathRefused(
                asked, "is where the running Python imports from; make the directory, and move files into it"
            )

    def check_removable(self, real: str, asked: str) -> None:
        """Like `check_writable`, also for a directory that has such a place somewhere in it."""
        self.check_writable(real, asked)
        for place, reason in (*self._private, *((place, _OWN) for place in self._unread)):
            if place.casefold().startswith(real.casefold() + "/"):
                raise PathRefused(asked, f"has {place!r} in it, which {reason}")

    # -- what others save

    def is_racy(self, modified_ns: int) -> bool:
        """Whether a file may be written again now and show the same time, if times are not fine."""
        return time.time_ns() - modified_ns < _RACY_NS

    def learn_times(self, written_ns: int, renamed_ns: int) -> None:
        """A file's time was looked at between these two changes: are they less than a tick apart?"""
        if renamed_ns - written_ns < _TICK_NS:
            self.has_fine_times = renamed_ns != written_ns

    def remember(self, staged: str, replaced: Replaced | None) -> None:
        """Note what a committed transaction replaced; None when the kernel says that nobody can write to it any more."""
        if len(self.replaced) >= _MOST_REPLACED:
            self.replaced.pop(next(iter(self.replaced)), None)
        self.replaced[staged] = replaced

    def report(self, conflict: Conflict) -> None:
        """Keep what was found, for whoever asks."""
        self.conflicts.append(conflict)

    # -- names

    def status(self, fd: int, name: str) -> os.stat_result | None:
        """What `name` is, or None where there is nothing."""
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def swap(self, one_fd: int, one: str, two_fd: int, two: str) -> bool:
        """Let two names change places at once; False where that cannot be done here."""
        if not self.can_exchange:
            return False
        try:
            renameat2(one_fd, one, two_fd, two, RENAME_EXCHANGE)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
            self.can_exchange = False
            return False
        return True

    def place(self, from_fd: int, source: str, to_fd: int, target: str) -> None:
        """Rename without ever replacing anything; raises `FileExistsError`."""
        if self.can_exchange:
            try:
                return renameat2(from_fd, source, to_fd, target, RENAME_NOREPLACE)
            except OSError as error:
                # EINVAL is also what moving a directory into itself says; the portable way will say it again.
                if error.errno not in UNSUPPORTED:
                    raise
        found = os.stat(source, dir_fd=from_fd, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            try:
                os.link(source, target, src_dir_fd=from_fd, dst_dir_fd=to_fd, follow_symlinks=False)
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EMLINK, *UNSUPPORTED):
                    raise
            else:
                return self.unname(from_fd, source, found.st_ino)
        if self.status(to_fd, target) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        return os.rename(source, target, src_dir_fd=from_fd, dst_dir_fd=to_fd)

    def unname(self, fd: int, name: str, ino: int) -> None:
        """Remove the second name of a file, unless somebody saved another file under it in this moment."""
        if fd != self.state.staged:
            aside = f"unnamed.{os.urandom(6).hex()}"
            try:
                self.take(fd, name, aside)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
            else:
                if os.stat(aside, dir_fd=self.state.staged, follow_symlinks=False).st_ino != ino:
                    return self.place(self.state.staged, aside, fd, name)
                try:
                    os.unlink(aside, dir_fd=self.state.staged)
                except OSError:
                    if self.status(fd, name) is None:
                        os.rename(aside, name, src_dir_fd=self.state.staged, dst_dir_fd=fd)
                    raise
                return None
        return os.unlink(name, dir_fd=fd)

    def take(self, fd: int, name: str, staged: str) -> None:
        """Rename something into staging, under a name that nobody else uses."""
        os.rename(name, staged, src_dir_fd=fd, dst_dir_fd=self.state.staged)

    @contextmanager
    def in_staging(self, staged: str) -> Generator[tuple[int, str]]:
        """The directory that something in staging is in, perhaps one that was deleted with it, and its name there.

        Never through a link in there.
        """
        *above, name = staged.split("/")
        fd = self.state.staged
        try:
            for directory in above:
                child = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                if fd != self.state.staged:
                    os.close(fd)
                fd = child
            yield fd, name
        finally:
            if fd != self.state.staged:
                os.close(fd)

    def sync(self, directories: Iterable[str]) -> None:
        """Bring directories' entries to the disk."""
        for real in directories:
            try:
                fd = self.beneath.open(real, os.O_RDONLY | os.O_DIRECTORY)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTDIR):
                    continue
                raise named(error, real) from None
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        if self.state.staged >= 0:
            os.fsync(self.state.staged)


def restore_times(fd: int, times: tuple[int, ...]) -> None:
    """Give a directory the access and modification times that it had, as far as we may."""
    try:
        os.utime(".", ns=(times[0], times[1]), dir_fd=fd)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EROFS):
            raise
        # Somebody else's directory: only its owner can set times.


def times_of(fd: int) -> tuple[int, int]:
    """The access and modification times of a directory."""
    found = os.fstat(fd)
    return found.st_atime_ns, found.st_mtime_ns


def _is_in(real: str, place: str) -> bool:
    # Some filesystems fold case; on the others nobody misses a name that differs from such a place only in that.
    return (real.casefold() + "/").startswith(place.casefold() + "/")


def _within(place: str, root: str) -> str | None:
    inside = os.path.relpath(os.path.realpath(place), root)
    return None if inside in (".", "..") or inside.startswith("../") else inside


def _private_places(root: str) -> Iterable[tuple[str, str]]:
    # The user's own packages may not be there yet; then they are not in the path.
    user_site: str | None = getattr(sys.modules.get("site"), "USER_SITE", None)
    for entry in (*sys.path, user_site or ""):
        # Whoever writes here has its code run by the next interpreter that starts, this one's children first.
        if os.path.basename(entry) in ("site-packages", "dist-packages"):
            inside = _within(entry, root)
            if inside is not None:
                yield inside, "belongs to the running Python's packages"


class ResolvedPath(NamedTuple):
    """A name in an open directory: `path` is where it really is, `asked` what the caller calls it."""

    fd: int
    name: str
    path: str
    asked: str
    found: os.stat_result | None


def resolve(root: DiskRoot, path: str, *, follow: bool, creates: bool = False) -> ResolvedPath:
    """Where `path` is, open for a change; the caller closes `fd` through `root.beneath.close`.

    A link that is followed must lead to something; `creates` says that otherwise something would be made there. What is
    put back had no link on its way, and none is followed to it.
    """
    root.check_given(path, path)
    if restoring.get():
        above, _, name = path.rpartition("/")
        fd, real, follow = root.beneath.directory(above), path, False
    else:
        fd, name, real = root.beneath.parent(path)
    try:
        if real != path:
            root.check_given(real, path)
        found = root.status(fd, name)
    except BaseException:
        root.beneath.close(fd)
        raise
    if not follow or found is None or not stat.S_ISLNK(found.st_mode):
        return ResolvedPath(fd, name, real, path, found)
    root.beneath.close(fd)
    fd, name, real = root.beneath.follow(path)
    try:
        root.check_given(real, path)
        found = root.status(fd, name)
        if found is None or stat.S_ISLNK(found.st_mode):
            raise PathRefused(path, DANGLING) if creates else failure(errno.ENOENT, path)
    except BaseException:
        root.beneath.close(fd)
        raise
    return ResolvedPath(fd, name, real, path, found)


def check_permitted(at: ResolvedPath, found: os.stat_result) -> None:
    """Raise `PermissionError` where a plain write would: an exchange needs only the directory to be writable.

    What is undone may have been done before its owner closed a file, and comes back with its own mode.
    """
    me = os.geteuid()
    if me == 0 or (found.st_uid == me and (found.st_mode & stat.S_IWUSR or restoring.get())):
        return
    if found.st_uid == me or not os.access(at.name, os.W_OK, dir_fd=at.fd, effective_ids=True, follow_symlinks=False):
        raise failure(errno.EACCES, at.asked)


def node_of(found: os.stat_result, target: str | None = None) -> Node:
    """What a store says of a file of this status."""
    mode = found.st_mode
    return Node(
        kind_of(mode),
        found.st_size,
        stat.S_IMODE(mode),
        found.st_mtime_ns,
        (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns),
        target,
    )


def kind_of(mode: int) -> NodeKind:
    """`file`, `directory`, `link` or `other`."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"
