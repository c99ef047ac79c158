"""Append to one transaction's write-ahead journal, or go on with one that a dead process left behind."""

from __future__ import annotations

import os
from typing import Final

from wink.errors import TransactionError
from wink.filesystem._disk_state import State
from wink.filesystem._journal_records import HEADER, Record, compensation, encoded, standing

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Journal:
    """An open journal. Every record is one write, at an offset that only a whole record moves on."""

    __slots__ = ("_end", "_fd", "_is_durable", "_name", "_state", "_unwritten")

    def __init__(self, state: State, name: str, fd: int, end: int, *, durable: bool, unwritten: bytes = b"") -> None:
        self._state, self._name, self._fd, self._end = state, name, fd, end
        self._is_durable: Final = durable
        self._unwritten = unwritten

    @classmethod
    def create(cls, state: State, transaction_id: str, *, durable: bool) -> Journal:
        """A new journal; its header goes to the disk with the first record."""
        try:
            fd = os.open(transaction_id, _NEW, 0o600, dir_fd=state.wal)
        except FileExistsError:
            raise TransactionError(f"a transaction {transaction_id!r} is already under way; recover it first") from None
        if durable:
            os.fsync(state.wal)
        return cls(state, transaction_id, fd, 0, durable=durable, unwritten=HEADER)

    @classmethod
    def resume(cls, state: State, transaction_id: str, *, durable: bool) -> tuple[Journal, list[Record]]:
        """A journal that was left behind, and the records in it that still stand."""
        fd = os.open(transaction_id, _OLD, dir_fd=state.wal)
        try:
            content = b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
            known = content[: len(HEADER)] == HEADER[: len(content)]
            if not known:
                raise TransactionError(f"the journal {transaction_id!r} was not written by this version of wink")
            records, end = standing(content) if len(content) >= len(HEADER) else ([], 0)
        except BaseException:
            os.close(fd)
            raise
        return cls(state, transaction_id, fd, end, durable=durable), records

    @property
    def size(self) -> int:
        """How many bytes were written."""
        return self._end

    def append(self, record: Record) -> None:
        """Write down an operation; only when this has returned may it begin."""
        self._write(encoded(record))

    def compensate(self, seq: int) -> None:
        """Write down that everything from record `seq` on has been taken back."""
        self._write(compensation(seq))

    def close(self) -> None:
        """Close the file; the journal stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def remove(self) -> None:
        """The transaction has ended. Once the name is gone, nothing can be taken back any more."""
        try:
            os.unlink(self._name, dir_fd=self._state.wal)
        except FileNotFoundError:
            pass  # an earlier attempt came this far
        if self._is_durable:
            os.fsync(self._state.wal)
        self.close()

    def _write(self, data: bytes) -> None:
        if self._unwritten:
            data = self._unwritten + data
        # At an offset and not at the end: what a full disk cut short is overwritten by the next attempt.
        written = os.pwrite(self._fd, data, self._end)
        while written < len(data):
            written += os.pwrite(self._fd, data[written:], self._end + written)
        if self._is_durable:
            os.fdatasync(self._fd)
        self._end += len(data)
        self._unwritten = b""


def left_behind(state: State) -> list[str]:
    """The journals on the disk, the newest first: a later transaction builds on an earlier one."""
    found: list[tuple[int, str]] = []
    with os.scandir(state.wal) as entries:
        for entry in entries:
            found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
    return [name for _, name in sorted(found, reverse=True)]
