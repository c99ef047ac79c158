"""Let one process at a time work on a run: a lock that ends with its holder, however that ends."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from wink.errors import RunBusy
from wink.record._state import make_state_directory

_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})


class RunLock:
    """The lock of one run; held from the beginning until `release`. Raises `RunBusy` where another process has it."""

    __slots__ = ("_fd", "_path")

    def __init__(self, state: str, number: int) -> None:
        import fcntl

        self._path, self._fd = _path(state, number), -1
        make_state_directory(state)
        while True:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(fd)
                if error.errno in _BUSY:
                    raise RunBusy(f"r{number}") from None
                raise
            # Whoever had it has taken the name away: a lock on a file without a name holds nobody off.
            if _is_at(self._path, fd):
                self._fd = fd
                return
            os.close(fd)

    def release(self) -> None:
        """Let others have it; harmless when repeated."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with suppress(OSError):
                os.unlink(self._path)
            os.close(fd)


def is_locked(state: str, number: int) -> bool:
    """Whether some process works on a run."""
    import fcntl

    try:
        fd = os.open(_path(state, number), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _BUSY
    else:
        return False
    finally:
        os.close(fd)


def _path(state: str, number: int) -> str:
    return os.path.join(state, f"run-{number}.lock")


def _is_at(path: str, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False
