"""Let one process at a time work on a run: a lock that ends with its holder, however that ends."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from wink.errors import RecordCorrupt, RunBusy
from wink.record._state import state_directory
from wink.state import opened_directory

_LOCK: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})


class RunLock:
    """The lock of one run; held from the beginning until `release`. Raises `RunBusy` where another process has it."""

    __slots__ = ("_directory", "_fd", "_name")

    def __init__(self, state: str, number: int) -> None:
        import fcntl

        self._name, self._fd = _name(number), -1
        self._directory = state_directory(state)
        try:
            while self._fd < 0:
                fd = os.open(self._name, os.O_CREAT | _LOCK, 0o600, dir_fd=self._directory)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    os.close(fd)
                    if error.errno in _BUSY:
                        raise RunBusy(f"r{number}") from None
                    raise
                # Whoever had it has taken the name away: a lock on a file without a name holds nobody off.
                if _is_at(self._directory, self._name, fd):
                    self._fd = fd
                else:
                    os.close(fd)
        except BaseException:
            os.close(self._directory)
            raise

    def release(self) -> None:
        """Let others have it; harmless when repeated."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._directory)
            os.close(fd)
            os.close(self._directory)


def is_locked(state: str, number: int) -> bool:
    """Whether some process works on a run."""
    import fcntl

    try:
        with opened_directory(state) as directory:
            fd = os.open(_name(number), _LOCK, dir_fd=directory)
    except (OSError, RecordCorrupt):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _BUSY
    else:
        return False
    finally:
        os.close(fd)


def _name(number: int) -> str:
    return f"run-{number}.lock"


def _is_at(directory: int, name: str, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=directory, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False
