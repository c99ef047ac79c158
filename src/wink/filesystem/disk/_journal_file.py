"""Hold the file open in which the transactions of a state keep their journals, one after the other.

To make a file for each, or to give one another name, costs many times what writing to an open one does. So there is one,
`wal/journal`: its header is wiped when a transaction ends, as SQLite's `journal_mode=PERSIST` does, and whoever takes the lease
reads it. What was written before stays further back in the file; it is told apart by the salt, which each journal has
in its header, and with which all its checksums begin.

Whatever else lies in `wal` is a journal by itself, named for its transaction: an earlier wink wrote it, or somebody who found
the file in use. It is looked for when the directory's time has changed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
import time
import zlib
from contextlib import suppress
from typing import Final

NAME: Final = "journal"
"""The file in `wal`; what `owner` is, too, when it cannot be believed."""

MAGIC: Final = b"WINKWAL\x01"
HEADER_BYTES: Final = len(MAGIC) + 8
FRAME: Final = struct.Struct("<II")
OWNER: Final = "J"
"""The kind of the first record, in this file alone, which says whose journal it is."""
TRANSACTION_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")

NO_FILE: Final = frozenset((errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO))
"""What the kernel says of links, directories and sockets."""
NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OLD: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_WIPED: Final = bytes(HEADER_BYTES)
_MOST_KEPT_BYTES: Final = 1 << 18
_SPARE: Final = "spare"  # where an earlier wink kept the file for the next journal
_SETTLED_NS: Final = 20_000_000
"""A directory may change again and show the same time, if it has changed less than that ago."""


class JournalFile:
    """The file, open once it is needed; used with the lease, or else it is looked at before each use.

    After `look`, `owner` is the transaction whose journal is in it, empty for none, and `others` are the names beside it;
    `user` is the one of this store that has begun a journal here and not let go of it.
    """

    __slots__ = ("_flags", "_ino", "_looked", "_salt", "_state", "_wal", "fd", "is_free", "others", "owner", "user")

    def __init__(self, state: int, wal: int, flags: int = OLD) -> None:
        self._state, self._wal, self._flags = state, wal, flags
        self.fd = self._looked = -1
        self._ino = self._salt = 0
        self.owner = self.user = ""
        self.others: tuple[str, ...] = ()
        self.is_free = False
        """Whether this was looked at, and nobody can have used it since."""

    def look(self) -> None:
        """See what has been left behind; raises `OSError`."""
        changed = os.fstat(self._wal).st_ctime_ns
        if changed != self._looked:
            is_settled = time.time_ns() - changed > _SETTLED_NS  # asked before the names are
            names = os.listdir(self._wal)
            self.others = tuple(name for name in names if name != NAME)
            self._find(exists=NAME in names)
            self._looked = changed if is_settled and not self.others and self.owner != NAME else -1
            if self.owner == NAME:
                return
        self.owner = ""
        if self.fd >= 0 and os.pread(self.fd, HEADER_BYTES, 0) != _WIPED:
            self.owner = self._read_owner()

    def claim(self, transaction_id: str, *, durable: bool) -> bytes | None:
        """Begin a journal in it: its salt, or None where there is one that has not ended."""
        if self.user:
            return None
        if not self.is_free:
            self.look()
        self.is_free = False
        if self.owner:
            return None
        # Gone with the whole state, or another name leads here, and that may be of a file which is not ours to write to.
        if self.fd >= 0 and os.fstat(self.fd).st_nlink != 1:
            self.close()
            with suppress(FileNotFoundError):
                os.unlink(NAME, dir_fd=self._wal)
        if self.fd < 0:
            self._use(os.open(NAME, NEW, 0o600, dir_fd=self._wal))
            with suppress(OSError):
                os.unlink(_SPARE, dir_fd=self._state)
            if durable:
                os.fsync(self._wal)
        self.user = transaction_id
        self._salt = (self._salt + 1) % (1 << 64)
        return self._salt.to_bytes(8, "little")

    def wipe(self, used: int, *, durable: bool) -> None:
        """End the journal in it, which was of so many bytes. Once the header is gone, nothing can be taken back any more."""
        try:
            os.pwrite(self.fd, _WIPED, 0)
        except OSError:
            os.ftruncate(self.fd, 0)  # takes no room, also where what is overwritten is copied and the disk is full
        if durable:
            os.fdatasync(self.fd)
        self.owner = ""
        if used > _MOST_KEPT_BYTES:
            with suppress(OSError):  # not to nothing: ext4 writes a file that was emptied to the disk at once
                os.ftruncate(self.fd, HEADER_BYTES)

    def close(self) -> None:
        """Close it; what is in it stays. The next look opens it again."""
        fd, self.fd, self._looked, self.is_free = self.fd, -1, -1, False
        if fd >= 0:
            os.close(fd)

    __del__ = close

    def _find(self, *, exists: bool) -> None:
        """Have that very file open which has the name now; only if it is one."""
        self.owner = ""
        if not exists:
            return self.close()
        if self.fd >= 0 and os.stat(NAME, dir_fd=self._wal, follow_symlinks=False).st_ino == self._ino:
            return None
        self.close()
        try:
            fd = os.open(NAME, self._flags, dir_fd=self._wal)
        except OSError as error:
            if error.errno not in NO_FILE:
                raise
            self.owner = NAME
            return None
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return self._use(fd)
        os.close(fd)
        self.owner = NAME
        return None

    def _use(self, fd: int) -> None:
        self.fd, self._ino = fd, os.fstat(fd).st_ino
        self._salt = int.from_bytes(os.urandom(8), "little")

    def _read_owner(self) -> str:
        start = os.pread(self.fd, HEADER_BYTES + FRAME.size + 128, 0)
        magic, salt = start[: len(MAGIC)], start[len(MAGIC) : HEADER_BYTES]
        if magic != MAGIC:
            # A full disk may have cut the header short; anything else no wink of this version has written.
            return "" if MAGIC.startswith(magic.rstrip(b"\0")) else NAME
        if len(start) < HEADER_BYTES + FRAME.size:
            return ""
        length, checksum = FRAME.unpack_from(start, HEADER_BYTES)
        body = start[HEADER_BYTES + FRAME.size :][:length]
        if len(body) < length or zlib.crc32(body, zlib.crc32(salt)) != checksum:
            return ""  # written together with the first record: that was never begun
        fields = body.decode("utf-8", "surrogateescape").split("\0")
        is_ours = fields[:2] == ["0", OWNER] and len(fields) == 3 and TRANSACTION_ID.fullmatch(fields[2]) is not None
        return fields[2] if is_ours and os.fstat(self.fd).st_nlink == 1 else NAME


def has_journals(state: str) -> bool:
    """Whether in the state at this path a transaction was left behind, or is under way."""
    try:
        wal = os.open(os.path.join(state, "wal"), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    file = JournalFile(-1, wal, OLD & ~os.O_RDWR)
    try:
        file.look()
        return bool(file.owner or file.others)
    except OSError:
        return True
    finally:
        file.close()
        os.close(wal)
