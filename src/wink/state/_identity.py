"""Ask what no copy of a directory has in common with it: its inode, and the time when that was made."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import Final

_AT_EMPTY_PATH: Final = 0x1000
_STATX_BTIME: Final = 0x800
_BIRTH: Final = 80  # of `stx_btime` in `struct statx`, linux/include/uapi/linux/stat.h


def identity(fd: int) -> tuple[int, int]:
    """Inode and time of birth in nanoseconds, 0 where system or filesystem do not say it.

    Not the device: the same directory has another one in a container, and after the next boot.
    """
    found = os.fstat(fd)
    if sys.platform == "linux":
        return found.st_ino, _birth(fd)
    return found.st_ino, int(getattr(found, "st_birthtime", 0) * 1_000_000_000)


def _birth(fd: int) -> int:
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if statx is None:  # a C library from before 2018
        return 0
    buffer = ctypes.create_string_buffer(256)
    if statx(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) or not struct.unpack_from("I", buffer)[0] & _STATX_BTIME:
        return 0
    seconds, nanoseconds = struct.unpack_from("qI", buffer, _BIRTH)
    return seconds * 1_000_000_000 + nanoseconds
