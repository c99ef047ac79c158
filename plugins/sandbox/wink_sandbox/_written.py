"""Tell how much a program has written, and end one that has written more than it may."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from wink_sandbox._deep import walk_tree
from wink_sandbox._overlay import Overlay
from wink_sandbox._upper import has_origin
from wink_sandbox.programs import MIB, Limits

_SCARCE: Final = 512 * MIB
"""When less than this is left of the disk, a program that may have taken a lot of it is ended."""


class Watcher:
    """Tells when a program has written more than it may, looking at all of it only when the disk has filled so much."""

    def __init__(self, overlay: Overlay, limits: Limits, beat: Callable[[], object] | None) -> None:
        self._overlay, self._limits, self._beat = overlay, limits, beat
        self._free, self._free_files = self._left()

    def __call__(self) -> str | None:
        if self._beat is not None:
            self._beat()
        most, most_files = self._limits.written_bytes, self._limits.made_files
        left, left_files = self._left()
        is_much = most is not None and self._free - left >= most
        if not is_much and (most_files is None or self._free_files - left_files < most_files):
            return None
        # Files that have been deleted and are still written to are in no tree: what they take shows when it gets scarce.
        is_scarce = is_much and left < _SCARCE
        size, number = written(self._overlay)
        is_over = (most is not None and size > most) or (most_files is not None and number > most_files)
        return "wrote too much" if is_over or is_scarce else None

    def _left(self) -> tuple[int, int]:
        found = os.statvfs(self._overlay.directory)
        return found.f_bfree * found.f_frsize, found.f_ffree


def written(overlay: Overlay) -> tuple[int, int]:
    """The bytes on the disk, and the names, by which a program has made an overlay more than the workspace.

    To change a mode, a time, a name or one byte of a file the kernel copies all of it; so what the workspace has at the
    same path does not count, nor what was copied from paths that are no more.
    """
    size = number = moved = gone = 0
    for path, status in walk_tree(overlay.upper):
        number += 1
        below = _blocks(f"{overlay.root}/{path}")
        if stat.S_ISCHR(status.st_mode):
            gone += below or 0
        elif below is None and stat.S_ISREG(status.st_mode) and has_origin(f"{overlay.upper}/{path}"):
            moved += status.st_blocks
        else:
            size += max(status.st_blocks - (below or 0), 0)
    return (size + max(moved - gone, 0)) * 512, number


def _blocks(place: str) -> int | None:
    """What a file takes on the disk; None where none is."""
    with suppress(OSError):  # also for a path that is longer than one can be
        found = os.lstat(place)
        return found.st_blocks if stat.S_ISREG(found.st_mode) else None
    return None
