"""Write down what a transaction is about to do to files, so that it can be taken back after any crash.

A journal is a header and records, each with its length and checksum. A record is written before the operation that it
describes; one that is cut short describes an operation that was never begun. A compensation says that everything from
some record on has been taken back (as in ARIES, Mohan et al. 1992), so that an interrupted rollback goes on where it
stopped; a journal that a dead process left behind is gone on with likewise.

Files of ended journals are used again without emptying them (ext4 writes a file that was emptied to the disk at once,
which takes milliseconds). So the header is wiped first, and every journal has its own salt in its header, with which all
its checksums begin: records of an earlier journal, further back in the file, are no records.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import zlib
from collections.abc import Mapping
from itertools import chain
from typing import Final, Literal, NamedTuple

from wink.errors import JournalNotOurs, TransactionError
from wink.filesystem.disk._state import State

SPARE: Final = "spare"
"""An ended journal's file that waits in the state directory: making a file costs many times what renaming one does."""

_MOST_SPARE_BYTES: Final = 1 << 18
_CHUNK: Final = 1 << 20
_NOTHING: Final = bytes(_CHUNK)

_NO_FILE: Final = frozenset((errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO))
"""What the kernel says of links, directories and sockets."""
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Journal:
    """An open journal. Every record is one write, at an offset that only a whole record moves on."""

    __slots__ = ("_end", "_fd", "_is_durable", "_name", "_salt", "_state")

    def __init__(self, state: State, name: str, fd: int, end: int, salt: bytes, *, durable: bool) -> None:
        self._state, self._name, self._fd, self._end, self._salt = state, name, fd, end, salt
        self._is_durable: Final = durable

    @classmethod
    def create(cls, state: State, transaction_id: str, *, durable: bool) -> Journal:
        """A new journal; its header goes to the disk with the first record."""
        fd = _reused(state, transaction_id, durable=durable)
        if fd is None:
            try:
                fd = os.open(transaction_id, _NEW, 0o600, dir_fd=state.wal)
            except FileExistsError:
                raise TransactionError(f"a journal {transaction_id!r} was left behind; recover it first") from None
        if durable:
            os.fsync(state.wal)
        return cls(state, transaction_id, fd, 0, os.urandom(8), durable=durable)

    @classmethod
    def resume(cls, state: State, transaction_id: str, *, durable: bool) -> tuple[Journal, Standing]:
        """A journal that was left behind, and what in it still stands."""
        try:
            fd = os.open(transaction_id, _OLD, dir_fd=state.wal)
        except OSError as error:
            if error.errno in _NO_FILE:
                raise JournalNotOurs(transaction_id, "it is a link, or no file") from None
            raise
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise JournalNotOurs(transaction_id, "it is a link, or no file")
            start = content = os.read(fd, len(MAGIC))
            if start not in (MAGIC[: len(start)], bytes(len(start))):
                raise _foreign(transaction_id)
            left = Standing([], {}, 0)
            if len(start) == len(MAGIC) and any(start):
                content += _written(fd)
                left = _believed(transaction_id, content)
        except BaseException:
            os.close(fd)
            raise
        return cls(state, transaction_id, fd, left.size, content[len(MAGIC) : HEADER_BYTES], durable=durable), left

    def append(self, record: Record) -> None:
        """Write down an operation; only when this has returned may it begin."""
        self._write(encoded(record, self._salt))

    def compensate(self, seq: int, renumbered: Mapping[int, int]) -> None:
        """Write down that everything from record `seq` on has been taken back."""
        try:
            self._write(compensation(seq, renumbered, self._salt))
        except OSError:
            if renumbered:
                raise
            # A full disk must not stop a rollback, and cutting a file short takes no room.
            end = beginning(os.pread(self._fd, self._end, 0), seq)
            os.ftruncate(self._fd, end)
            self._end = end
            if self._is_durable:
                os.fdatasync(self._fd)

    def close(self) -> None:
        """Close the file; the journal stays."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close

    def remove(self) -> None:
        """The transaction has ended. Once the name is gone, nothing can be taken back any more."""
        try:
            if self._end > _MOST_SPARE_BYTES:
                os.unlink(self._name, dir_fd=self._state.wal)
            else:
                os.rename(self._name, SPARE, src_dir_fd=self._state.wal, dst_dir_fd=self._state.fd)
        except FileNotFoundError:
            pass  # somebody removed the state
        if self._is_durable:
            os.fsync(self._state.wal)
        self.close()

    def _write(self, data: bytes) -> None:
        if not self._end:
            data = header(self._salt) + data
        # At an offset and not at the end: what a full disk cut short is overwritten by the next attempt.
        written = os.pwrite(self._fd, data, self._end)
        while written < len(data):
            written += os.pwrite(self._fd, data[written:], self._end + written)
        if self._is_durable:
            os.fdatasync(self._fd)
        self._end += len(data)


def _written(fd: int) -> bytes:
    """The rest of a journal, up to where nothing was ever written: a hole may be larger than any memory."""
    chunks: list[bytes] = []
    while chunk := os.read(fd, _CHUNK):
        if chunk == _NOTHING[: len(chunk)]:
            break
        chunks.append(chunk)
    return b"".join(chunks)


def _believed(transaction_id: str, content: bytes) -> Standing:
    """What a journal says, unless it says what no journal of ours does.

    It may have come with a copied workspace, written by somebody who wants our rollback to rename files of the host.
    """
    try:
        left = standing(content)
        for record in left.records:
            at, is_own = record.staged.rpartition("."), not record.staged
            if not is_own and (at[0] != transaction_id or not (at[2].isascii() and at[2].isdigit())):
                raise ValueError(record.staged)
            for path in (record.path, record.note) if record.kind in "NB" else (record.path,):
                if not path or not {"", ".", ".."}.isdisjoint(path.split("/")):
                    raise ValueError(path)
    except (ValueError, IndexError, TypeError):
        raise _foreign(transaction_id) from None
    return left


def _foreign(transaction_id: str) -> JournalNotOurs:
    return JournalNotOurs(transaction_id, "it was not written by this version of wink")


def _reused(state: State, transaction_id: str, *, durable: bool) -> int | None:
    """Make the spare file this transaction's journal; what is in it means nothing without its header."""
    try:
        fd = os.open(SPARE, _OLD, dir_fd=state.fd)
    except OSError:
        return None
    found = os.fstat(fd)
    # A copied workspace may bring its state with it, and in it a link to a file that is not ours to write to.
    is_ours = found.st_nlink == 1 and stat.S_ISREG(found.st_mode)
    if is_ours and not os.access(transaction_id, os.F_OK, dir_fd=state.wal, follow_symlinks=False):
        # Before it is a journal again: its records are those of a transaction that has ended.
        os.pwrite(fd, bytes(HEADER_BYTES), 0)
        if durable:
            os.fdatasync(fd)
        try:
            os.rename(SPARE, transaction_id, src_dir_fd=state.fd, dst_dir_fd=state.wal)
        except FileNotFoundError:
            pass
        else:
            if os.stat(transaction_id, dir_fd=state.wal, follow_symlinks=False).st_ino == found.st_ino:
                return fd
            # Another store used it first and has put down another one: that is what has the name now.
            os.unlink(transaction_id, dir_fd=state.wal)
    os.close(fd)
    return None


