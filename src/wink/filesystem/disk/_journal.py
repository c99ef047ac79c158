"""Write down what a transaction is about to do to files, so that it can be taken back after any crash.

A journal is a header and records, each with its length and checksum. A record is written before the operation that it
describes; one that is cut short describes an operation that was never begun. A compensation says that everything from
some record on has been taken back (as in ARIES, Mohan et al. 1992), so that an interrupted rollback goes on where it
stopped; a journal that a dead process left behind is gone on with likewise.

Where it lies, and how it ends, tells `wink.filesystem.disk._journal_file`.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Mapping
from itertools import chain
from typing import Final, Literal, NamedTuple

from wink.errors import JournalNotOurs, TransactionError
from wink.filesystem.disk._journal_file import FRAME, HEADER_BYTES, MAGIC, NAME, NEW, NO_FILE, OLD, OWNER
from wink.filesystem.disk._state import State

_CHUNK: Final = 1 << 20
_NOTHING: Final = bytes(_CHUNK)


class Journal:
    """An open journal. Every record is one write, at an offset that only a whole record moves on."""

    __slots__ = ("_end", "_file", "_is_durable", "_name", "_own_fd", "_salt", "_wal")

    def __init__(self, state: State, transaction_id: str, own_fd: int, end: int, salt: bytes, *, durable: bool) -> None:
        self._wal, self._name, self._end, self._salt = state.wal, transaction_id, end, salt
        self._file = state.journal if own_fd < 0 else None
        self._own_fd = own_fd
        self._is_durable: Final = durable

    @classmethod
    def create(cls, state: State, transaction_id: str, *, durable: bool) -> Journal:
        """A new journal; its header goes to the disk with the first record, or with `begin`."""
        salt = state.journal.claim(transaction_id, durable=durable)
        if salt is not None:
            return cls(state, transaction_id, -1, 0, salt, durable=durable)
        try:
            if transaction_id in (state.journal.owner, state.journal.user):
                raise FileExistsError
            fd = os.open(transaction_id, NEW, 0o600, dir_fd=state.wal)
        except FileExistsError:
            raise TransactionError(f"a journal {transaction_id!r} was left behind; recover it first") from None
        if durable:
            os.fsync(state.wal)
        return cls(state, transaction_id, fd, 0, os.urandom(8), durable=durable)

    @classmethod
    def resume(cls, state: State, transaction_id: str, *, durable: bool) -> tuple[Journal, Standing]:
        """A journal that `left_behind` has found, and what in it still stands."""
        if transaction_id == state.journal.owner:
            own, name = -1, NAME
            if state.journal.fd < 0:
                raise _no_file(name)
        else:
            own, name = _opened(state, transaction_id), transaction_id
        try:
            fd = state.journal.fd if own < 0 else own
            start = content = os.pread(fd, len(MAGIC), 0)
            if transaction_id == NAME or start not in (MAGIC[: len(start)], bytes(len(start))):
                raise _foreign(name)
            left = Standing([], {}, 0)
            if len(start) == len(MAGIC) and any(start):
                content = _written(fd)
                left = _believed(transaction_id, name, content)
        except BaseException:
            if own >= 0:
                os.close(own)
            raise
        return cls(state, transaction_id, own, left.size, content[len(MAGIC) : HEADER_BYTES], durable=durable), left

    def begin(self) -> None:
        """See that whoever looks finds a journal, with nothing in it yet: also after a cut of power, before anything is staged."""
        if not self._end and self._file is not None:
            self._write(b"")

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
        """Let go of the file; the journal stays."""
        file, fd = self._file, self._own_fd
        self._file, self._own_fd = None, -1
        if file is not None:
            file.user = ""
        if fd >= 0:
            os.close(fd)

    __del__ = close

    def remove(self) -> None:
        """The transaction has ended."""
        if self._file is not None:
            self._file.wipe(self._end, durable=self._is_durable)
            return self.close()
        try:
            os.unlink(self._name, dir_fd=self._wal)
        except FileNotFoundError:
            pass  # somebody removed the state
        if self._is_durable:
            os.fsync(self._wal)
        return self.close()

    @property
    def _fd(self) -> int:
        return self._own_fd if self._file is None else self._file.fd

    def _write(self, data: bytes) -> None:
        if not self._end:
            owner = b"" if self._file is None else _framed(f"0\0{OWNER}\0{self._name}", self._salt)
            data = header(self._salt) + owner + data
        fd, end = self._own_fd if self._file is None else self._file.fd, self._end
        # At an offset and not at the end: what a full disk cut short is overwritten by the next attempt.
        written = os.pwrite(fd, data, end)
        while written < len(data):
            written += os.pwrite(fd, data[written:], end + written)
        if self._is_durable:
            os.fdatasync(fd)
        self._end = end + len(data)


def _opened(state: State, transaction_id: str) -> int:
    try:
        fd = os.open(transaction_id, OLD, dir_fd=state.wal)
    except OSError as error:
        if error.errno in NO_FILE:
            raise _no_file(transaction_id) from None
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise _no_file(transaction_id)


def _written(fd: int) -> bytes:
    """A journal, up to where nothing was ever written: a hole may be larger than any memory."""
    chunks: list[bytes] = []
    at = 0
    while chunk := os.pread(fd, _CHUNK, at):
        if chunk == _NOTHING[: len(chunk)]:
            break
        chunks.append(chunk)
        at += len(chunk)
    return b"".join(chunks)


def _believed(transaction_id: str, name: str, content: bytes) -> Standing:
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
        raise _foreign(name) from None
    return left


def _foreign(name: str) -> JournalNotOurs:
    return JournalNotOurs(name, "it was not written by this version of wink")


def _no_file(name: str) -> JournalNotOurs:
    return JournalNotOurs(name, "it is a link, or no file")


def left_behind(state: State) -> list[str]:
    """The transactions that have a journal on the disk, the newest first: a later one builds on an earlier one.

    What is in the way of one is among them, by its name.
    """
    file = state.journal
    file.look()
    if not file.others:
        return [file.owner] if file.owner else []
    found: list[tuple[int, str]] = []
    if file.owner:
        found.append((0 if file.fd < 0 else os.fstat(file.fd).st_mtime_ns, file.owner))
    for name in file.others:
        found.append((os.stat(name, dir_fd=state.wal, follow_symlinks=False).st_mtime_ns, name))
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
    while at + FRAME.size <= len(journal):
        length, checksum = FRAME.unpack_from(journal, at)
        body = journal[at + FRAME.size : at + FRAME.size + length]
        if len(body) < length or zlib.crc32(body, seed) != checksum:
            break
        fields = body.decode("utf-8", "surrogateescape").split("\0")
        if fields[1] == OWNER:
            pass
        elif fields[1] == _COMPENSATION:
            seq = int(fields[0])
            while records and records[-1].seq >= seq:
                records.pop()
            numbers = list(map(int, fields[2].split()))
            renumbered = dict(zip(numbers[::2], numbers[1::2], strict=True))
        else:
            records.append(_record(fields))
        at += FRAME.size + length
    return Standing(records, renumbered, at)


def beginning(journal: bytes, seq: int) -> int:
    """Where record `seq` begins in a whole journal.

    >>> one, salt = Record(1, "M", "src", "", None, None, (0, 0)), b"8 bytes!"
    >>> beginning(header(salt) + encoded(one, salt) + encoded(one._replace(seq=2), salt), 2) == HEADER_BYTES + len(encoded(one, salt))
    True
    """
    at = HEADER_BYTES
    while at < len(journal):
        length, _ = FRAME.unpack_from(journal, at)
        found, kind = journal[at + FRAME.size : at + FRAME.size + length].split(b"\0", 2)[:2]
        if int(found) == seq and kind.decode() != _COMPENSATION:
            return at
        at += FRAME.size + length
    return at


def _framed(text: str, salt: bytes) -> bytes:
    body = text.encode("utf-8", "surrogateescape")
    return FRAME.pack(len(body), zlib.crc32(body, zlib.crc32(salt))) + body


def _numbers(values: tuple[int, ...] | None) -> str:
    return " ".join(map(str, values)) if values else ""


def _record(fields: list[str]) -> Record:
    seq, kind, path, staged, old, new, times, note = fields
    return Record(int(seq), kind, path, staged, _mark(old), _mark(new), tuple(map(int, times.split())), note)  # type: ignore[arg-type]


def _mark(text: str) -> Mark | None:
    return Mark(*map(int, text.split())) if text else None
