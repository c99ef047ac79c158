"""Find files beneath the descriptor of a root, so that no link and no race leads out of it.

Checking a path and then opening it by name loses to whoever swaps a directory for a link in between. So nothing here
is ever looked up by a path of the host: the kernel resolves beneath the descriptor (`openat2`), or we walk one
directory at a time, each opened without following links, and read the links ourselves (`walk`). The kernel's way is
taken only for paths without links, since it does not tell where links led, and what is protected is protected by where
it really is; so both give the same answers. `..` comes only from links: paths given to us have none.

A walk opens each directory on its way, so going through a tree of two thousand levels would open two million. So directories
deep in a tree are remembered, and used only where the system says that they still are where they were: else whoever moved
one out of the root would lead us along.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from typing import Final, Literal

from wink.errors import PathRefused, WinkError
from wink.filesystem._paths import CIRCLES, MAX_LINKS, OUTSIDE, check_readable
from wink.filesystem.disk._syscalls import (
    RESOLVE_BENEATH,
    RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
    open_how,
    openat2,
)

Level = Literal["openat2", "walk", "best-effort"]
Place = tuple[int, str, str]
"""A directory's descriptor, a name in it, and the real path of that name; the name is `""` for the root."""

MAX_STEPS: Final = 100_000
"""How often directories are opened again for the `..` in links: 40 links of 4 KB could ask for it millions of times."""

PATH_ONLY: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)
DIRECTORY: Final = PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEVER_BLOCK: Final = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_DOTS: Final = frozenset(("", ".", ".."))
_STRICT = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS
_PARENT = open_how(PATH_ONLY | os.O_DIRECTORY, _STRICT)
_STATUS = open_how(PATH_ONLY, _STRICT)
_STATUS_OF_LINK = open_how(PATH_ONLY | os.O_NOFOLLOW, _STRICT)

NOT_A_FILE: Final = "is not a regular file; FIFOs, sockets and devices cannot be used"


def named(error: OSError, path: str) -> OSError:
    """`error` as it concerns the workspace's `path`, with no path of the host in it."""
    if isinstance(error, WinkError):
        return error
    if error.errno == errno.ENXIO:
        return PathRefused(path, NOT_A_FILE)
    code = error.errno or errno.EIO
    return OSError(code, os.strerror(code), path or ".")


Check = Callable[[str, str], None]
"""Raises `PathRefused` for a real path, when told the path that was asked for."""


class Walk:
    """Resolve by walking: where openat2 is missing, and where a path has links in it."""

    __slots__ = ("_directories", "readable", "root")

    level: Level = "walk"

    def __init__(self, root: int, readable: Check = check_readable) -> None:
        self.root, self.readable = root, readable
        self._directories = DirectoryCache(root)

    def forget(self) -> None:
        """Close all that is kept open between two paths."""
        self._directories.forget()

    def close(self, fd: int) -> None:
        """Close the descriptor of a `Place`, unless it is the root's own."""
        if fd != self.root:
            os.close(fd)

    def open(self, path: str, flags: int) -> int:
        """Open what exists at the end of `path` and of its links, never blocking."""
        fd, name, real = self._walk(path, follow=True)
        try:
            self.readable(real, path)
            return os.open(name or ".", flags | os.O_NOFOLLOW | NEVER_BLOCK, dir_fd=fd)
        except OSError as error:
            raise named(error, path) from None
        finally:
            self.close(fd)

    def status(self, path: str, *, follow: bool) -> tuple[os.stat_result, str | None]:
        """What is at `path`, and the body of the link if it is one."""
        fd, name, real = self._walk(path, follow=follow)
        try:
            self.readable(real, path)
            found = os.stat(name, dir_fd=fd, follow_symlinks=False) if name else os.fstat(fd)
            return found, os.readlink(name, dir_fd=fd) if stat.S_ISLNK(found.st_mode) else None
        except OSError as error:
            raise named(error, path) from None
        finally:
            self.close(fd)

    def parent(self, path: str) -> Place:
        """Where the name `path` is, links followed on the way to it but not at its end."""
        return self._walk(path, follow=False)

    def follow(self, path: str) -> Place:
        """Where `path` and its links end. The last name may not exist, then a link to it is dangling."""
        return self._walk(path, follow=True)

    def directory(self, real: str) -> int:
        """The directory at a path that had no links in it when it was noted; raises `OSError` if it has now."""
        return self._reopen(real.split("/") if real else [])

    def _walk(self, path: str, *, follow: bool) -> Place:
        names = path.split("/")
        fd, passed = self._start(names[:-1])
        pending = names[len(passed) :][::-1]
        links = steps = 0
        try:
            while pending:
                name = pending.pop()
                if name in ("", "."):
                    continue
                if name == "..":
                    if not passed:
                        raise PathRefused(path, OUTSIDE)
                    passed.pop()
                    steps += len(passed)
                    if steps > MAX_STEPS:
                        raise PathRefused(path, CIRCLES)
                    above = self._reopen(passed)
                    self.close(fd)
                    fd = above
                    continue
                is_last = not any(rest not in ("", ".") for rest in pending)
                target = self._link(fd, name) if is_last and follow else None
                if is_last and target is None:
                    self._directories.keep(passed, fd)
                    return fd, name, "/".join((*passed, name))
                if target is None:
                    child, target = self._step(fd, name)
                    if child is not None:
                        self.close(fd)
                        fd = child
                        passed.append(name)
                        continue
                links += 1
                if links > MAX_LINKS:
                    raise PathRefused(path, CIRCLES)
                if target.startswith("/"):
                    raise PathRefused(path, OUTSIDE)
                pending.extend(target.split("/")[::-1])
            if not passed:
                return fd, "", ""
            # The path ended in a link to `.` or `..`: name the directory from its own parent.
            name = passed.pop()
            above = self._reopen(passed)
        except OSError as error:
            self.close(fd)
            raise named(error, path) from None
        else:
            self.close(fd)
            return above, name, "/".join((*passed, name))

    def _step(self, fd: int, name: str) -> tuple[int, str] | tuple[int | None, str]:
        """The directory `name` in `fd`, or the body of the link that it is."""
        try:
            return os.open(name, DIRECTORY, dir_fd=fd), ""
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            target = self._link(fd, name)
            if target is None:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
            return None, target

    def _link(self, fd: int, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=fd)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _reopen(self, names: list[str]) -> int:
        """Step down from the root again: wherever `..` of a moved directory would lead, this stays beneath."""
        fd, passed = self._start(names)
        for name in names[len(passed) :]:
            try:
                child = os.open(name, DIRECTORY, dir_fd=fd)
            finally:
                self.close(fd)
            fd = child
        self._directories.keep(names, fd)
        return fd

    def _start(self, names: list[str]) -> tuple[int, list[str]]:
        """Where to begin: a directory that is open already, and the names that have led to it."""
        nearest = self._directories.nearest(names)
        return (self.root, []) if nearest is None else (nearest[1], names[: nearest[0]])