def left_behind(state: State) -> list[str]:
    """The journals on the disk, the newest first: a later transaction builds on an earlier one."""
    found: list[tuple[int, str]] = []
    with os.scandir(state.wal) as entries:
        for entry in entries:
            found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
    return [name for _, name in sorted(found, reverse=True)]


Kind = Literal["X", "C", "D", "N", "M", "T", "P", "W", "K", "E", "B", "S"]
"""What a record is about.

====  =======================================================================================================
X     overwrite: the new content and the old file change places, and staging holds the old file
C     create: a file or link comes from staging; `note` is a link's body
D     delete: whatever it is goes to staging, a directory with all that is in it
N     rename; `note` is the new path
M     make a directory
T     remove an empty directory that staging cannot hold
P     change permission bits; `note` is the new ones
W     write in place: staging holds a copy of the old content and, with `~` after its name, of the new
K     create in place: staging holds a copy of the new content (`~`); `note` is a link's body
E     delete by copy: staging holds a copy; `note` is a link's body
B     borrow what an earlier transaction replaced: `note` is its name in staging, and `staged` the one that it gets there
S     seen: somebody else has changed the path already; staging holds a copy of what was there, `note` is the body of the link
      that is there now. Taking it back only drops the copy
====  =======================================================================================================
"""

MAGIC: Final = b"WINKWAL\x01"
HEADER_BYTES: Final = len(MAGIC) + 8
_FRAME: Final = struct.Struct("<II")
_COMPENSATION: Final = "U"


class Mark(NamedTuple):
    """By what a file is known again: a rename changes none of it, and whoever saves the file changes some of it."""

    ino: int
    size: int
    modified_ns: int
    mode: int

    def fits(self, found: os.stat_result) -> bool:
        """Whether `found` is this file, and nobody wrote to it."""
        return found.st_ino == self.ino and found.st_size == self.size and found.st_mtime_ns == self.modified_ns


