"""Let one process at a time change a tree: a lease that ends with its holder, however that ends.

The lease is `flock` on a file in the state directory. Before there is a state, the root directory itself is locked
instead, so that a call which in the end changes nothing leaves nothing behind; whoever makes the state while holding
that makes the lease file already locked. So everybody who finds a state waits for the file, and everybody else for the
root.

Whoever gives the lease back and wants it again at once would always be faster than those who ask now and then. So there is
a queue of one, `flock` on the state directory itself: only who has it asks for the lease, and gives it up with the lease in
hand. For a moment after that it may be taken again out of turn: to hand it on with every call costs more than a call.
Processes of an earlier wink know no queue, and are kept out by the lease alone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress

from wink.errors import WorkspaceBusy
from wink.filesystem.disk._state import State
from wink.filesystem.disk._syscalls import RENAME_NOREPLACE, UNSUPPORTED, renameat2

NAME = "lease"
_LONGEST_WAIT = 0.02
_HEAD_WAIT, _QUEUE_WAIT = 0.00005, 0.0002
_PATIENCE = 1.0
"""So many seconds those behind the first ask often: who asks less often than others comes last."""
_TURN = 0.002
"""So many seconds who came first may take the lease again and again."""
_BUSY = frozenset((errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES))


class Lease:
    """One store's side of the lease; not for several threads at once."""

    __slots__ = ("_fd", "_head_since", "_ino", "_root", "_root_fd", "_root_path", "_state", "_until", "is_held")

    def __init__(self, state: State, root: int, root_path: str) -> None:
        self._state, self._root, self._root_path = state, root, root_path
        self._fd = self._root_fd = self._ino = -1
        self.is_held = False
        """Whether this store holds the lease."""
        self._head_since: float | None = None
        self._until = 0.0
        state.made = self._state_was_made

    def take(self, timeout: float) -> None:
        """Wait at most `timeout` seconds for the lease; raises `WorkspaceBusy` with the holder's process id."""
        started = time.monotonic()
        try:
            while not self._try():
                now = time.monotonic()
                waited = now - started
                if waited >= timeout:
                    raise WorkspaceBusy(self._root_path, waited, self._holder())
                if self._head_since is not None:
                    pause = max((now - self._head_since) / 16, _HEAD_WAIT)
                else:
                    pause = max((waited - _PATIENCE) / 16, _QUEUE_WAIT)
                time.sleep(min(pause, _LONGEST_WAIT, timeout - waited))
            self.is_held = True
        finally:
            if self._head_since is not None:
                self._head_since = None
                with suppress(OSError):
                    fcntl.flock(self._state.fd, fcntl.LOCK_UN)

    def give(self) -> None:
        """Let others have the lease; harmless when it is not held."""
        self.is_held = False
        if self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        if self._root_fd >= 0:
            fcntl.flock(self._root_fd, fcntl.LOCK_UN)
            if self._fd >= 0:
                os.close(self._root_fd)  # from now on the file counts
                self._root_fd = -1

    def count(self) -> int:
        """Note in the lease file that something is committed; how often that has happened, -1 if that cannot be noted.

        Only with the lease held.
        """
        # A copied workspace may bring a link to somebody's file along.
        if self._fd < 0 or os.fstat(self._fd).st_nlink != 1:
            return -1
        count = int.from_bytes(os.pread(self._fd, 8, 0), "little") + 1
        os.pwrite(self._fd, count.to_bytes(8, "little"), 0)
        return count

    def counted(self) -> int:
        """How often anybody has committed, as the file says: 0 while there is none, -1 if it cannot be known.

        Any thread may ask, at any time.
        """
        try:
            if not self._state.open():
                return 0
            fd = os.open(NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._state.fd)
        except FileNotFoundError:
            return 0
        except OSError:
            return -1
        try:
            return int.from_bytes(os.read(fd, 8), "little") if os.fstat(fd).st_nlink == 1 else -1
        finally:
            os.close(fd)

    def close(self) -> None:
        """Give the lease up and close its files."""
        opened = self._fd, self._root_fd
        self.is_held, self._fd, self._root_fd = False, -1, -1  # first: closing may fail, and must not be done twice
        for fd in opened:
            if fd >= 0:
                os.close(fd)

    __del__ = close

    def _try(self) -> bool:
        # Where there was no state the last time, one look is enough, once the root is locked.
        if self._state.fd >= 0 or (self._root_fd < 0 and self._state.open()):
            return self._try_file()
        if self._root_fd < 0:
            self._root_fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._root)
        try:
            fcntl.flock(self._root_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            # A network filesystem that locks only files that are open for writing.
            self._state.create()
            return self._try_file()
        if not self._state.open():
            return True
        # Somebody made the state since we looked: the file counts now.
        fcntl.flock(self._root_fd, fcntl.LOCK_UN)
        return self._try_file()

    def _try_file(self) -> bool:
        state = self._state.fd
        if self._fd < 0:
            self._use(_open(state))
        now = time.monotonic()
        if now >= self._until and not self._is_first(state):
            return False
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                self._until = 0.0
                return False
            raise
        if now >= self._until:
            self._until = now + _TURN
        is_current = self._is_ours(state)
        if not is_current:
            # The state was removed, and perhaps made again: a lock on a file without a name holds nobody off.
            os.close(self._fd)
            self._fd = -1
            self._head_since = None
            self._state.forget()
        return is_current

    def _is_first(self, state: int) -> bool:
        """Whether nobody else waits before us, who are the first from now on then."""
        if self._head_since is None:
            try:
                fcntl.flock(state, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in _BUSY:
                    return False
                # A filesystem that locks no directories: then whoever asks in the right moment has the lease.
            self._head_since = time.monotonic()
        return True

    def _is_ours(self, state: int) -> bool:
        try:
            return os.stat(NAME, dir_fd=state, follow_symlinks=False).st_ino == self._ino
        except FileNotFoundError:
            return False

    def _state_was_made(self, state: int) -> None:
        if self._fd >= 0 and self._is_ours(state):
            return  # made before, and locked: what had to follow could not be made then
        fd = _open(state, locked=self.is_held)
        if self._fd >= 0:
            os.close(self._fd)
        self._use(fd)

    def _use(self, fd: int) -> None:
        self._fd, self._ino = fd, os.fstat(fd).st_ino

    def _holder(self) -> str:
        fd = self._fd if self._fd >= 0 else self._root_fd
        try:
            inode = f":{os.fstat(fd).st_ino}"
            with open("/proc/locks", encoding="ascii") as locks:
                for line in locks:
                    fields = line.split()
                    if fields[1] == "FLOCK" and fields[5].endswith(inode):
                        return f"process {fields[4]}"
        except (OSError, IndexError):
            pass  # not Linux, or /proc is not mounted
        return ""


def _open(state: int, *, locked: bool = False) -> int:
    """The lease file, made if need be; a file that we make with `locked` is locked before it has a name."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd, temporary = os.open(NAME, flags, dir_fd=state), None
    except FileNotFoundError:
        temporary = f"{NAME}.{os.getpid()}.{os.urandom(4).hex()}"
        fd = os.open(temporary, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=state)
    try:
        if locked:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if temporary is not None:
            _name(state, temporary)
    except FileExistsError:
        os.close(fd)
        return _open(state, locked=locked)
    except BaseException:
        os.close(fd)  # and with it a lock that would keep ourselves out
        raise
    return fd


def _name(state: int, temporary: str) -> None:
    """Give a new lease its name, and let it have no other; raises `FileExistsError`."""
    try:
        if not _renamed(state, temporary):
            os.link(temporary, NAME, src_dir_fd=state, dst_dir_fd=state)
    finally:
        # Twice, where a disk fails for a moment: a lease with two names is not believed.
        for _ in range(2):
            with suppress(OSError):
                os.unlink(temporary, dir_fd=state)


def _renamed(state: int, temporary: str) -> bool:
    """Whether the lease has its name, and no other: False where only a link could give it one. Raises `FileExistsError`."""
    try:
        renameat2(state, temporary, state, NAME, RENAME_NOREPLACE)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return False
    return True
