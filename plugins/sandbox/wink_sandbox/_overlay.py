"""Let programs work on an overlay of the workspace: what they change lies apart, and the workspace stays as it is."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from wink.errors import RecordCorrupt
from wink.state import open_directory, opened_directory, read_file
from wink_sandbox._deep import LOCK, Opened, remove_tree
from wink_sandbox._held_index import HeldIndex
from wink_sandbox._upper import Reader, Reading, attributes
from wink_sandbox.programs import Mount

if TYPE_CHECKING:
    from wink_sandbox._scratch import Scratch

SINCE: Final = "since"
"""The file of an overlay that says from when on a change in the workspace is somebody else's."""
COPY: Final = "copy"
"""The directory of an overlay that holds the copy on which programs worked where no overlay can be mounted."""
ELSEWHERE: Final = "elsewhere"
"""The directory in there that holds what is noted of the copy for programs that nothing confines, which itself lies elsewhere."""
LEFT_OUT: Final = "left-out.json"
"""The file of an overlay that says what of the workspace was in no copy."""
RUNS: Final = "runs"
"""The file in either from before a program starts until what it did is in the overlay."""
_PAUSES: Final = (0.001, 0.01, 0.05)
"""Seconds until the lock is asked for once more."""
_BY_NAME: Final = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LayerCorrupt(RecordCorrupt):
    """Something else stands where an overlay had a directory, and has been left as it is; setting the record aside is no help."""

    def __str__(self) -> str:
        return f"{self.path!r} {self.reason}"


