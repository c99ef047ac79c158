"""Say what would stop a path from being put back, as far as the disk tells without anything being changed."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress
from typing import Final

from wink.errors import PathRefused
from wink.filesystem._change import FileVersion
from wink.filesystem.disk._content import is_being_written
from wink.filesystem.disk._operations import is_closed
from wink.filesystem.disk._preimages import IN_USE
from wink.filesystem.disk._root import DiskRoot, ResolvedPath, check_permitted, resolve
from wink.filesystem.disk._undo import GONE

_FIXED: Final = "is immutable or can only be appended to; `lsattr` shows it, and `chattr -ia` takes that away"
_CLOSED: Final = "is in a directory that you may not write to; make it writable first"
_OF_OTHERS: Final = "belongs to somebody else, who alone may change its mode"
_STICKY: Final = "belongs to somebody else, in a directory where only owners may take files away"
_FLAGS: Final = 0x80086601
"""FS_IOC_GETFLAGS of Linux."""
_IMMUTABLE, _APPEND_ONLY = 0x10, 0x20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MODES: Final = {"file": stat.S_IFREG, "directory": stat.S_IFDIR, "link": stat.S_IFLNK}


def obstacle(root: DiskRoot, path: str, wanted: FileVersion | None, *, is_replaced: bool) -> str | None:
    """Why `path` could not become what is `wanted`, completing a sentence that begins with it; None where it could.

    With `is_replaced` what is there now goes, and otherwise only its mode changes.
    """
    try:
        at = resolve(root, path, follow=False)
    except PathRefused as refused:
        return refused.reason
    except OSError as error:
        # Its directory is yet to be made, or is missing, which is somebody else's to say.
        return None if error.errno in GONE else _words(error)
    try:
        return _at(root, at, wanted, is_replaced=is_replaced)
    except PathRefused as refused:
        return refused.reason
    except OSError as error:
        return _words(error)
    finally:
        root.beneath.close(at.fd)


def room(root: DiskRoot) -> int:
    """How many bytes the disk of the state has left for this process."""
    found = os.fstatvfs(root.state.staged if root.state.open() else root.root_fd)
    return (found.f_bfree if os.geteuid() == 0 else found.f_bavail) * found.f_frsize


def _at(root: DiskRoot, at: ResolvedPath, wanted: FileVersion | None, *, is_replaced: bool) -> str | None:
    found = at.found
    # One's own is opened for as long as that takes.
    is_open = os.access(".", os.W_OK | os.X_OK, dir_fd=at.fd, effective_ids=True) or is_closed(os.fstat(at.fd))
    if wanted is not None and (found is None or is_replaced):
        root.check_kind(at.path, at.asked, _MODES.get(wanted.kind, 0))
    if found is None:
        return None if is_open else _CLOSED
    me, is_file = os.geteuid(), stat.S_ISREG(found.st_mode)
    flags, in_use = _asked(at.fd, at.name, found if is_file and is_replaced else None)
    if flags & (_IMMUTABLE | _APPEND_ONLY):
        return _FIXED
    if not is_replaced:
        return None if me in (0, found.st_uid) else _OF_OTHERS
    if in_use:
        return IN_USE
    if is_file and wanted is not None and wanted.kind == "file":
        # Where names cannot be exchanged, the file itself is written to.
        check_permitted(at, found)
        return None
    root.check_removable(at.path, at.asked)
    above = os.fstat(at.fd)
    if not is_open or _asked(at.fd, ".", None)[0] & _APPEND_ONLY:
        return _CLOSED
    is_kept_by_others = above.st_mode & stat.S_ISVTX and me not in (0, above.st_uid, found.st_uid)
    return _STICKY if is_kept_by_others else None


def _asked(fd: int, name: str, found: os.stat_result | None) -> tuple[int, bool]:
    """The flags that ext4, btrfs, xfs and others keep of a file, and whether a program may yet write to what was `found`.

    Nothing, where there is nothing or nobody tells.
    """
    flags, in_use = 0, False
    with suppress(OSError):
        opened = os.open(name, _READ, dir_fd=fd)
        try:
            in_use = found is not None and found.st_nlink == 1 and bool(is_being_written(opened))
            flags = int.from_bytes(fcntl.ioctl(opened, _FLAGS, bytes(8)), "little")
        finally:
            os.close(opened)
    return flags, in_use


def _words(error: OSError) -> str:
    said = error.strerror or errno.errorcode.get(error.errno or 0, "cannot be changed")
    return f"cannot be changed: {said}"
