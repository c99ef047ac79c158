"""Keep the records of one transaction, in memory and in its journal, with the files in staging that belong to them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from wink.errors import RollbackFailed, TransactionError
from wink.filesystem._change import DIFFABLE_BYTES
from wink.filesystem.disk._content import write_all
from wink.filesystem.disk._journal import Journal, Kind, Mark, Record, left_behind
from wink.filesystem.disk._preimages import Leftovers
from wink.filesystem.disk._report import Conflict, Recovered
from wink.filesystem.disk._root import DiskRoot
from wink.filesystem.disk._trees import remove
from wink.filesystem.disk._undo import Undo

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DOOMED: Final = "a call within this one could not be rolled back; nothing more can be changed until the whole is"
SPILL_BYTES: Final = 256 * 1024
"""New content up to this size waits in memory, so that a stream that is never published touches no disk."""


class Log:
    """What one transaction did. Nothing is on the disk before the first record or the first large content.

    `contents` keeps small new contents, `originals` old ones of the same size, which had to be told from them, and `rewritten`
    how files were after writing in place; all by record. `frozen`
    are the records whose files in staging nobody can write to, as the kernel says.
    """

    __slots__ = (
        "_count",
        "_is_over",
        "_is_resumed",
        "_journal",
        "_leftovers",
        "_recorded",
        "_renumbered",
        "_seq",
        "_transaction_id",
        "conflicts",
        "contents",
        "frozen",
        "is_doomed",
        "originals",
        "records",
        "rewritten",
        "root",
    )  # fmt: skip

    def __init__(self, root: DiskRoot, transaction_id: str) -> None:
        self.root: Final = root
        self._transaction_id = transaction_id
        self._journal: Journal | None = None
        self._is_over = self._is_resumed = self.is_doomed = False
        # A name that no record has may be that of a file which an operation left when it failed.
        self._count = self._recorded = self._seq = 0
        self._renumbered: dict[int, int] = {}
        self.records: list[Record] = []
        self.contents: dict[int, bytes] = {}
        self.originals: dict[int, bytes] = {}
        self.rewritten: dict[int, Mark] = {}
        self.frozen: set[int] = set()
        self._leftovers: Leftovers | None = None
        self.conflicts: list[Conflict] = []

    @classmethod
    def resume(cls, root: DiskRoot, transaction_id: str) -> Log:
        """The log of a transaction whose process died."""
        log = cls(root, transaction_id)
        log._journal, left = Journal.resume(root.state, transaction_id, durable=root.is_durable)
        log.records, log._renumbered, log._is_resumed = left.records, left.renumbered, True
        return log

    @property
    def leftovers(self) -> Leftovers:
        """What the transaction knows to be at the paths that it has changed."""
        if self._leftovers is None:
            self._leftovers = Leftovers(self.records, self.rewritten)
        return self._leftovers

    # -- records

    def record(
        self,
        kind: Kind,
        path: str,
        times: tuple[int, ...],
        *,
        staged: str = "",
        old: Mark | None = None,
        new: Mark | None = None,
        note: str = "",
        content: bytes | None = None,
    ) -> Record:
        """Write down an operation; it may begin when this has returned."""
        if self.is_doomed:
            raise TransactionError(DOOMED)
        journal = self._journal or self._start()
        self._seq += 1
        record = Record(self._seq, kind, path, staged, old, new, times, note)
        if content is not None and len(content) <= DIFFABLE_BYTES:
            self.contents[record.seq] = content
        self._recorded += 1 if staged else 0
        # First here and then on the disk: an interrupt in between must not leave an operation that undo never hears of.
        self.records.append(record)
        try:
            journal.append(record)
        except OSError:
            self._recorded -= 1 if staged else 0
            self._forget(record)
            raise
        return record

    def withdraw(self, record: Record) -> None:
        """The operation was not done after all."""
        self._recorded -= 1 if record.staged else 0
        self._forget(record)
        # Without the note recovery takes back what was never begun, which is harmless.
        with suppress(OSError):
            self._compensate(record.seq)

    def take_back_to(self, position: int) -> None:
        """Undo the records after a position, newest first; raises `RollbackFailed`."""
        if len(self.records) <= position:
            return
        borrowed = frozenset(record.staged for record in self.records if record.kind == "B")
        undo = Undo(self.root, self.contents, self.rewritten, self._renumbered, borrowed, recovering=self._is_resumed)
        try:
            while len(self.records) > position:
                record = self.records[-1]
                try:
                    undo.take_back_patiently(record, self.records[-2] if len(self.records) > position + 1 else None)
                    if self.root.is_durable:
                        # The note must not reach the disk before what it notes.
                        self.root.sync(directories([record]))
                    if len(self.records) > 1:
                        self._compensate(record.seq)
                except OSError as error:
                    paths = dict.fromkeys(left.path for left in reversed(self.records[position:]))
                    raise RollbackFailed(tuple(paths), error.strerror or str(error)) from error
                self._forget(record)
                undo.clear()
        finally:
            self.conflicts.extend(undo.conflicts)
            self.root.conflicts.extend(undo.conflicts)
        if undo.lost:
            raise RollbackFailed(tuple(undo.lost), "what they were is not there any more")

    def end(self) -> None:
        """Drop the journal: the commit point of what still stands in it, and the end of a rollback."""
        self._is_over = True
        try:
            if self._journal is not None:
                self._journal.remove()
        finally:
            # If it is still there, it must not be taken for one that is under way.
            self.leave()

    def tidy(self) -> None:
        """After a rollback, remove what failed operations left in staging, and the journal.

        Where the disk refuses, the journal stays, and whoever takes the lease next does it.
        """
        try:
            if self._count != self._recorded:
                for number in range(1, self._count + 1):
                    for suffix in ("", "~"):
                        self.drop(f"{self._transaction_id}.{number}{suffix}")
            self.end()
        except OSError:
            self.root.untidy.add(self._transaction_id)
            self.leave()

    def doom(self) -> None:
        """A savepoint could not be taken back as a whole: from here on the transaction can only be rolled back."""
        self.is_doomed = True

    def leave(self) -> None:
        """Let go of a journal that recovery has to deal with."""
        self._is_over = True
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        self.root.active.discard(self._transaction_id)

    # -- staging

    def name(self) -> str:
        """A name in staging that nobody uses."""
        self._count += 1
        return f"{self._transaction_id}.{self._count}"

    def create(self, mode: int, suffix: str = "", name: str | None = None) -> tuple[str, int]:
        """A new empty file in staging, under a new name or next to `name`: its name and its descriptor."""
        self.ready()
        while True:
            chosen = self.name() if name is None else name
            try:
                return chosen, os.open(chosen + suffix, _NEW, mode, dir_fd=self.root.state.staged)
            except FileExistsError:
                if name is not None:
                    raise
            except FileNotFoundError:
                raise TransactionError("the state directory was removed during a transaction") from None

    def drop(self, staged: str) -> None:
        """Remove something from staging."""
        remove(self.root.state.staged, staged)

    def ready(self) -> None:
        """See that there is a journal, without which nobody would ever remove what a killed process left in staging."""
        (self._journal or self._start()).begin()

    def _start(self) -> Journal:
        if self._is_over:
            raise TransactionError("this transaction has ended; begin another one")
        if self.root.state.staged < 0:
            self.root.state.create()
        if self._transaction_id in self.root.untidy:
            self._tidy_again()
        durable = self.root.is_durable
        try:
            self._journal = Journal.create(self.root.state, self._transaction_id, durable=durable)
        except FileNotFoundError:
            # Somebody removed the whole state; as long as nothing of ours was in it, it is simply made again.
            self.root.state.forget()
            self.root.state.create()
            self._journal = Journal.create(self.root.state, self._transaction_id, durable=durable)
        self.root.active.add(self._transaction_id)
        return self._journal

    def _tidy_again(self) -> None:
        """All that this transaction had changed was taken back, and the disk refused to remove the journal of that."""
        if self._transaction_id in left_behind(self.root.state):
            end_by_journal(self.root, self._transaction_id, keep=False)
        self.root.untidy.discard(self._transaction_id)

    def _forget(self, record: Record) -> None:
        if self.records and self.records[-1] is record:
            self.records.pop()
        self.contents.pop(record.seq, None)
        self.originals.pop(record.seq, None)
        self.rewritten.pop(record.seq, None)

    def _compensate(self, seq: int) -> None:
        # One step can be repeated by recovery, two cannot: so nothing more is taken back before this has been noted.
        if self._journal is not None:
            self._journal.compensate(seq, self._renumbered)


def directories(records: list[Record]) -> set[str]:
    """The directories whose entries these records changed."""
    paths = [record.path for record in records] + [record.note for record in records if record.kind == "N"]
    return {path.rpartition("/")[0] for path in paths}


def end_by_journal(root: DiskRoot, transaction_id: str, *, keep: bool) -> Recovered:
    """End one transaction whose process died, or that could not end itself."""
    log = Log.resume(root, transaction_id)
    paths = dict.fromkeys(path for each in log.records for path in (each.path, each.note)[: 1 + (each.kind == "N")])
    try:
        lost: list[Conflict] = []
        if not keep:
            try:
                log.take_back_to(0)
            except RollbackFailed as failed:
                if log.records:
                    raise
                # Nothing is left to be tried again, and nobody is helped by a workspace that stays closed for it.
                lost = [Conflict(path, None, failed.reason) for path in failed.paths]
            # As long as there is a journal somebody will come for these: new content that never got its name.
            for name in os.listdir(root.state.staged):
                if name.rpartition(".")[0] == transaction_id:
                    remove(root.state.staged, name)
        log.end()
    finally:
        log.leave()
    return Recovered(transaction_id, "kept" if keep else "undone", tuple(paths), (*log.conflicts, *lost))


class DiskStaging:
    """New content on its way: in memory while it is small, then in a file of the state directory."""

    __slots__ = ("_chunks", "_fd", "_log", "_size", "staged")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._chunks: list[bytes] = []
        self._size, self._fd = 0, -1
        self.staged: str | None = None

    def write(self, data: bytes, /) -> int:
        """Append `data`."""
        self._size += len(data)
        if self._fd < 0:
            self._chunks.append(bytes(data))
            if self._size > SPILL_BYTES:
                self.staged, self._fd = self._log.create(0o666)
                for chunk in self._chunks:
                    write_all(self._fd, chunk)
                self._chunks.clear()
        else:
            write_all(self._fd, data)
        return len(data)

    def discard(self) -> None:
        """Forget the content; harmless after a `put`."""
        self._chunks.clear()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            if self.staged is not None:
                self._log.drop(self.staged)
        self.staged = None

    def take(self) -> bytes | tuple[str, int]:
        """The content, if it is in memory, else its name in staging and its descriptor; both are the caller's now."""
        if self.staged is None:
            content = b"".join(self._chunks)
            self._chunks.clear()
            return content
        taken = self.staged, self._fd
        self.staged, self._fd = None, -1
        return taken
