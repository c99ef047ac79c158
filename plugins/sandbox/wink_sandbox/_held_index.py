"""Know what the workspace's git index said when a program began, to tell a `git status` beside it from a change."""

from __future__ import annotations

import os
import stat
from typing import Final

PATH: Final = ".git/index"
_SLACK: Final = 1 << 20
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class HeldIndex:
    """The index as it is now, by a descriptor: git writes another one and gives that the name, so this one stays as it is.

    `git status` writes an index anew to note times in it. Only that of the workspace itself is held.
    """

    __slots__ = ("_fd", "_place", "_then")

    def __init__(self, root: str) -> None:
        self._place = f"{root}/{PATH}"
        self._fd, self._then = -1, None
        try:
            self._fd = os.open(self._place, _READ)
            self._then = os.fstat(self._fd)
        except OSError:
            pass  # there is none, or none that can be read

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def says_the_same(self, *, since: int | None = None, inode: int | None = None) -> bool:
        """Whether what is there now says what this one does; in doubt it does not.

        This one must be older than `since`, a time of the filesystem in nanoseconds, or have the `inode`.
        """
        then = self._then
        if self._fd < 0 or then is None or not stat.S_ISREG(then.st_mode):
            return False
        if (since is not None and then.st_ctime_ns > since) or (inode is not None and then.st_ino != inode):
            return False
        now = os.fstat(self._fd)
        if (now.st_size, now.st_mtime_ns) != (then.st_size, then.st_mtime_ns):
            return False  # somebody writes into the file itself
        from wink.filesystem import git_index_meaning

        try:
            with open(os.open(self._place, _READ), "rb") as there:
                if not stat.S_ISREG(os.fstat(there.fileno()).st_mode):
                    return False
                current = there.read(then.st_size * 2 + _SLACK)
            os.lseek(self._fd, 0, os.SEEK_SET)
            with open(self._fd, "rb", closefd=False) as held:
                said = git_index_meaning(held.read(then.st_size))
        except OSError:
            return False
        return said is not None and said == git_index_meaning(current)
