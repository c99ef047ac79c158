"""Hear from the kernel (inotify) which paths of a workspace somebody has changed; who that was nobody can tell.

Where watches are not to be had, or more happened than the kernel keeps, everything has to be looked at: `is_whole` is false then.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from contextlib import suppress
from typing import Final

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_DIRECTORY = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLY_DIRECTORIES, _NOT_UNLINKED, _ONCE = 0x01000000, 0x04000000, 0x80000000
_WANTED: Final = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_DIRECTORIES | _NOT_UNLINKED
)
_HEAD: Final = struct.Struct("iIII")
_NONE_LEFT: Final = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSYS)


class Watch:
    """The changes since one last asked: `paths`, and `fresh`, the directories of which everything is to be looked at."""

    def __init__(self) -> None:
        self._places: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self.is_whole = True
        self.paths: set[str] = set()
        self.fresh: set[str] = set()
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            self.fd = int(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        except AttributeError:
            self.fd = -1
        if self.fd < 0:
            self.is_whole = False

    @property
    def is_possible(self) -> bool:
        """Whether the kernel tells anything at all."""
        return self.fd >= 0

    def close(self) -> None:
        """Hear nothing more."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd, self.is_whole = -1, False

    def add(self, path: str, fd: int, *, once: bool = False) -> None:
        """Watch a directory, which is open as `fd`: by that, and not by its name, which may lead elsewhere by now.

        With `once` only until something changes in it; where that cannot be had, it is not watched.
        """
        if self.fd < 0:
            return
        mask = _ONCE | _WANTED & ~(_ATTRIB | _CLOSE_WRITE) if once else _WANTED
        number = int(self._libc.inotify_add_watch(self.fd, b"/proc/self/fd/%d" % fd, mask))
        if number < 0:
            if not once and ctypes.get_errno() in _NONE_LEFT:
                self.is_whole = False
            return
        self._places[number] = path
        self._watches[path] = number

    def forget(self, path: str) -> None:
        """Watch a directory and those beneath it no more: it goes by another name, or is gone."""
        for known in [one for one in self._watches if one == path or one.startswith(f"{path}/")]:
            number = self._watches.pop(known)
            if self._places.pop(number, None) is not None:
                self._libc.inotify_rm_watch(self.fd, number)

    def listen(self) -> None:
        """Take in what the kernel has to tell."""
        while self.fd >= 0:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return
            except OSError:
                self.is_whole = False
                return
            at = 0
            while at < len(data):
                number, mask, _, size = _HEAD.unpack_from(data, at)
                name = data[at + _HEAD.size : at + _HEAD.size + size].rstrip(b"\0")
                at += _HEAD.size + size
                self._heard(number, mask, os.fsdecode(name))

    def _heard(self, number: int, mask: int, name: str) -> None:
        if mask & (_OVERFLOW | _UNMOUNT):
            self.is_whole = False
            return
        place = self._places.get(number)
        if place is None:
            return
        if mask & _IGNORED:
            with suppress(KeyError):
                del self._places[number]
            if self._watches.get(place) == number:
                del self._watches[place]
            return
        path = "/".join(filter(None, (place, name)))
        if not name:
            return
        self.paths.add(path)
        if mask & _IS_DIRECTORY and mask & (_MOVED_FROM | _MOVED_TO | _CREATE | _DELETE):
            self.forget(path)
            self.fresh.add(path)
