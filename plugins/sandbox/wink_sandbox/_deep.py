"""Walk and remove directories that programs made: of any depth, with any modes, longer than a path can be."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final

LOCK: Final = "lock"
"""The file of a directory in use that is removed last: until then whoever sweeps sees that somebody is here."""

_LONG: Final = 2048
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Base:
    """A directory that paths begin at; its descriptor is closed when nothing below it is left to be looked at."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __del__(self) -> None:
        os.close(self.fd)


def walk_tree(path: str, *, closed: bool = True) -> Iterator[tuple[str, os.stat_result]]:
    """Everything in a directory, with paths relative to it; what is deleted meanwhile is left out.

    Raises `PermissionError` where there is a `closed` directory, unless it need not be looked into.
    """
    passed = (FileNotFoundError, NotADirectoryError, *(() if closed else (PermissionError,)))
    try:
        pending = [(_Base(os.open(path, _DIRECTORY)), ".", "")]
    except PermissionError:
        if closed:
            raise
        return
    while pending:
        base, inside, shown = pending.pop()
        try:
            fd = os.open(inside, _DIRECTORY, dir_fd=base.fd)
        except passed:
            continue
        with os.scandir(fd) as entries:
            found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        if len(inside) > _LONG:
            base, inside = _Base(fd), "."
        else:
            os.close(fd)
        for name, status in found:
            below = f"{shown}/{name}" if shown else name
            yield below, status
            if stat.S_ISDIR(status.st_mode):
                pending.append((base, f"{inside}/{name}", below))


def remove_tree(path: str) -> None:
    """Remove a directory with all that is in it, whatever modes programs gave it; what is gone already is fine.

    Directories are moved up before they are looked into, so that no path becomes long.
    """
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            return os.unlink(path)
        token, number = os.urandom(6).hex(), 0
        pending = [path]
        while pending:
            place = pending.pop()
            for name, is_directory in _opened_up(place):
                if is_directory and place != path:
                    number += 1
                    # To be moved a directory must be writable: its `..` changes.
                    os.chmod(f"{place}/{name}", 0o700)
                    os.rename(f"{place}/{name}", f"{path}/{token}-{number}")
                    pending.append(f"{path}/{token}-{number}")
                elif is_directory:
                    pending.append(f"{place}/{name}")
                elif place != path or name != LOCK:
                    _unlink(f"{place}/{name}")
            if place != path:
                os.rmdir(place)
        _unlink(f"{path}/{LOCK}")
        os.rmdir(path)
    except FileNotFoundError:
        pass
    return None


def _opened_up(place: str) -> list[tuple[str, bool]]:
    """What is in a directory, which can be changed from now on."""
    if os.lstat(place).st_mode & 0o700 != 0o700:
        os.chmod(place, 0o700)
    with os.scandir(place) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
