"""Open directories and files of the state without following links, and take in only plain files of this user's."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from wink.errors import RecordCorrupt

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# On the way a directory need not be readable: that of all homes often is not.
_THROUGH: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_IN_THE_WAY: Final = frozenset((errno.ELOOP, errno.EMLINK, errno.ENOTDIR))


def open_directory(path: str, *, make: bool = False) -> int:
    """A descriptor of a directory by its real path; a link anywhere on the way is refused with `RecordCorrupt`.

    With `make` what is missing is made, for this user alone. Raises `FileNotFoundError` otherwise.
    """
    fd, above = os.open("/", _THROUGH), ""
    names = [name for name in path.split("/") if name]
    try:
        for number, name in enumerate(names, 1):
            above = f"{above}/{name}"
            how = _DIRECTORY if number == len(names) else _THROUGH
            try:
                inner = os.open(name, how, dir_fd=fd)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=fd)
                inner = os.open(name, how, dir_fd=fd)
            os.close(fd)
            fd = inner
    except OSError as error:
        os.close(fd)
        if error.errno in _IN_THE_WAY:
            raise RecordCorrupt(above, "a link, or a file, stands where wink had a directory") from None
        raise
    return fd


@contextmanager
def opened_directory(path: str, *, make: bool = False) -> Generator[int]:
    """The descriptor that `open_directory` gives, for the length of a block."""
    fd = open_directory(path, make=make)
    try:
        yield fd
    finally:
        os.close(fd)


def is_plain(found: os.stat_result) -> bool:
    """Whether something is a plain file of this user's that has no other name, by which somebody could have meant another."""
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink <= 1


def read_file(directory: int, name: str, most: int) -> bytes:
    """A plain file of at most `most` bytes.

    Raises `OSError`: `FileNotFoundError` where there is none, `EFBIG` for a larger one, `ELOOP` and `EPERM` for what is not
    plain.
    """
    fd = os.open(name, _READ, dir_fd=directory)
    if not is_plain(os.fstat(fd)):
        os.close(fd)
        raise OSError(errno.EPERM, "it is no plain file of yours", name)
    from wink.bounded import content_of  # which looking for a state does not need

    return content_of(fd, name, most)


def replace_file(directory: int, name: str, data: bytes) -> None:
    """Put a file in the place of whatever has this name; readers see either, and a crash leaves either."""
    draft = f"{name}.{os.urandom(6).hex()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.rename(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=directory)
        raise
