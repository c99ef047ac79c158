"""Walk, look into and remove directories that programs made: of any depth, with any modes, longer than a path can be.

What they closed even for its owner is left with the modes that they gave it.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, Self, cast

from wink.bounded import content_of
from wink.errors import RecordCorrupt
from wink.state import opened_directory

LOCK: Final = "lock"
"""The file of a directory in use that is removed last: until then whoever sweeps sees that somebody is here."""

_OPENED: Final = "opened"
_MOST_BYTES: Final = 16 << 20
_BY_NAME: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
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
        try:
            with os.scandir(fd) as entries:
                found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        except passed:  # one that can be listed, and no more
            os.close(fd)
            continue
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


class Opened:
    """What wink has opened in the overlay `directory` to read it, and how programs had left it.

    It is noted in a file there before it is done: another process, or this one after a kill, must not take the mode that it
    finds for the program's. Without a directory nothing is noted.
    """

    def __init__(self, directory: str = "") -> None:
        self._directory = directory
        self._left: dict[str, tuple[int, int]] | None = None

    def as_left(self, place: str, found: os.stat_result) -> os.stat_result:
        """The status that a program left at an absolute path, where `found` is now; it can be read from here on."""
        needed = 0o500 if stat.S_ISDIR(found.st_mode) else 0o400 if stat.S_ISREG(found.st_mode) else 0
        if os.geteuid() == 0 or not needed:
            return found
        name, mode = os.path.relpath(place, self._directory or "/"), stat.S_IMODE(found.st_mode)
        if self._left is None:
            self._left = self._noted()
        number, left = self._left.get(name, (-1, 0))
        if number == found.st_ino and mode == left | needed:
            return _with_mode(found, left)
        if mode & needed != needed:
            self._left[name] = found.st_ino, mode
            if self._directory:
                self._note(name, found.st_ino, mode)
            os.chmod(place, mode | needed)
        return found

    def close(self) -> None:
        """Give back the modes, before another program sees them."""
        left, self._left = self._noted(), None
        if not left:
            return
        for name, (number, mode) in sorted(left.items(), reverse=True):
            with (
                suppress(OSError, RecordCorrupt),
                opened_directory(f"{self._directory}/{os.path.dirname(name)}") as above,
            ):
                fd = os.open(os.path.basename(name), _BY_NAME, dir_fd=above)
                try:
                    found = os.fstat(fd)
                    needed = 0o500 if stat.S_ISDIR(found.st_mode) else 0o400
                    if (found.st_ino, stat.S_IMODE(found.st_mode)) == (number, mode | needed):
                        os.chmod(f"/proc/self/fd/{fd}", mode)
                finally:
                    os.close(fd)
        with opened_directory(self._directory) as place:
            os.unlink(_OPENED, dir_fd=place)

    def _note(self, name: str, number: int, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with opened_directory(self._directory) as place:
            fd = os.open(_OPENED, flags, 0o600, dir_fd=place)
        try:
            os.write(fd, json.dumps([name, number, mode]).encode() + b"\n")
        finally:
            os.close(fd)

    def _noted(self) -> dict[str, tuple[int, int]]:
        """What is noted, the last word on each name; what is damaged is as if it had never been noted."""
        found: dict[str, tuple[int, int]] = {}
        try:
            with opened_directory(self._directory) as place:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                lines = content_of(os.open(_OPENED, flags, dir_fd=place), _OPENED, _MOST_BYTES).splitlines()
        except (OSError, ValueError, RecordCorrupt):
            return found
        for line in lines:
            with suppress(ValueError, TypeError):
                name, number, mode = cast("list[Any]", json.loads(line))
                names = name.split("/")
                if ".." not in names and isinstance(number, int) and isinstance(mode, int) and not mode & ~0o7777:
                    found[name] = number, mode
        return found


class Changeable:
    """Lets things be removed from directories, and made in them, that a program closed; the modes come back at the end."""

    def __init__(self) -> None:
        self._modes: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def open(self, directory: str) -> None:
        """See that its owner may change what is in a directory."""
        if os.geteuid() == 0 or directory in self._modes:
            return
        with suppress(FileNotFoundError, NotADirectoryError):
            found = os.lstat(directory)
            mode = stat.S_IMODE(found.st_mode)
            if stat.S_ISDIR(found.st_mode) and mode & 0o300 != 0o300:
                os.chmod(directory, mode | 0o300)
                self._modes[directory] = mode

    def __exit__(self, *error: object) -> None:
        for directory, mode in sorted(self._modes.items(), reverse=True):
            with suppress(FileNotFoundError, NotADirectoryError):
                os.chmod(directory, mode)


def _with_mode(found: os.stat_result, mode: int) -> os.stat_result:
    _, (sequence, rest) = cast("tuple[Any, tuple[tuple[Any, ...], dict[str, Any]]]", found.__reduce__())
    return os.stat_result((stat.S_IFMT(found.st_mode) | mode, *sequence[1:]), rest)
