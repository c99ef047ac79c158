"""Call the two Linux system calls that confinement and atomic exchange rest on, and for which Python has no function.

`openat2` resolves beneath a descriptor, `renameat2` lets two names change places; neither every kernel nor every filesystem has them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final

RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08

RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2
UNSUPPORTED: Final = frozenset((errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP))
"""What renameat2 says where kernel or filesystem do not know a flag."""

_OPENAT2: Final = 437  # the same number on every architecture: linux/include/uapi/asm-generic/unistd.h
_RENAMEAT2: Final = {"x86_64": 316, "aarch64": 276, "riscv64": 276, "loongarch64": 276, "ppc64le": 357, "s390x": 347}
_HOW_SIZE: Final = 24
_RETRIES: Final = 64
_IS_LINUX: Final = sys.platform == "linux"
_ENCODING: Final = sys.getfilesystemencoding()


@lru_cache(maxsize=256)
def open_how(flags: int, resolve: int) -> bytes:
    """`struct open_how` for `openat2`, packed once for each way of opening; files are never inherited."""
    return struct.pack("QQQ", flags | os.O_CLOEXEC, 0, resolve)


_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]


def openat2(dir_fd: int, path: str, how: bytes) -> int:
    """Open an existing `path` below `dir_fd`, as `open_how` says; raises a plain `OSError`."""
    if not _IS_LINUX:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)
    name, code = _encoded(path), errno.EAGAIN
    for _ in range(_RETRIES):
        fd: int = _syscall(_OPENAT2, dir_fd, name, how, _HOW_SIZE)
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        # The kernel asks to try again when a rename anywhere raced with a `..` of ours.
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


def renameat2(source_fd: int, source: str, target_fd: int, target: str, flags: int) -> None:
    """Rename with `RENAME_EXCHANGE` or `RENAME_NOREPLACE`; raises a plain `OSError`."""
    if _rename(source_fd, _encoded(source), target_fd, _encoded(target), flags):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), target)


def _encoded(path: str) -> bytes:
    return path.encode(_ENCODING, "surrogateescape")


def _find_rename() -> Callable[[int, bytes, int, bytes, int], int]:
    kinds = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    if _IS_LINUX and hasattr(_libc, "renameat2"):
        function = _libc.renameat2
        function.argtypes = kinds
        return function
    number = _RENAMEAT2.get(os.uname().machine) if _IS_LINUX else None
    if number is None:

        def no_rename(*arguments: object) -> int:  # noqa: ARG001
            ctypes.set_errno(errno.ENOSYS)
            return -1

        return no_rename
    # A C library older than the call (musl before 1.2.6).
    raw = ctypes.CDLL(None, use_errno=True).syscall
    raw.restype = ctypes.c_long
    raw.argtypes = [ctypes.c_long, *kinds]
    return partial(raw, number)


_rename = _find_rename()


@lru_cache(maxsize=1)
def has_openat2() -> bool:
    """Whether the kernel has openat2 and nothing (an old container's seccomp filter) forbids it."""
    try:
        fd = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.close(openat2(fd, ".", open_how(os.O_RDONLY | os.O_DIRECTORY, RESOLVE_BENEATH)))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def can_exchange(directory: str) -> bool:
    """Whether the kernel and the filesystem of `directory` can exchange two files in one step (`RENAME_EXCHANGE`).

    Where they cannot, undo and rename do the same in several steps that recovery can finish. Two empty files are made
    in a directory of their own beneath `directory` for the time of the question; raises `OSError` where that cannot be.
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix=".wink-probe-", dir=directory) as place:
        there = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in ("one", "two"):
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=there))
            try:
                renameat2(there, "one", there, "two", RENAME_EXCHANGE)
            except OSError:
                return False
        finally:
            os.close(there)
    return True
