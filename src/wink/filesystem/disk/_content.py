"""Move content and attributes between descriptors."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import sys
import time
from contextlib import suppress
from typing import NamedTuple

_CHUNK = 1 << 20
_PAUSES = tuple(0.001 * 2**number for number in range(8))  # seconds, 0.255 in all

# Capabilities and integrity hashes belong to the content that they were given to; the kernel drops them on a write too.
_KERNELS_OWN = frozenset(("security.ima", "security.evm"))
_TIED_TO_CONTENT = frozenset(("security.capability", "security.ima", "security.evm"))


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data` at the descriptor's position."""
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, memoryview(data)[written:])


def copy_all(source: int, target: int) -> int:
    """Copy from the positions of both descriptors to the end of `source`; gives the number of bytes."""
    copied = 0
    while chunk := os.read(source, _CHUNK):
        write_all(target, chunk)
        copied += len(chunk)
    return copied


def copy_with_holes(source: int, target: int) -> None:
    """Copy a file into an empty one, without filling what was never written: such a file may be larger than the disk."""
    size, at = os.fstat(source).st_size, 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            break
        end = os.lseek(source, at, os.SEEK_HOLE)
        for fd in (source, target):
            os.lseek(fd, at, os.SEEK_SET)
        while at < end and (chunk := os.read(source, min(_CHUNK, end - at))):
            write_all(target, chunk)
            at += len(chunk)
        if at < end:
            break  # it was cut off meanwhile
    os.ftruncate(target, size)


def extended_attributes(fd: int | str) -> list[tuple[str, bytes]]:
    """What should follow a file's name to its new content."""
    if sys.platform != "linux":
        return []
    try:
        names = os.listxattr(fd)
    except OSError:
        return []  # a filesystem without them
    return [(name, os.getxattr(fd, name)) for name in names if name not in _TIED_TO_CONTENT] if names else []


def attributes_of_closed(fd: int, name: str) -> list[tuple[str, bytes]]:
    """The same of a file that may not be opened for reading; raises `PermissionError` where that keeps one from being read."""
    if sys.platform != "linux":
        return []
    at = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        return extended_attributes(f"/proc/self/fd/{at}")
    finally:
        os.close(at)


def set_attributes(fd: int, found: os.stat_result, now: os.stat_result, extended: list[tuple[str, bytes]]) -> bool:
    """Give a new file, which is `now`, the owner and extended attributes of the one `found`; False when not allowed."""
    try:
        if now.st_uid != found.st_uid or now.st_gid != found.st_gid:
            os.fchown(fd, found.st_uid, found.st_gid)
        for name, value in extended:
            os.setxattr(fd, name, value)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EINVAL):
            raise
        return False
    return True


def set_mode(fd: int, name: str, mode: int) -> None:
    """Change the permission bits of a file or directory, never of what a link leads to."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        opened = os.open(name, os.O_RDONLY | flags, dir_fd=fd)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
        # We may own a file and not be allowed to read it; then only its path-less descriptor can be had.
        opened = os.open(name, os.O_PATH | flags, dir_fd=fd)
        try:
            os.chmod(f"/proc/self/fd/{opened}", mode)
        finally:
            os.close(opened)
        return
    try:
        os.fchmod(opened, mode)
    finally:
        os.close(opened)


class Attributes(NamedTuple):
    """What a file has besides its content and its times."""

    uid: int
    gid: int
    mode: int
    extended: tuple[tuple[str, bytes], ...]


def attributes_of(fd: int) -> Attributes:
    """Those of an open file."""
    found = os.fstat(fd)
    names: list[str] = []
    if sys.platform == "linux":
        with suppress(OSError):  # a filesystem without them
            names = os.listxattr(fd)
    extended = [(name, os.getxattr(fd, name)) for name in names if name not in _KERNELS_OWN]
    return Attributes(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode), tuple(extended))


def give_attributes(fd: int, wanted: Attributes) -> None:
    """Make a new file with the same content what the old one was, as far as we may.

    Bits and capabilities that let others act as the owner go to nobody else's file.
    """
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != wanted[:2]:
        try:
            os.fchown(fd, wanted.uid, wanted.gid)
        except OSError:
            return
    for name, value in wanted.extended:
        with suppress(OSError):
            os.setxattr(fd, name, value)
    os.fchmod(fd, wanted.mode)


def is_being_written(fd: int, *, again: bool = False) -> bool | None:
    """Whether some program has this file open for writing, or mapped so; None where the kernel does not tell.

    `fd` is open for reading, and has been asked about before if `again`. The kernel grants a read lease only when there is no writer; it is given back at once. A file
    that has no name any more, no writer now, will never have one.
    """
    if sys.platform != "linux":
        return None
    try:
        if not again:
            # Whoever opens the file in this very moment makes the kernel signal us: not with SIGIO, which would kill.
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        if error.errno != errno.EAGAIN:
            return None  # somebody else's file, or a filesystem without leases
        return again or not _is_let_go(fd)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _is_let_go(fd: int) -> bool:
    """Whether a file's writer goes within a quarter of a second, and leaves it as it is.

    Until a started program runs, it has what any thread of ours has open too, and so a file that we have just written.
    """
    before = os.fstat(fd)
    for pause in _PAUSES:
        time.sleep(pause)
        if is_being_written(fd, again=True) is False:
            now = os.fstat(fd)
            return (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    return False


def keep_others_out(fd: int) -> None:
    """Let everybody else who opens this file wait until `fd` is closed, where the kernel does that and nobody has it open."""
    if sys.platform == "linux":
        try:
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError:
            pass  # then a save in this moment is noticed, or not, by the file's time


def digest_of(fd: int) -> str:
    """The digest of a file's content, from its beginning; however large it is, one piece is held."""
    from hashlib import sha256

    hasher, at = sha256(), 0
    while chunk := os.pread(fd, _CHUNK, at):
        hasher.update(chunk)
        at += len(chunk)
    return hasher.hexdigest()


def has_content(fd: int, expected: bytes | str) -> bool:
    """Whether a file has exactly this content, or content of this digest."""
    if isinstance(expected, str):
        return digest_of(fd) == expected
    at = 0
    while chunk := os.pread(fd, _CHUNK, at):
        if chunk != expected[at : at + len(chunk)]:
            return False
        at += len(chunk)
    return at == len(expected)