@dataclass(slots=True)
class Overlay:
    """One overlay: `root` is the workspace, `directory` where the changes are kept, on the same mount for a cheap merge.

    It is in use from `open` to `close`; `directory` is a real path, beneath which no link is followed. `close` keeps it for another time, `drop` removes it. `since` is the time, by the
    workspace's own clock, after which a change in the workspace is somebody else's. With `scratch`, its directories stay
    out of what is merged or dropped. With `is_copy` it is no layer over the workspace but a copy, seen in its place.
    With `is_git` the root is a git directory itself. `index` is the workspace's git index as it was when the overlay was opened.
    """

    root: str
    directory: str
    scratch: Scratch | None = None
    since: int = 0
    is_copy: bool = False
    is_git: bool = False
    index: HeldIndex | None = field(default=None, repr=False)
    _lock: int = field(default=-1, repr=False)

    @property
    def upper(self) -> str:
        """The directory that holds what was changed."""
        return f"{self.directory}/upper"

    @property
    def lock(self) -> int:
        """The descriptor that it is in use by: whatever has it keeps it in use."""
        return self._lock

    def open(self, *, afresh: bool = False, make: bool = True) -> None:
        """Make it, or take it up again as it was left, or with `afresh` without what was changed in it.

        Raises `BlockingIOError` while somebody else uses it, and `FileNotFoundError` for none where it is not to `make` one.
        """
        place = open_directory(self.directory, make=make)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            lock = os.open(LOCK, flags, 0o600, dir_fd=place)
        except BaseException:
            os.close(place)
            raise
        try:
            _lock(lock)
            if not os.fstat(lock).st_nlink or not _is_at(place, self.directory):
                raise BlockingIOError(errno.EAGAIN, "it was removed, or moved, in this very moment", self.directory)
            Opened(self.directory).close()
            is_new = _is_made(place, "upper", self.directory)
            if afresh and not is_new:
                self._empty()
            if is_new or afresh:
                # What the root of the overlay looks like is taken from here.
                os.chmod(self.upper, stat.S_IMODE(os.stat(self.root).st_mode))
                if self.scratch is not None:
                    self.scratch.lend(self.upper, self.root)
            self.since = _mark_time(place, afresh=afresh)
            self.index = HeldIndex(self.root)
        except BaseException:
            os.close(lock)
            raise
        finally:
            os.close(place)
        self._lock = lock

    def is_in_use(self) -> bool:
        """Whether a process has opened it."""
        try:
            with opened_directory(self.directory) as place:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                lock = os.open(LOCK, flags, dir_fd=place)
        except (OSError, RecordCorrupt):
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def mount(self) -> Mount:
        """What the launcher is to mount, once, over the workspace's own path."""
        found = os.stat(self.root)
        upper, work = layers(self.directory)
        return Mount(self.root, (self.root,), upper, work, (found.st_dev, found.st_ino))

    def read(self, ignored: Callable[[str], str | None]) -> Reading:
        """What programs have changed in it so far, without scratch."""
        mode = os.stat(self.upper).st_mode if is_directory(self.upper) else stat.S_IRWXU
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(self.upper, stat.S_IMODE(mode) | stat.S_IRWXU)  # a program closed its root, to us too
        holds = _none if self.scratch is None else self.scratch.holds
        return Reader(self.root, self.upper, ignored=ignored, is_scratch=holds, opened=Opened(self.directory)).read()

    def close(self) -> None:
        """Let go of it."""
        if self.index is not None:
            self.index.close()
        if self._lock >= 0:
            _let_owner_in(self.directory)
            os.close(self._lock)
            self._lock = -1

    def move(self, directory: str) -> None:
        """Let it lie elsewhere in the same filesystem, where nothing is yet, while it is in use.

        What is above `directory` is made if need be. Raises `OSError` where something is there.
        """
        above, name = os.path.split(directory)
        source, known_as = os.path.split(self.directory)
        with opened_directory(source) as at, opened_directory(above, make=True) as to:
            os.rename(known_as, name, src_dir_fd=at, dst_dir_fd=to)
        self.directory = directory

    def drop(self) -> None:
        """Forget all that was changed, but keep scratch."""
        if self.scratch is not None and is_directory(self.upper):
            self.scratch.take_back(self.upper, self.root)
        remove_tree(self.directory)
        self.close()

    def recycle(self) -> None:
        """Forget all that was changed, but keep scratch, and the empty directories for the next program.

        Making and removing directories takes some filesystems longer than the program takes.
        """
        self._empty()
        self.close()

    def _empty(self) -> None:
        if self.scratch is not None:
            self.scratch.take_back(self.upper, self.root)
        with os.scandir(self.upper) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            remove_tree(f"{self.upper}/{name}")
        found = os.stat(self.upper)
        # What was said of the root itself, such as a list of rights that all new files get, is not for the next program.
        if attributes(self.upper) or (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
            os.rmdir(self.upper)
            os.mkdir(self.upper)


def _none(path: str) -> bool:
    del path
    return False


def layers(directory: str) -> tuple[str, str]:
    """What is written in an overlay, and what the kernel works in, made if need be; both are really in `directory`."""
    with opened_directory(directory, make=True) as place:
        _is_made(place, "upper", directory)
        if not _is_made(place, "work", directory):
            _ready_to_work(f"{directory}/work")
    return f"{directory}/upper", f"{directory}/work"


def _is_at(place: int, directory: str) -> bool:
    """Whether a directory still has the name by which it was opened."""
    try:
        return os.path.samestat(os.fstat(place), os.lstat(directory))
    except FileNotFoundError:
        return False


def _is_made(place: int, name: str, directory: str) -> bool:
    """Make a directory, unless it is there already; raises `RecordCorrupt` where something else is."""
    try:
        os.mkdir(name, 0o700, dir_fd=place)
    except FileExistsError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode):
            raise LayerCorrupt(
                f"{directory}/{name}", "is a link, or a file, where wink had a directory; delete it to begin anew"
            ) from None
        return False
    return True


