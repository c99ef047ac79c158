"""Append to one transaction's write-ahead journal, or go on with one that a dead process left behind."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import Final

from wink.errors import JournalNotOurs, TransactionError
from wink.filesystem._disk_state import State
from wink.filesystem._journal_records import (
    HEADER_BYTES,
    MAGIC,
    Record,
    Standing,
    beginning,
    compensation,
    encoded,
    header,
    standing,
)

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
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

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
            for path in (record.path, record.note) if record.kind == "N" else (record.path,):
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
