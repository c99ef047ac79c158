"""Hide from programs of root what is only root's: without this, being root inside a sandbox would open it.

To the kernel a program that root runs is root still, of a user namespace that has no rights over the host. That holds off
whatever asks for rights; files of the system, and those in /proc, only ask whose they are.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final

_PASSWORDS: Final = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers")
_NOTHING: Final = "/dev/null"
_SMALL: Final = "4096"


def hidden() -> tuple[str, ...]:
    """bubblewrap's options, to come after whatever else shows /etc; programs of other users are held off by modes."""
    if os.getuid() != 0:
        return tuple(
            word
            for place in (*_PASSWORDS, "/proc/keys")
            # Each one takes bubblewrap a tenth of a millisecond and longer, and most users cannot read most of them.
            if os.access(place, os.R_OK)
            for word in ("--ro-bind", _NOTHING, place)
        )
    return _of_root(os.stat("/etc").st_mtime_ns)


def sockets(shown: Iterable[str], apart: Iterable[str]) -> Iterator[str]:
    """The sockets of other processes in what is shown, which have to be covered: a read-only mount lets anybody connect.

    Only those that are there now, in our network namespace. In `apart`, and in overlays, a socket has nobody behind it.
    """
    places = [os.path.realpath(place) for place in shown]
    others = [os.path.realpath(place) for place in apart]
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as lines:
        paths = {fields[7].rstrip("\n") for line in lines if len(fields := line.split(None, 7)) == 8}
    for path in sorted(path for path in paths if path.startswith("/")):
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        # What is shown may lie in what is apart, as a directory of /tmp that may be read: the inner one decides.
        if _innermost(real, places) <= _innermost(real, others):
            continue
        with suppress(OSError):
            if stat.S_ISSOCK(os.lstat(real).st_mode):
                yield real


def _innermost(path: str, directories: Iterable[str]) -> int:
    """How long the name of the innermost of some directories is that a path lies in; 0 where it is in none."""
    return max((len(place) for place in directories if path.startswith(place.rstrip("/") + "/")), default=0)


@lru_cache(maxsize=1)
def _of_root(changed: int) -> tuple[str, ...]:
    del changed
    return (*_kernel(), *_settings("/etc"))


def _kernel() -> Iterator[str]:
    """What /proc has besides processes: directories are for reading, and files that not everybody reads are empty."""
    with os.scandir("/proc") as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.isdigit() or entry.is_symlink():
                continue
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                if entry.name == "sys" or _is_writable(entry.path):
                    yield from ("--ro-bind", entry.path, entry.path)
            elif not mode & stat.S_IROTH or entry.name == "keys":
                yield from ("--ro-bind", _NOTHING, entry.path)
            elif mode & 0o222:
                yield from ("--ro-bind", entry.path, entry.path)


def _is_writable(directory: str) -> bool:
    """Whether somebody may write something in it."""
    try:
        with os.scandir(directory) as entries:
            found = [(entry, entry.stat(follow_symlinks=False).st_mode) for entry in entries]
    except OSError:
        return True
    return any(
        _is_writable(entry.path) if stat.S_ISDIR(mode) else not stat.S_ISLNK(mode) and mode & 0o222
        for entry, mode in found
    )


def _settings(directory: str) -> Iterator[str]:
    """What of /etc not everybody may read."""
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                if mode & 0o005 == 0o005:
                    yield from _settings(entry.path)
                else:
                    yield from ("--perms", "0755", "--size", _SMALL, "--tmpfs", entry.path)
            elif stat.S_ISREG(mode) and (not mode & stat.S_IROTH or entry.path in _PASSWORDS):
                yield from ("--ro-bind", _NOTHING, entry.path)
