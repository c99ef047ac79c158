"""Look at a workspace's files beneath its descriptor: no link is followed, no name twice, nothing is read without end."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from wink.filesystem import is_protected_name

LARGEST: Final = 64 << 20
"""Content above so many bytes is not kept."""

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# On the way a directory need not be readable: what is in it may be looked at all the same.
_THROUGH: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TRIES: Final = 3
_DEEPEST: Final = 512
_GONE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""What says that nothing is at a path; after anything else nobody knows."""
OF_GIT: Final = (".git/HEAD", ".git/ORIG_HEAD", ".git/MERGE_HEAD", ".git/packed-refs", ".git/index")
"""What of a repository says where it stands, beside `.git/refs`; objects are only added, and are never taken back."""


class Status(NamedTuple):
    """By what it is known that nothing of a path has changed: nobody can set `changed_ns`."""

    mode: int
    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    owner: int
    group: int

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, and no link to one."""
        return stat.S_ISDIR(self.mode)


def status_of(found: os.stat_result) -> Status:
    """The same from what the system says."""
    return Status(
        found.st_mode,
        0 if stat.S_ISDIR(found.st_mode) else found.st_size,
        0 if stat.S_ISDIR(found.st_mode) else found.st_mtime_ns,
        0 if stat.S_ISDIR(found.st_mode) else found.st_ctime_ns,
        found.st_ino,
        found.st_uid,
        found.st_gid,
    )


class Tree:
    """The files of a workspace but for wink's state, repositories' insides, and what is scratch or a cache."""

    def __init__(self, root: str, scratch: tuple[str, ...], caches: tuple[str, ...] = ()) -> None:
        self.fd: Final = os.open(root, _DIRECTORY)
        self._scratch, self._caches = scratch, caches

    def close(self) -> None:
        """Let go of the root."""
        os.close(self.fd)

    def is_at(self, root: str) -> bool:
        """Whether this is still what a path leads to."""
        try:
            return os.path.samestat(os.stat(root), os.fstat(self.fd))
        except OSError:
            return False

    def is_kept(self, path: str) -> bool:
        """Whether a path is looked at, and not only what is beneath it."""
        if path == ".git" or path.startswith(".git/"):
            return path in OF_GIT or path == ".git/refs" or path.startswith(".git/refs/")
        return not (_is_protected(path) or self.is_cache(path) or self._scratch_of(path))

    def is_cache(self, path: str) -> bool:
        """Whether a path is, or lies in, what a tool makes again by itself."""
        return any(name in self._caches for name in path.split("/"))

    def beside(self, path: str) -> str:
        """The directory of dependencies or builds, which are not kept, that a path is or lies in; "" for others."""
        return "" if _is_protected(path) else self._scratch_of(path)

    def _scratch_of(self, path: str) -> str:
        names = path.split("/")
        for at, name in enumerate(names, 1):
            if name in self._scratch or f"/{'/'.join(names[:at])}" in self._scratch:
                return "/".join(names[:at])
        return ""

    def open_directory(self, path: str, how: int = _DIRECTORY) -> int:
        """A descriptor of a directory, reached through no link and no `..`; raises `OSError`."""
        names = path.split("/") if path else []
        if not is_inner(path):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        fd = os.dup(self.fd)
        for number, name in enumerate(names, 1):
            try:
                below = os.open(name, how if number == len(names) else _THROUGH, dir_fd=fd)
            finally:
                os.close(fd)
            fd = below
        return fd

    def status(self, path: str) -> Status | None:
        """What is at a path; None for nothing, also where a directory above is a link. Raises `OSError` where that cannot be known."""
        found = self._lstat(path)
        return None if found is None else status_of(found)

    def changed_ns(self, path: str) -> int:
        """When something at a path was changed last, of a directory too; 0 where that cannot be known."""
        try:
            found = self._lstat(path)
        except OSError:
            return 0
        return 0 if found is None else found.st_ctime_ns

    def target(self, path: str) -> str:
        """A link's body, "" for what is none any more."""
        try:
            fd, name = self._above(path)
        except OSError:
            return ""
        try:
            return os.readlink(name, dir_fd=fd)
        except OSError:
            return ""
        finally:
            os.close(fd)

    def read(self, path: str) -> tuple[Status, bytes | None, bytes] | None:
        """A file as of one moment: status, content where it is not too large, and SHA-256; None where it is none or cannot be read."""
        try:
            directory, name = self._above(path)
        except OSError:
            return None
        try:
            fd = os.open(name, _READ, dir_fd=directory)
        except OSError:
            return None
        finally:
            os.close(directory)
        try:
            after = os.fstat(fd)
            for _ in range(_TRIES):
                before = os.fstat(fd)
                if not stat.S_ISREG(before.st_mode):
                    return None
                content, digest = _content(fd, before.st_size)
                after = os.fstat(fd)
                if status_of(before) == status_of(after):
                    return status_of(after), content, digest
            return status_of(after), None, b""  # somebody writes to it all the time
        except OSError:
            return None
        finally:
            os.close(fd)

    def walk(
        self,
        path: str = "",
        *,
        entering: Callable[[str, int], object],
        refused: Callable[[str], object],
        passed: set[str],
    ) -> Iterator[list[tuple[str, Status]]]:
        """What is in each directory from `path` down that is kept.

        `entering` is told each, with a descriptor of it, before that is looked at; `refused` each that is there and cannot
        be looked into, or not at all that is in it; `passed` gets each of dependencies or builds.
        """
        waiting = [path]
        while waiting:
            directory = waiting.pop()
            try:
                fd = self.open_directory(directory)
            except OSError as error:
                if error.errno not in _GONE:
                    refused(directory)
                continue
            try:
                entering(directory, fd)
                inside = list(self._inside(directory, fd, passed))
            except OSError as error:
                if error.errno not in _GONE:
                    refused(directory)
                continue
            finally:
                os.close(fd)
            waiting += [one for one, status in inside if status.is_directory]
            yield inside

    def _inside(self, directory: str, fd: int, passed: set[str]) -> Iterator[tuple[str, Status]]:
        if directory.count("/") > _DEEPEST:
            return
        with os.scandir(fd) as entries:
            for entry in entries:
                path = f"{directory}/{entry.name}" if directory else entry.name
                is_way = path == ".git" and entry.is_dir(follow_symlinks=False)
                if not is_way and not self.is_kept(path):
                    if entry.is_dir(follow_symlinks=False) and self.beside(path) and not self.is_cache(path):
                        passed.add(path)
                    continue
                try:
                    yield path, status_of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue

    def _lstat(self, path: str) -> os.stat_result | None:
        try:
            fd, name = self._above(path)
            try:
                return os.lstat(name, dir_fd=fd)
            finally:
                os.close(fd)
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise

    def _above(self, path: str) -> tuple[int, str]:
        """A descriptor of the directory that a path is in, and its name there; raises `OSError`."""
        above, _, name = path.rpartition("/")
        if not path or not is_inner(path):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.open_directory(above, _THROUGH), name


def _is_protected(path: str) -> bool:
    return any(is_protected_name(name) for name in path.split("/"))


def is_inner(path: str) -> bool:
    """Whether a path names nothing but what is beneath the root; "" is the root itself.

    >>> [is_inner(path) for path in ("", "a/b", "a/../b", "..", "./a", "/a", "a//b", "a/")]
    [True, True, False, False, False, False, False, False]
    """
    inside = f"/{path}/"
    return not path or not ("//" in inside or "/./" in inside or "/../" in inside or "\0" in inside)


def _content(fd: int, size: int) -> tuple[bytes | None, bytes]:
    """What is in a file from its beginning, and its SHA-256; of a large one only that."""
    os.lseek(fd, 0, os.SEEK_SET)
    if size <= LARGEST:
        with open(fd, "rb", buffering=0, closefd=False) as stream:
            content = stream.read(size + 1) or b""
            while len(content) <= size and (more := stream.read(size + 1 - len(content))):
                content += more
        return content, hashlib.sha256(content).digest()
    hasher, left = hashlib.sha256(), size
    while left > 0 and (chunk := os.read(fd, min(1 << 20, left))):
        hasher.update(chunk)
        left -= len(chunk)
    return None, hasher.digest()
