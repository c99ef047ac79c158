"""Walk and remove whole directories through descriptors, however deep they are."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

_LEVELS = 100
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(fd: int, name: str) -> None:
    """Remove a file, a link, or a directory with all that is in it; nothing there is fine."""
    try:
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.EPERM):
            raise
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            raise
        _remove_tree(fd, name)


def _remove_tree(fd: int, name: str) -> None:
    # Whatever lies below the second level is lifted up to the first before it is looked into: so two descriptors are
    # enough at any depth, and nothing recurses.
    top = _open_writable(fd, name)
    lifted = 0
    try:
        while names := os.listdir(top):
            for child in names:
                try:
                    os.unlink(child, dir_fd=top)
                    continue
                except OSError as error:
                    if error.errno not in (errno.EISDIR, errno.EPERM):
                        raise
                inner = _open_writable(top, child)
                try:
                    for grandchild in os.listdir(inner):
                        try:
                            os.unlink(grandchild, dir_fd=inner)
                        except OSError as error:
                            if error.errno not in (errno.EISDIR, errno.EPERM):
                                raise
                            lifted += 1
                            _make_movable(inner, grandchild)
                            os.rename(grandchild, f"~{lifted}~{os.urandom(6).hex()}", src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(child, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=fd)


def _open_writable(fd: int, name: str) -> int:
    _make_movable(fd, name)
    return os.open(name, _OPEN, dir_fd=fd)


def _make_movable(fd: int, name: str) -> None:
    """A directory that its owner made read-only could neither be emptied nor renamed."""
    found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=fd)


def is_empty(fd: int, name: str) -> bool:
    """Whether a directory has nothing in it; raises `NotADirectoryError` for a link to one, and for all else."""
    opened = os.open(name, _OPEN, dir_fd=fd)
    try:
        return not os.listdir(opened)
    finally:
        os.close(opened)


def below(fd: int, name: str) -> Iterator[tuple[str, os.stat_result, str | None]]:
    """All that is in the directory `name`: relative paths, sorted, what they are, and the bodies of links."""
    descent = _Descent(fd, name)
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            here = descent.open(inside)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES):
                continue  # it went away while we looked, or is closed to us
            raise
        try:
            directories: list[str] = []
            for child in sorted(os.listdir(here)):
                try:
                    found = os.stat(child, dir_fd=here, follow_symlinks=False)
                    target = os.readlink(child, dir_fd=here) if stat.S_ISLNK(found.st_mode) else None
                except FileNotFoundError:
                    continue
                path = f"{inside}/{child}" if inside else child
                yield path, found, target
                if stat.S_ISDIR(found.st_mode):
                    directories.append(path)
            waiting.extend(reversed(directories))
        finally:
            os.close(here)


def regular_files(fd: int, name: str) -> Iterator[tuple[str, int, str, os.stat_result]]:
    """Every regular file in the directory `name`: its path, its own directory, open until the next one, its name, its status."""
    descent = _Descent(fd, name)
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            here = descent.open(inside)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES):
                continue  # it went away while we looked, or is closed to us
            raise
        try:
            for child in os.listdir(here):
                try:
                    found = os.stat(child, dir_fd=here, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                path = f"{inside}/{child}" if inside else child
                if stat.S_ISREG(found.st_mode):
                    yield path, here, child, found
                elif stat.S_ISDIR(found.st_mode):
                    waiting.append(path)
        finally:
            os.close(here)


def has_name(fd: int, name: str, is_wanted: object) -> str | None:
    """The first path in the directory `name` whose own name is wanted, looked for without reading any file's status."""
    assert callable(is_wanted)
    descent = _Descent(fd, name)
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        here = descent.open(inside)
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    path = f"{inside}/{entry.name}" if inside else entry.name
                    if is_wanted(entry.name):
                        return path
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
        finally:
            os.close(here)
    return None


class _Descent:
    """Opens the directories of a tree from the top down, as a walk comes by, without beginning at the top each time.

    Every so many levels a descriptor is kept: at thousands of levels, one for each would be too many, and none would
    take minutes.
    """

    __slots__ = ("_fd", "_kept", "_name")

    def __init__(self, fd: int, name: str) -> None:
        self._fd, self._name = fd, name
        self._kept: list[tuple[str, int]] = []

    def __del__(self) -> None:
        while self._kept:
            os.close(self._kept.pop()[1])

    def open(self, inside: str) -> int:
        """A descriptor of one directory; raises `OSError`."""
        while self._kept and not inside.startswith(self._kept[-1][0]):
            os.close(self._kept.pop()[1])
        if self._kept:
            above, fd = self._kept[-1]
            names = inside[len(above) :].split("/")
        else:
            fd, names = self._fd, [self._name, *inside.split("/")] if inside else [self._name]
        here = _descend(fd, names)
        if len(names) > _LEVELS:
            self._kept.append((inside + "/", os.dup(here)))
        return here


def _descend(fd: int, names: list[str]) -> int:
    here = os.open(names[0], _OPEN, dir_fd=fd)
    for name in names[1:]:
        try:
            child = os.open(name, _OPEN, dir_fd=here)
        finally:
            os.close(here)
        here = child
    return here
