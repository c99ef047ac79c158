"""Remember directories deep in a tree, so that the next path beneath them need not be walked from the root again.

A walk opens each directory on its way, so going through a tree of two thousand levels would open two million. What is
remembered is used only where the system says that it still is where it was: else whoever moved it out of the root would
lead us along.
"""

from __future__ import annotations

import os
import threading
from typing import Final

_DEEP: Final = 16
"""Levels that are walked as fast as it could be made sure where a directory is."""
_MOST: Final = 8


class Footholds:
    """Open directories and the real paths, without links, that led to them."""

    __slots__ = ("_kept", "_lock", "_root")

    def __init__(self, root: int) -> None:
        self._root: Final = root
        self._lock: Final = threading.Lock()
        self._kept: list[tuple[list[str], int]] = []

    def nearest(self, names: list[str]) -> tuple[int, int] | None:
        """How many of the names lead to the nearest one, and a descriptor of it that the caller closes."""
        if len(names) < _DEEP or not self._kept:
            return None
        with self._lock:
            for at in sorted(range(len(self._kept)), key=lambda at: -len(self._kept[at][0])):
                kept, fd = self._kept[at]
                if len(kept) > len(names) or names[: len(kept)] != kept:
                    continue
                if self._is_there(kept, fd):
                    self._kept.append(self._kept.pop(at))
                    return len(kept), os.dup(fd)
                os.close(self._kept.pop(at)[1])
                return None
        return None

    def keep(self, names: list[str], fd: int) -> None:
        """Remember an open directory, which stays the caller's, if it is deep enough."""
        if len(names) < _DEEP:
            return
        with self._lock:
            if any(kept == names for kept, _ in self._kept):
                return
            self._kept.append((list(names), os.dup(fd)))
            if len(self._kept) > _MOST:
                os.close(self._kept.pop(0)[1])

    def forget(self) -> None:
        """Close all of them."""
        with self._lock:
            while self._kept:
                os.close(self._kept.pop()[1])

    def _is_there(self, names: list[str], fd: int) -> bool:
        try:
            root = os.readlink(f"/proc/self/fd/{self._root}")
            return os.readlink(f"/proc/self/fd/{fd}") == "/".join((root.rstrip("/"), *names))
        except OSError:
            return False  # no /proc, or a path that is too long for it: then we walk
