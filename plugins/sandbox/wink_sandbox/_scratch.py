"""Keep what builds leave behind from one program to the next, outside of any transaction.

Directories of certain names (`node_modules`, `target`) are scratch: what programs do in them neither becomes the
workspace's nor is dropped. It is kept as the upper directory had it, and lent to the next program, on top of what the
workspace itself has there. So a build that failed, or was killed, goes on where it stopped.

What it costs: nobody but programs under a guard sees it, it cannot be undone, it takes room in the state directory until
somebody deletes it there, and of two programs that run at the same time only the first has it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from wink.dataclass import dataclass
from wink.filesystem import is_protected_name
from wink.state import opened_directory
from wink_sandbox._deep import remove_tree

_OPAQUE: Final = "user.overlay.opaque"
_LOCK: Final = "lock"
_LEVELS: Final = 64
_TICK: Final = 0.02  # seconds that the clock of files may be behind
_LONG: Final = 800
"""Deeper down nothing is scratch: no build has it there, and a program that makes levels without end need not be followed."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """What is kept in `directory`, and the `names` of the directories that belong there.

    A name is meant at any depth; one that begins with `/` is a path from the root.
    """

    directory: str
    names: Sequence[str]

    def holds(self, path: str) -> bool:
        """Whether a directory of this path is scratch.

        >>> scratch = Scratch("/state/scratch", ["node_modules", "/target"])
        >>> scratch.holds("web/node_modules"), scratch.holds("target"), scratch.holds("src/target")
        (True, True, False)
        """
        name = path.rpartition("/")[2]
        if path.count("/") > _LEVELS or len(path) > _LONG:
            return False
        return (name in self.names or f"/{path}" in self.names) and not is_protected_name(name)

    def lend(self, upper: str, root: str) -> None:
        """Move what is kept into a fresh upper directory, as far as the workspace still has a place for it.

        Another program that runs at the same time does without.
        """
        with self._locked():
            self._lend("", upper, root)

    def take_back(self, upper: str, root: str) -> tuple[str, ...]:
        """Take scratch directories, or the marks that they are gone, out of an upper directory; gives their paths."""
        found = sorted(self._found(upper))
        if found:
            with self._locked():
                for path in found:
                    if path.endswith("__pycache__"):
                        _drop_racy(f"{upper}/{path}")
                    _make_directories(self.directory, path.split("/")[:-1], upper)
                    _fold(f"{upper}/{path}", f"{self.directory}/{path}", f"{root}/{path}")
        return tuple(found)

    def _lend(self, path: str, upper: str, root: str) -> None:
        try:
            with os.scandir(f"{self.directory}/{path}") as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return
        for name in names:
            below = f"{path}/{name}" if path else name
            if self.holds(below):
                _make_directories(upper, path.split("/") if path else [], root)
                os.rename(f"{self.directory}/{below}", f"{upper}/{below}")
            elif _is_directory(f"{root}/{below}"):
                self._lend(below, upper, root)
            else:
                remove_tree(f"{self.directory}/{below}")  # the directory that it was in has been deleted

    def _found(self, upper: str) -> Iterator[str]:
        pending = [""]
        while pending:
            path = pending.pop()
            with os.scandir(f"{upper}/{path}") as entries:
                found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
            for name, status in found:
                below = f"{path}/{name}" if path else name
                is_directory = stat.S_ISDIR(status.st_mode)
                if self.holds(below) and (is_directory or stat.S_ISCHR(status.st_mode)):
                    yield below
                elif is_directory and below.count("/") < _LEVELS and len(below) < _LONG:
                    pending.append(below)

    @contextmanager
    def _locked(self) -> Generator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with opened_directory(self.directory, make=True) as place:
            lock = os.open(_LOCK, flags, 0o600, dir_fd=place)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _make_directories(base: str, names: Sequence[str], like: str) -> None:
    """See that there are directories in `base`, which look as those in `like` do."""
    above = ""
    for name in names:
        above = f"{above}/{name}"
        if not os.path.lexists(base + above):
            found = os.stat(like + above)
            os.mkdir(base + above)
            os.chmod(base + above, stat.S_IMODE(found.st_mode))
            os.utime(base + above, ns=(found.st_atime_ns, found.st_mtime_ns))


def _drop_racy(directory: str) -> None:
    """Remove bytecode of sources that can still be changed in the second they were last changed in.

    Python knows bytecode by its source's size and time in whole seconds (PEP 552), so it would take the old one for an
    edit that keeps the size.
    """
    if not _is_directory(directory):
        return
    now = int(time.time() - _TICK)
    with os.scandir(directory) as entries:
        found = [(entry.path, entry.stat(follow_symlinks=False)) for entry in entries]
    for path, status in found:
        if stat.S_ISREG(status.st_mode) and status.st_mtime >= now:
            # One that we may not read is none to Python either.
            with suppress(OSError), open(path, "rb", buffering=0) as file:
                if int.from_bytes(file.read(16)[8:12], "little") >= now:
                    os.unlink(path)


def _fold(source: str, layer: str, lower: str, levels: int = _LEVELS) -> None:
    """Put what is at `source` on top of what is kept; there is something only where another program ran meanwhile."""
    new, old = os.lstat(source), _status(layer)
    if stat.S_ISCHR(new.st_mode):
        remove_tree(layer)
        if _is_directory(os.path.dirname(layer)) and _status(lower) is not None:
            os.rename(source, layer)
        return
    is_whole = levels == 0 or max(len(source), len(layer)) > _LONG or _is_opaque(source)
    if old is None or is_whole or not stat.S_ISDIR(new.st_mode) or not stat.S_ISDIR(old.st_mode):
        remove_tree(layer)
        os.rename(source, layer)
        return
    os.chmod(layer, stat.S_IMODE(new.st_mode))
    with os.scandir(source) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        _fold(f"{source}/{name}", f"{layer}/{name}", f"{lower}/{name}", levels - 1)
    os.utime(layer, ns=(new.st_atime_ns, new.st_mtime_ns))


def _is_opaque(path: str) -> bool:
    try:
        return os.getxattr(path, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def _is_directory(path: str) -> bool:
    found = _status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
