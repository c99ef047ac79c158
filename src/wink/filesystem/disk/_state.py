"""Hold the directories in which a disk store's journals, pre-images and conflicts lie."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

from wink.filesystem.disk._journal_file import JournalFile
from wink.state import enter, is_place, make

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class State:
    """Descriptors of the state's directories; nothing is on the disk before `create`.

    `fd`, of the state's own directory, `wal` and `staged` are -1 while the state is not open; `journal` is the file in `wal`. `within` is where the state lies in the root, or None; `where`
    is the same as a real path. `made` is told the descriptor of a state that is being made.
    """

    __slots__ = ("_conflicts", "_lock", "_root", "fd", "journal", "made", "staged", "wal", "where", "within")

    def __init__(self, root: int, root_path: str, where: str) -> None:
        self._root, self._lock = root, threading.Lock()
        self.where: Final = where
        inside = os.path.relpath(where, root_path)
        self.within: Final = None if inside == ".." or inside.startswith("../") else inside
        self.fd = self._conflicts = self.wal = self.staged = -1
        self.journal = JournalFile(-1, -1)
        self.made: Callable[[int], None] | None = None

    def open(self) -> bool:
        """Open the state if it exists; False when nothing was ever stored."""
        with self._lock:
            if self.fd >= 0:
                return True
            try:
                self._open(is_new=False)
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
            if self.fd < 0:
                try:
                    self._open(is_new=True)
                except BaseException:
                    self._close()
                    raise

    def forget(self) -> None:
        """Close what is open; the next use looks again."""
        with self._lock:
            self._close()

    @property
    def is_usual(self) -> bool:
        """Whether it lies below `.wink`, which nobody sees anyhow."""
        return is_place(self.where)

    def conflicts(self) -> int:
        """The directory for what a rollback found and did not expect."""
        with self._lock:
            if self._conflicts < 0:
                self._conflicts = _directory(self.fd, "conflicts", is_new=True)
            return self._conflicts

    def _open(self, *, is_new: bool) -> None:
        self.fd = make(self.where, self._root) if is_new else enter(self.where, self._root)
        if is_new and self.made is not None:
            # Before the directories that tell others that there is a state: they look for the lease in it then.
            self.made(self.fd)
        self.wal = _directory(self.fd, "wal", is_new=is_new)
        self.staged = _directory(self.fd, "staged", is_new=is_new)
        self.journal = JournalFile(self.fd, self.wal)

    def _close(self) -> None:
        opened = self._conflicts, self.staged, self.wal, self.fd
        self.fd = self._conflicts = self.wal = self.staged = -1  # first: closing may fail, and must not be done twice
        self.journal.close()
        for fd in (one for one in opened if one >= 0):
            os.close(fd)


def _directory(parent: int, name: str, *, is_new: bool) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except FileNotFoundError:
        if not is_new:
            raise
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        pass  # another process was faster
    return os.open(name, _DIRECTORY, dir_fd=parent)
