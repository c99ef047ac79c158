"""Keep the directory in which a disk store's journals, pre-images and conflicts lie."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

NESTED: Final = ".wink"
"""The state's name when it lies in the root itself."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class State:
    """Descriptors of the state's directories; nothing is on the disk before `create`.

    `wal` and `staged` are -1 while the state is not open. `within` is where the state lies in the root, or None; `where`
    is the same for people. `made` is told the descriptor of a state that is being made.
    """

    __slots__ = ("_conflicts", "_fd", "_lock", "_root", "made", "staged", "wal", "where", "within")

    def __init__(self, root: int, root_path: str, where: str | None) -> None:
        self._root, self._lock = root, threading.Lock()
        # The usual place is not resolved, even if it is given: what has this name in a workspace may be a link.
        usual = f"{root_path}/{NESTED}"
        self.where: Final = usual if where is None or _is_at(where, root_path) else os.path.realpath(where)
        inside = os.path.relpath(self.where, root_path)
        self.within: Final = None if inside == ".." or inside.startswith("../") else inside
        self._fd = self._conflicts = self.wal = self.staged = -1
        self.made: Callable[[int], None] | None = None

    def open(self) -> bool:
        """Open the state if it exists; False when nothing was ever stored."""
        with self._lock:
            if self._fd >= 0:
                return True
            try:
                self._open(make=False)
            except FileNotFoundError:
                self._close()
                return False
            except BaseException:
                self._close()  # half of it must not pass for all of it
                raise
            return True

    def create(self) -> None:
        """Open the state, made if need be; the root's own time of change stays as it is."""
        with self._lock:
            if self._fd < 0:
                try:
                    self._open(make=True)
                except BaseException:
                    self._close()
                    raise

    def forget(self) -> None:
        """Close what is open; the next use looks again."""
        with self._lock:
            self._close()

    @property
    def fd(self) -> int:
        """The state's own directory."""
        return self._fd

    def conflicts(self) -> int:
        """The directory for what a rollback found and did not expect."""
        with self._lock:
            if self._conflicts < 0:
                self._conflicts = _directory(self._fd, "conflicts", make=True)
            return self._conflicts

    def _open(self, *, make: bool) -> None:
        if self.within == NESTED:
            # A workspace can come with a link of this name: that would lead our writes elsewhere.
            before = os.fstat(self._root) if make else None
            self._fd = _directory(self._root, NESTED, make=make)
            if before is not None and os.fstat(self._root).st_mtime_ns != before.st_mtime_ns:
                _restore_time(self._root, before)
        else:
            if make:
                os.makedirs(self.where, mode=0o700, exist_ok=True)
            self._fd = os.open(self.where, _DIRECTORY)
        if make and self.within is not None:
            _ignore_itself(self._fd)
        if make and self.made is not None:
            # Before the directories that tell others that there is a state: they look for the lease in it then.
            self.made(self._fd)
        self.wal = _directory(self._fd, "wal", make=make)
        self.staged = _directory(self._fd, "staged", make=make)

    def _close(self) -> None:
        for fd in (self._conflicts, self.staged, self.wal, self._fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._conflicts = self.wal = self.staged = -1


def _is_at(where: str, root: str) -> bool:
    above, name = os.path.split(os.path.abspath(where))
    return name == NESTED and os.path.realpath(above) == root


def _directory(parent: int, name: str, *, make: bool) -> int:
    try:
        return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        pass  # another process was faster
    return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


def _ignore_itself(state: int) -> None:
    try:
        fd = os.open(
            ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=state
        )
    except FileExistsError:
        return
    try:
        os.write(fd, b"*\n")
    finally:
        os.close(fd)


def _restore_time(root: int, before: os.stat_result) -> None:
    try:
        os.utime(root, ns=(before.st_atime_ns, before.st_mtime_ns))
    except OSError:
        pass  # not our directory: its time tells that something was made in it
