"""Read a small file that somebody else may have put there: never without end, never waiting, never from elsewhere.

A repository that was cloned may have a FIFO, a device, a link to `/dev/zero` or a sparse file of terabytes where a settings
file is looked for. What is opened is judged by its descriptor, not by its name before, and at most `most` bytes of it are read.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Any, Final, cast

__all__ = ["SETTINGS", "content", "content_beneath", "content_of", "toml"]

SETTINGS: Final = 1024 * 1024
"""Bytes that a file of settings may have."""

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_STEP: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINKS: Final = 40
_DEEPEST: Final = 100
_DOTS: Final = 10_000_000
_IRREGULAR: Final = "it is no regular file; delete it, or put a plain file in its place"
_ASTRAY: Final = "it is a link that leads out of the workspace, or in circles; put a plain file in its place"


def content(path: str, *, most: int) -> bytes:
    """All of a regular file, reached through links too; raises `OSError`, whose `strerror` says what to do.

    >>> content("/dev/zero", most=1)
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] it is no regular file; delete it, or put a plain file in its place: '/dev/zero'
    """
    return content_of(os.open(path, _READ), path, most)


def content_beneath(directory: str, name: str, *, most: int) -> bytes:
    """All of a regular file that really lies in a directory: a link is followed only where it is relative and stays inside."""
    try:
        return content_of(_opened_beneath(directory, name), name, most)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, _ASTRAY, name) from None
        raise


def toml(data: bytes) -> dict[str, Any]:
    """What TOML says; raises `ValueError` also for what takes minutes to read, or is too deep for whoever reads it."""
    import tomllib

    # tomllib's time grows with the square of the names in one dotted key, and a key cannot go on in another line.
    if sum(line.count(b".") ** 2 for line in data.splitlines()) > _DOTS:
        raise ValueError("it has keys of thousands of names")
    try:
        document = tomllib.loads(data.decode())
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return document
    raise ValueError(f"it is nested deeper than {_DEEPEST} levels")


def _inside(value: Any) -> list[Any]:
    values = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
    return [inner for inner in values if isinstance(inner, (dict, list))]


def content_of(fd: int, path: str, most: int) -> bytes:
    """All of the regular file that a descriptor leads to, which is closed."""
    try:
        if not stat.S_ISREG((found := os.fstat(fd)).st_mode):
            raise OSError(errno.EINVAL, _IRREGULAR, path)
        data = bytearray()
        # A file with holes in it may be larger than any memory: its size tells before anything of it is read.
        while found.st_size <= most and len(data) <= most and (part := os.read(fd, most + 1 - len(data))):
            data += part
    finally:
        os.close(fd)  # which a file object would not do with a directory's
    if max(found.st_size, len(data)) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most} bytes; make it shorter", path)
    return bytes(data)


def _opened_beneath(directory: str, name: str) -> int:
    """Step from directory to directory by descriptors, so that nobody who swaps one for a link leads us along."""
    stack = [os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    pending, links = name.split("/")[::-1], 0
    try:
        while pending:
            step = pending.pop()
            if step in ("", "."):
                continue
            if step == "..":
                if len(stack) == 1:
                    raise OSError(errno.ELOOP, _ASTRAY, name)
                os.close(stack.pop())
                continue
            target = None
            with suppress(OSError):  # it is no link; what else is wrong with it, opening it says
                target = os.readlink(step, dir_fd=stack[-1])
            if target is not None:
                links += 1
                if links > _LINKS or target.startswith("/"):
                    raise OSError(errno.ELOOP, _ASTRAY, name)
                pending += target.split("/")[::-1]
            elif any(rest not in ("", ".") for rest in pending):
                stack.append(os.open(step, _STEP, dir_fd=stack[-1]))
            elif not stat.S_ISREG(os.stat(step, dir_fd=stack[-1], follow_symlinks=False).st_mode):
                raise OSError(errno.EINVAL, _IRREGULAR, name)  # opening a device or a FIFO may already do something
            else:
                return os.open(step, _READ | os.O_NOFOLLOW, dir_fd=stack[-1])
        raise OSError(errno.EINVAL, _IRREGULAR, name)
    finally:
        for fd in stack:
            os.close(fd)