class Openat2(Walk):
    """Resolve in the kernel, at the cost of one system call at any depth."""

    __slots__ = ()

    level: Level = "openat2"

    def open(self, path: str, flags: int) -> int:
        """Open what exists at the end of `path` and of its links, never blocking."""
        self.readable(path, path)
        try:
            return openat2(self.root, path or ".", open_how(flags | NEVER_BLOCK, _STRICT))
        except OSError as error:
            if error.errno == errno.ELOOP:
                return super().open(path, flags)
            raise named(error, path) from None

    def status(self, path: str, *, follow: bool) -> tuple[os.stat_result, str | None]:
        """What is at `path`, and the body of the link if it is one."""
        self.readable(path, path)
        if "/" not in path and path not in _DOTS:
            # A name in the root itself leads nowhere else unless it is a link.
            try:
                found = os.stat(path, dir_fd=self.root, follow_symlinks=False)
            except OSError as error:
                raise named(error, path) from None
            if not stat.S_ISLNK(found.st_mode):
                return found, None
        try:
            fd = openat2(self.root, path or ".", _STATUS if follow else _STATUS_OF_LINK)
        except OSError as error:
            if error.errno == errno.ELOOP:
                return super().status(path, follow=follow)
            raise named(error, path) from None
        try:
            found = os.fstat(fd)
            return found, os.readlink("", dir_fd=fd) if stat.S_ISLNK(found.st_mode) else None
        finally:
            os.close(fd)

    def parent(self, path: str) -> Place:
        """Where the name `path` is, links followed on the way to it but not at its end."""
        above, _, name = path.rpartition("/")
        if not above:
            return self.root, name, name
        try:
            return openat2(self.root, above, _PARENT), name, path
        except OSError as error:
            if error.errno == errno.ELOOP:
                return super().parent(path)
            raise named(error, path) from None

    def directory(self, real: str) -> int:
        """The directory at a path that had no links in it when it was noted; raises `OSError` if it has now."""
        return openat2(self.root, real, _PARENT) if real else self.root


_DEEP: Final = 16
"""Levels that are walked as fast as it could be made sure where a directory is."""
_MOST: Final = 8


class DirectoryCache:
    """Open directories and the real paths, without links, that led to them."""

    __slots__ = ("_kept", "_lock", "_root")

    def __init__(self, root: int) -> None:
        self._root: Final = root
        self._lock: Final = threading.Lock()
        self._kept: list[tuple[list[str], int]] = []

    def nearest(self, names: list[str]) -> tuple[int, int] | None:
        """How many of the names lead to the nearest one, and a descriptor of it that the caller closes."""
        if len(names) < _DEEP or not self._kept:
            return None
        with self._lock:
            for at in sorted(range(len(self._kept)), key=lambda at: -len(self._kept[at][0])):
                kept, fd = self._kept[at]
                if len(kept) > len(names) or names[: len(kept)] != kept:
                    continue
                if self._is_there(kept, fd):
                    self._kept.append(self._kept.pop(at))
                    return len(kept), os.dup(fd)
                os.close(self._kept.pop(at)[1])
                return None
        return None

    def keep(self, names: list[str], fd: int) -> None:
        """Remember an open directory, which stays the caller's, if it is deep enough."""
        if len(names) < _DEEP:
            return
        with self._lock:
            if any(kept == names for kept, _ in self._kept):
                return
            self._kept.append((list(names), os.dup(fd)))
            if len(self._kept) > _MOST:
                os.close(self._kept.pop(0)[1])

    def forget(self) -> None:
        """Close all of them."""
        with self._lock:
            while self._kept:
                os.close(self._kept.pop()[1])

    def _is_there(self, names: list[str], fd: int) -> bool:
        try:
            root = os.readlink(f"/proc/self/fd/{self._root}")
            return os.readlink(f"/proc/self/fd/{fd}") == "/".join((root.rstrip("/"), *names))
        except OSError:
            return False  # no /proc, or a path that is too long for it: then we walk