def mark(found: os.stat_result) -> Mark:
    """The mark of a file as it is now."""
    return Mark(found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)


class Record(NamedTuple):
    """One operation. `path` is real and relative to the root; `staged` is the pre-image's name in staging.

    `old` is what is at the path before, `new` what comes there; `times` are the access and modification times of the
    directory before the operation, and for a rename those of the other directory after them.
    """

    seq: int
    kind: Kind
    path: str
    staged: str
    old: Mark | None
    new: Mark | None
    times: tuple[int, ...]
    note: str = ""


def header(salt: bytes) -> bytes:
    """How a journal begins; `salt` is 8 bytes that no other journal has."""
    return MAGIC + salt


def encoded(record: Record, salt: bytes) -> bytes:
    """A record as it is appended to a journal."""
    seq, kind, path, staged, old, new, times, note = record
    return _framed(
        f"{seq}\0{kind}\0{path}\0{staged}\0{_numbers(old)}\0{_numbers(new)}\0{_numbers(times)}\0{note}", salt
    )


def compensation(seq: int, renumbered: Mapping[int, int], salt: bytes) -> bytes:
    """The news that everything from record `seq` on has been taken back, and which inodes came back as others."""
    return _framed(f"{seq}\0{_COMPENSATION}\0{_numbers(tuple(chain.from_iterable(renumbered.items())))}", salt)


class Standing(NamedTuple):
    """What a journal says: the records that were not taken back, and by which inodes restored copies go now.

    `size` is how many of its bytes are whole.
    """

    records: list[Record]
    renumbered: dict[int, int]
    size: int


def standing(journal: bytes) -> Standing:
    """Read a journal.

    >>> one = Record(1, "M", "src", "", None, None, (0, 0))
    >>> two = one._replace(seq=2, path="src/new")
    >>> salt = b"8 bytes!"
    >>> journal = header(salt) + encoded(one, salt) + encoded(two, salt) + compensation(2, {}, salt)
    >>> standing(journal + b"torn").records == [one]
    True
    >>> standing(journal + encoded(two, b"another.")).records == [one]
    True
    """
    records: list[Record] = []
    renumbered: dict[int, int] = {}
    at = HEADER_BYTES
    seed = zlib.crc32(journal[len(MAGIC) : HEADER_BYTES])
    while at + _FRAME.size <= len(journal):
        length, checksum = _FRAME.unpack_from(journal, at)
        body = journal[at + _FRAME.size : at + _FRAME.size + length]
        if len(body) < length or zlib.crc32(body, seed) != checksum:
            break
        fields = body.decode("utf-8", "surrogateescape").split("\0")
        if fields[1] == _COMPENSATION:
            seq = int(fields[0])
            while records and records[-1].seq >= seq:
                records.pop()
            numbers = list(map(int, fields[2].split()))
            renumbered = dict(zip(numbers[::2], numbers[1::2], strict=True))
        else:
            records.append(_record(fields))
        at += _FRAME.size + length
    return Standing(records, renumbered, at)


def beginning(journal: bytes, seq: int) -> int:
    """Where record `seq` begins in a whole journal.

    >>> one, salt = Record(1, "M", "src", "", None, None, (0, 0)), b"8 bytes!"
    >>> beginning(header(salt) + encoded(one, salt) + encoded(one._replace(seq=2), salt), 2) == HEADER_BYTES + len(encoded(one, salt))
    True
    """
    at = HEADER_BYTES
    while at < len(journal):
        length, _ = _FRAME.unpack_from(journal, at)
        found, kind = journal[at + _FRAME.size : at + _FRAME.size + length].split(b"\0", 2)[:2]
        if int(found) == seq and kind.decode() != _COMPENSATION:
            return at
        at += _FRAME.size + length
    return at


def _framed(text: str, salt: bytes) -> bytes:
    body = text.encode("utf-8", "surrogateescape")
    return _FRAME.pack(len(body), zlib.crc32(body, zlib.crc32(salt))) + body


def _numbers(values: tuple[int, ...] | None) -> str:
    return " ".join(map(str, values)) if values else ""


def _record(fields: list[str]) -> Record:
    seq, kind, path, staged, old, new, times, note = fields
    return Record(int(seq), kind, path, staged, _mark(old), _mark(new), tuple(map(int, times.split())), note)  # type: ignore[arg-type]


def _mark(text: str) -> Mark | None:
    return Mark(*map(int, text.split())) if text else None
