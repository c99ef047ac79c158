"""Find where a change has to be made, and refuse it where file tools must not write."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final, NamedTuple

from wink.errors import PathRefused
from wink.filesystem._disk_ground import Ground
from wink.filesystem._store import Node, NodeKind

DANGLING: Final = "is a link that leads to nothing"


class Spot(NamedTuple):
    """A name in an open directory: `path` is where it really is, `asked` what the caller calls it."""

    fd: int
    name: str
    path: str
    asked: str
    found: os.stat_result | None


def spot(ground: Ground, path: str, *, follow: bool, creates: bool = False) -> Spot:
    """Where `path` is, open for a change; the caller closes `fd` through `ground.beneath.close`.

    A link that is followed must lead to something; `creates` says that otherwise something would be made there.
    """
    ground.check_given(path, path)
    fd, name, real = ground.beneath.parent(path)
    try:
        if real != path:
            ground.check_given(real, path)
        found = ground.status(fd, name)
    except BaseException:
        ground.beneath.close(fd)
        raise
    if not follow or found is None or not stat.S_ISLNK(found.st_mode):
        return Spot(fd, name, real, path, found)
    ground.beneath.close(fd)
    fd, name, real = ground.beneath.follow(path)
    try:
        ground.check_given(real, path)
        found = ground.status(fd, name)
        if found is None or stat.S_ISLNK(found.st_mode):
            raise PathRefused(path, DANGLING) if creates else failure(errno.ENOENT, path)
    except BaseException:
        ground.beneath.close(fd)
        raise
    return Spot(fd, name, real, path, found)


def failure(code: int, path: str) -> OSError:
    """Python's own exception for an error number."""
    return OSError(code, os.strerror(code), path or ".")


def check_permitted(at: Spot, found: os.stat_result) -> None:
    """Raise `PermissionError` where a plain write would: an exchange needs only the directory to be writable."""
    me = os.geteuid()
    if me == 0 or (found.st_uid == me and found.st_mode & stat.S_IWUSR):
        return
    if found.st_uid == me or not os.access(at.name, os.W_OK, dir_fd=at.fd, effective_ids=True, follow_symlinks=False):
        raise failure(errno.EACCES, at.asked)


def node_of(found: os.stat_result, target: str | None = None) -> Node:
    """What a store says of a file of this status."""
    mode = found.st_mode
    return Node(
        kind_of(mode),
        found.st_size,
        stat.S_IMODE(mode),
        found.st_mtime_ns,
        (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns),
        target,
    )


def kind_of(mode: int) -> NodeKind:
    """`file`, `directory`, `link` or `other`."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"