def _let_owner_in(directory: str) -> None:
    """Open what the kernel worked in, or nobody but root could remove a workspace in which a program ran: `rm -rf`, `git clean`."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name != "upper" and entry.is_dir(follow_symlinks=False):
                work = entry.path if entry.name == "work" else f"{entry.path}/work"
                with suppress(OSError):
                    _ready_to_work(work)


def _ready_to_work(work: str) -> None:
    """What the kernel works in can be used again only when it is told that the last use, never synced, does not matter."""
    at = os.open(work, _BY_NAME)
    try:
        for name in ("work", "incompat"):
            inside = os.open(name, _BY_NAME, dir_fd=at)
            os.close(at)
            at = inside
            os.chmod(f"/proc/self/fd/{at}", 0o700)  # the kernel leaves them so that not even their owner gets in
        remove_tree(f"/proc/self/fd/{at}/volatile")
    except (FileNotFoundError, NotADirectoryError):
        pass
    finally:
        os.close(at)


def _mark_time(place: int, *, afresh: bool) -> int:
    """A time that all changes before it are before, and all after it are not: what this very filesystem stamps now.

    Once its time has been looked at, newer kernels give a file a finer time at its next change than the clock's tick.
    If the program finds a previous marker, that one stays: an overlay is as old as its first use.
    """
    try:
        if not afresh:
            return int(read_file(place, SINCE, 64))
    except (OSError, ValueError):
        pass
    draft = f"{SINCE}.{os.urandom(6).hex()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=place)
    try:
        os.fstat(fd)
        os.fchmod(fd, 0o600)
        now = os.fstat(fd).st_ctime_ns
        os.write(fd, str(now).encode())
        os.rename(draft, SINCE, src_dir_fd=place, dst_dir_fd=place)
        return now
    finally:
        os.close(fd)


def _lock(lock: int) -> None:
    """Take the lock, which `is_in_use` has for a moment now and then; raises `BlockingIOError`."""
    for pause in _PAUSES:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)
        else:
            return
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_directory(path: str) -> bool:
    """Whether a directory has this name, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def has_copy(overlay: Overlay) -> bool:
    """Whether programs have worked on a copy."""
    return is_directory(f"{overlay.directory}/{COPY}")


def has_left_out(overlay: Overlay) -> bool:
    """Whether something of the workspace was in no copy, when a program worked on one."""
    return os.path.lexists(f"{overlay.directory}/{LEFT_OUT}")


def is_unsettled(overlay: Overlay, *, moved: bool | None = None) -> bool:
    """Whether a program works on a copy, or wink was killed before it had looked at what one did; on one elsewhere if `moved`."""
    places = [f"{overlay.directory}/{COPY}/{RUNS}", f"{overlay.directory}/{COPY}/{ELSEWHERE}/{RUNS}"]
    return any(map(os.path.lexists, places if moved is None else places[moved : moved + 1]))


def overlays_in(directory: str) -> list[str]:
    """The names of directories in one that holds overlays; raises `RecordCorrupt` where that is a link."""
    try:
        with opened_directory(directory) as place, os.scandir(place) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def fresh_name() -> str:
    """A name for an overlay that is used once."""
    return f"{time.time_ns():x}-{os.getpid():x}-{os.urandom(3).hex()}"


@contextmanager
def spare(directory: str, root: str, scratch: Scratch | None) -> Generator[Overlay]:
    """An empty overlay in `directory`: one that nobody uses any more, also after a crash, or else a new one."""
    for name in (*overlays_in(directory), fresh_name()):
        overlay = Overlay(root, f"{directory}/{name}", scratch)
        try:
            overlay.open(afresh=True)
        except (BlockingIOError, FileNotFoundError, RecordCorrupt):
            continue  # somebody uses it, or has just removed it, or has put something in its place
        break
    else:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), directory)
    try:
        yield overlay
    finally:
        overlay.recycle()


def sweep(directory: str, root: str = "", scratch: Scratch | None = None) -> tuple[str, ...]:
    """Remove the overlays in `directory` that nobody uses any more, as after a crash; gives their names."""
    removed: list[str] = []
    for name in overlays_in(directory):
        place = f"{directory}/{name}"
        try:
            lock = os.open(f"{place}/{LOCK}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            continue  # it is being made, or removed
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                continue  # no lock of ours
            raise
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if scratch is not None and is_directory(f"{place}/upper"):
                scratch.take_back(f"{place}/upper", root)
            remove_tree(place)
            removed.append(name)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
    return tuple(removed)
