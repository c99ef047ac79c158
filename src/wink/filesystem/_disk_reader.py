"""Read one small file after the other, as a search does, without looking up the directory that they are in each time."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from wink.errors import PathRefused
from wink.filesystem._beneath import NEVER_BLOCK, NOT_A_FILE, named
from wink.filesystem._disk_ground import Ground

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | NEVER_BLOCK


class DirectoryReader:
    """Holds the directory of the last file open. Links are not followed: whoever goes through a tree passes them by."""

    __slots__ = ("_directory", "_fd", "_ground")

    def __init__(self, ground: Ground) -> None:
        self._ground: Final = ground
        self._directory: str | None = None
        self._fd = -1

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file; None for more than `limit` bytes, and for a link."""
        directory, _, name = path.rpartition("/")
        self._ground.check_readable(path, path)
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
            size = found.st_size
            if size > limit:
                return None
            data = os.read(fd, size + 1)
            if len(data) != size:
                # It grew or shrank while it was read, or one read does not give so much.
                data = b"".join((data, *iter(lambda: os.read(fd, 1 << 20), b"")))
            return data
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
        self._fd = self._ground.beneath.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        self._directory = directory
