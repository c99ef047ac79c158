"""Forget the oldest calls, with all that the record has of them, and give what that frees back to the disk.

Rules of this module:

* Only the oldest transactions leave, never one from among others: whoever goes back goes along all of them.
* What a checkpoint, a run that can go on, or a fold still needs stays, and so do the last calls, however little is to be
  kept: numbers are never given twice.
* Every step leaves a whole record. Killed anywhere, it is begun again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wink.errors import CommitFailed
from wink.record._calls import CHAIN, HASH, moment
from wink.record._texts import BLOCK_BYTES, add_block, compressed

if TYPE_CHECKING:
    import sqlite3

    from wink.record._ledger import Ledger

LISTED: Final = 1_000
"""So many calls stay in the log whatever the bounds."""

_AT_ONCE: Final = 100
"""Transactions that leave in one step; a call beside it waits for some milliseconds."""
_WORTH: Final = 4 << 20
"""The database is made anew by itself where so many bytes of it are free, and a quarter of it."""

_CALLS: Final = """SELECT tx, started_at, length(CAST(arguments AS BLOB)) + length(CAST(rendered AS BLOB))
    + ifnull(length(CAST(inverse AS BLOB)), 0), arguments_text, rendered_text, inverse_text FROM calls ORDER BY seq DESC"""
_TEXTS: Final = """SELECT texts.id, texts.size * length(content) / max(text_blocks.size, 1) FROM texts
    JOIN text_blocks ON text_blocks.id = block"""
# The last transaction that nothing needs. Runs name the last call before each of their turns.
_FREE: Final = f"""SELECT min(
    ifnull((SELECT tx - 1 FROM calls ORDER BY seq DESC LIMIT 1 OFFSET {LISTED - 1}), 0),
    ifnull((SELECT min(position) FROM checkpoints), 1 << 62),
    ifnull((SELECT min(tx) - 1 FROM calls WHERE seq > (SELECT min(position) FROM run_turns JOIN runs ON id = run
        WHERE state <> 'ended')), 1 << 62))"""
_UNFOLDED: Final = """SELECT min(seq) FROM transactions WHERE committed = 1 AND changes > 0
    AND seq > ifnull((SELECT max(tx) FROM folds), 0)"""
_FIRST: Final = "SELECT seq, started_at, (SELECT max(seq) FROM calls) FROM calls ORDER BY seq LIMIT 1"
_FORGET: Final = "DELETE FROM transactions WHERE seq <= ?"
# What the first entry that stays is committed to: position, last call and hash.
_FORGOTTEN: Final = f"""INSERT OR REPLACE INTO meta (key, value)
    SELECT 'forgotten', seq || ' ' || (SELECT min(calls.seq) - 1 FROM calls WHERE tx > transactions.seq) || ' ' ||
    lower(hex(ifnull(substr({CHAIN}, 1, {HASH}), ''))) FROM transactions WHERE seq = ?"""
_FORGET_FOLDS: Final = (
    "DELETE FROM folded WHERE tx <= ?",
    "DELETE FROM folds WHERE tx < (SELECT max(tx) FROM folds WHERE tx <= ?)",
)
# Not of the last block: somebody may just be about to name what is in it.
_DROP_TEXTS: Final = """DELETE FROM texts WHERE block < (SELECT max(block) FROM texts) AND id NOT IN (
    SELECT arguments_text FROM calls WHERE arguments_text IS NOT NULL
    UNION SELECT rendered_text FROM calls WHERE rendered_text IS NOT NULL
    UNION SELECT inverse_text FROM calls WHERE inverse_text IS NOT NULL)"""
_DROP_BLOCKS: Final = """DELETE FROM text_blocks WHERE id < (SELECT max(id) FROM text_blocks)
    AND id NOT IN (SELECT block FROM texts)"""
_THIN: Final = """SELECT block, sum(texts.size) FROM texts JOIN text_blocks ON text_blocks.id = block
    GROUP BY block HAVING sum(texts.size) * 2 < text_blocks.size AND block < (SELECT max(id) FROM text_blocks)"""


class Keep(NamedTuple):
    """Bounds of what is kept of calls: the last `calls` of them, none that is older than `days`, and so many bytes.

    `bytes` bound what calls replaced, and once more the texts that they were given and answered.
    """

    calls: int = 10_000
    days: int = 90
    bytes: int = 1 << 30


KEEP: Final = Keep()
"""What is kept where nobody says otherwise."""


class Weight(NamedTuple):
    """What the calls of one transaction come to: how many they are, when the last began, how many bytes their texts take."""

    position: int
    calls: int
    at: datetime
    bytes: int


class Forgetting:
    """The oldest part of one record."""

    __slots__ = ("_ledger",)

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def first(self) -> tuple[int, datetime, int] | None:
        """Number and time of the oldest call that is kept, and the number of the newest; None where there is none."""
        return next(((seq, moment(at), last) for seq, at, last in self._ledger.ask(_FIRST)), None)

    def text_bytes(self) -> int:
        """How many bytes the moved texts take."""
        return self._ledger.ask("SELECT ifnull(sum(length(content)), 0) FROM text_blocks")[0][0]

    def weights(self) -> Iterator[Weight]:
        """All transactions with calls, newest first; a text counts for the last call that has it."""
        with self._ledger.database.hold():
            sizes: dict[int, int] = dict(self._ledger.ask(_TEXTS))  # type: ignore[arg-type]
            rows = self._ledger.ask(_CALLS)
        last: Weight | None = None
        for tx, at, inline, *texts in rows:
            size = inline + sum(sizes.pop(text, 0) for text in texts)
            if last is not None and last.position == tx:
                last = last._replace(calls=last.calls + 1, bytes=last.bytes + size)
                continue
            if last is not None:
                yield last
            last = Weight(tx, 1, moment(at), size)
        if last is not None:
            yield last

    def free(self, position: int) -> int:
        """Up to which transaction calls can be forgotten of those up to a position, once they are folded; 0 for none."""
        return max(min(position, next((free for (free,) in self._ledger.ask(_FREE)), 0)), 0)

    def forget(self, position: int) -> int:
        """Forget the transactions up to a position, as far as nothing needs them; gives how many calls. Raises `CommitFailed`."""
        position = self.free(position)
        with self._ledger.database.hold():
            self._ledger.apply_waiting()
            for (unfolded,) in self._ledger.ask(_UNFOLDED):
                position = position if unfolded is None else min(position, unfolded - 1)
        if position <= 0:
            return 0
        with self._ledger.database.hold():
            calls = self._ledger.ask("SELECT tx, seq FROM calls WHERE tx <= ? ORDER BY seq", position)
            found = self._ledger.ask("SELECT seq FROM transactions WHERE seq <= ? ORDER BY seq", position)
        self._ledger.keep_head(always=True)  # one that is forgotten could be held against nothing
        for at in range(0, len(found), _AT_ONCE):
            (upto,) = found[min(at + _AT_ONCE, len(found)) - 1]
            before = bisect_right(calls, upto, key=lambda row: row[0])
            self._step(
                (_FORGOTTEN, upto),
                *((("DELETE FROM calls WHERE seq <= ?", calls[before - 1][1]),) if before else ()),
                (_FORGET, upto),
            )
        # Also where that is all that somebody who was killed has left.
        self._step(*((sql, position) for sql in _FORGET_FOLDS))
        self._step((_DROP_TEXTS,), (_DROP_BLOCKS,))
        while self._repack():
            pass
        return len(calls)

    def compact(self, *, always: bool = False) -> None:
        """Give back to the disk what is free in the database, where that is much, or `always`; raises `CommitFailed`."""
        with self._ledger.database.hold():
            rows = [self._ledger.ask(f"PRAGMA {name}") for name in ("freelist_count", "page_count", "page_size")]
            free, pages, size = (found[0][0] if found else 0 for found in rows)
            if not free or not (always or (free * size >= _WORTH and free * 4 >= pages)):
                return
            try:
                self._ledger.settle()
                connection = self._ledger.database.writable()
                connection.execute("VACUUM")
                with suppress(Exception):  # others are reading; the log shrinks when they are done
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except Exception as error:
                raise CommitFailed(f"nothing was given back to the disk: {error}") from error

    def _repack(self) -> bool:
        """Put what is left of blocks of which most is gone into one; whether there may be more of them."""
        with self._ledger.database.hold():
            thin = self._ledger.ask(_THIN)
            chosen: list[int] = []
            room = BLOCK_BYTES
            for block, size in thin:
                if size <= room or not chosen:
                    chosen.append(block)
                    room -= size
            marks = ", ".join(str(block) for block in chosen)
            texts = self._ledger.ask(f"SELECT id, digest, wink_text(id) FROM texts WHERE block IN ({marks})")
        if not chosen:
            return False
        content = compressed(b"".join(text for _, _, text in texts))

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(f"DELETE FROM text_blocks WHERE id IN ({marks})")
            block = add_block(connection, content, [(digest, len(text)) for _, digest, text in texts])
            at = 0
            for number, _, text in texts:
                connection.execute("UPDATE texts SET block = ?, at = ? WHERE id = ?", (block, at, number))
                at += len(text)

        self._ledger.change(work)
        return len(chosen) < len(thin)

    def _step(self, *statements: tuple[Any, ...]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            for sql, *values in statements:
                connection.execute(sql, values)

        self._ledger.change(work)
