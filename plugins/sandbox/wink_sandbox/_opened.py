"""Look into, and take from, what programs closed even for its owner, and leave it with the modes that they gave it."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, cast

from wink.bounded import content_of
from wink.errors import RecordCorrupt
from wink.state import opened_directory

_FILE: Final = "opened"
_MOST_BYTES: Final = 16 << 20
_BY_NAME: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC


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
            os.unlink(_FILE, dir_fd=place)

    def _note(self, name: str, number: int, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with opened_directory(self._directory) as place:
            fd = os.open(_FILE, flags, 0o600, dir_fd=place)
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
                lines = content_of(os.open(_FILE, flags, dir_fd=place), _FILE, _MOST_BYTES).splitlines()
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
            mode = stat.S_IMODE(os.lstat(directory).st_mode)
            if mode & 0o300 != 0o300:
                os.chmod(directory, mode | 0o300)
                self._modes[directory] = mode

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for directory, mode in sorted(self._modes.items(), reverse=True):
            with suppress(FileNotFoundError, NotADirectoryError):
                os.chmod(directory, mode)


def _with_mode(found: os.stat_result, mode: int) -> os.stat_result:
    _, (sequence, rest) = cast("tuple[Any, tuple[tuple[Any, ...], dict[str, Any]]]", found.__reduce__())
    return os.stat_result((stat.S_IFMT(found.st_mode) | mode, *sequence[1:]), rest)
