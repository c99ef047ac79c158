"""Write calls into the record, each transaction committed to the one before it, and read them back as rows.

What a transaction is committed by is its entry in a chain: a BLAKE2b of the entry before it and of a commitment to each of
its pieces, which is a BLAKE2b of a random salt and the piece; SHA-256 by OpenSSL takes half as long again for short ones. The pieces are JSON of the facts of the transaction and of its
calls, JSON of what it changed if it changed anything, and the arguments and the reply of each call. `chain` is the hash and
then the salts. So what is deleted together with its salt cannot be guessed from what stays, and the entries after it still
fit.

What may change in a row after it was written is in no piece: how slices are taken back, where texts lie, and digests that
are learned later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, cast

from wink.record._binding import as_text, execute
from wink.record._changes import Ask, changes_of
from wink.record._texts import text_of
from wink.record._view import CallView

if TYPE_CHECKING:
    import sqlite3

    from wink.transactions import CommitEntry

Head = tuple[int, "bytes | None", int]
"""The last transaction of the chain, what commits it, and the number of the last call."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

CALL_FACTS: Final = (
    """call_id, tool, prompt, outcome, started_at, duration, decisions, effects, run, approval, error, plugin"""
)
"""The columns of a call that are among the facts of its entry, in their order."""
_INSERT_CALL: Final = f"""INSERT INTO calls ({CALL_FACTS}, arguments, rendered, tx, inverse, written, chain)
    VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, CAST(? AS TEXT),
        CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, ?)"""
_KEEP: Final = "UPDATE transactions SET inverse = ?, chain = ? WHERE seq = ?"
CHAIN: Final = "ifnull(chain, (SELECT chain FROM calls WHERE tx = transactions.seq ORDER BY calls.seq DESC LIMIT 1))"
"""SQL for what commits a row of `transactions`: it is with its last call where it has calls."""
_BEFORE: Final = f"""SELECT seq, {CHAIN}, (SELECT ifnull(max(seq), 0) FROM calls) FROM transactions WHERE seq < ?
    ORDER BY seq DESC LIMIT 1"""
HASH: Final = 32
"""So many bytes of `chain` are the entry's hash."""
SALT: Final = 16
"""So many bytes each of its salts has."""
FROM_CALLS: Final = """FROM calls CROSS JOIN transactions ON transactions.seq = tx
    CROSS JOIN sessions ON sessions.id = session"""
"""SQL for all calls, each with its transaction and its session."""
_SELECT: Final = f"""SELECT calls.seq, tx, transactions.id, name, committed, call_id, tool, prompt, outcome, {{arguments}}, {{rendered}},
    started_at, duration, decisions, effects, ifnull(run, ''), ifnull(approval, 0), error, ifnull(plugin, ''), transactions.changes
    {FROM_CALLS} WHERE {{where}} ORDER BY calls.seq {{order}} LIMIT ?"""
_FOR_EVER: Final = 1 << 62
SHOWN_PATHS: Final = 3
"""So many changed paths of a call are read for a list that is cut to a width."""


def microseconds(moment: datetime) -> int:
    """Microseconds since the epoch, without a detour through floating point."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """The reverse of `microseconds`."""
    return _EPOCH + timedelta(microseconds=microseconds)


def entry_hash(before: bytes, pieces: Sequence[bytes], salts: bytes) -> bytes:
    """The hash of an entry after the one with the hash `before`, which is empty for the first."""
    found, at = before or bytes(HASH), 0
    for piece in pieces:
        found += blake2b(salts[at : at + SALT] + piece, digest_size=HASH).digest()
        at += SALT
    return blake2b(found, digest_size=HASH).digest()


def commitment(salt: bytes, piece: bytes) -> bytes:
    """What `entry_hash` makes of a piece, for who has not all of them."""
    return blake2b(salt + piece, digest_size=HASH).digest()


def chained(before: bytes, commitments: bytes) -> bytes:
    """The hash of an entry after one with the hash `before`, of the commitments to its pieces one after the other."""
    return blake2b((before or bytes(HASH)) + commitments, digest_size=HASH).digest()


def write_entry(
    connection: sqlite3.Connection,
    head: Head | None,
    facts: tuple[object, ...],
    changed: str | None,
    calls: Sequence[CommitEntry] = (),
    inverse: str | None = None,
    written: str | None = None,
) -> Head:
    """Commit the transaction that has these facts to the one before it, and add its calls; gives the new head of the chain.

    `head` is the last one that is known. With the last call goes what the transaction wrote to slices, or where that is
    applied what takes it back.
    """
    tx: Any = facts[0]
    if head is None or head[0] != tx - 1:  # others have written since
        head = cast("Head", connection.execute(_BEFORE, (tx,)).fetchone() or (0, None, 0))
    _, before, number = head
    rows: list[tuple[object, ...]] = []
    pieces = [b"", changed.encode()] if changed else [b""]
    for entry in calls:
        decisions = as_text(entry.decisions) if entry.decisions else "[]"
        asked = entry.call_id, entry.tool, entry.prompt, entry.outcome, (entry.started_at - _EPOCH) // _MICROSECOND
        told = entry.duration // _MICROSECOND, decisions, entry.effects, entry.run or None, entry.approval or None
        rows.append((*asked, *told, entry.error, entry.plugin or None))
        pieces += entry.arguments.encode("utf-8", "surrogatepass"), entry.rendered.encode("utf-8", "surrogatepass")
    pieces[0] = as_text((*facts, number, rows)).encode()
    salts = os.urandom(SALT * len(pieces))
    chain = entry_hash(before[:HASH] if before else b"", pieces, salts) + salts
    if not calls:
        connection.execute(_KEEP, (inverse, chain, tx))
    for row, entry in zip(rows, calls, strict=True):
        last = (inverse, written, chain) if entry is calls[-1] else (None, None, None)
        execute(connection, _INSERT_CALL, (*row, entry.arguments, entry.rendered, tx, *last))
    return tx, chain, number + len(rows)


def read_calls(
    ask: Ask,
    *,
    session: str | None = None,
    before: int | None = None,
    after: int | None = None,
    limit: int | None = None,
    where: str = "1",
    values: Sequence[object] = (),
    undone: Container[int] = (),
    is_brief: bool = False,
    width: int | None = None,
) -> tuple[CallView, ...]:
    """Calls between two positions that fit a condition over `FROM_CALLS`: newest first, or oldest first right `after` one.

    `undone` are the transactions that are taken back. See `Queries.page` for the rest.
    """
    arguments = text_of("arguments")
    sql = _SELECT.format(
        arguments=arguments if width is None else f"substr({arguments}, 1, {width:d})",
        rendered="''" if is_brief else text_of("rendered"),
        where=f"calls.seq > ? AND calls.seq < ? AND ifnull(name = ?, 1) AND {where}",
        order="DESC" if after is None or before is not None else "",
    )
    first, last = 0 if after is None else after, _FOR_EVER if before is None else before
    answer = ask(sql, first, last, session, *values, -1 if limit is None else limit)
    changes = changes_of(ask, {row[1] for row in answer if row[-1]}, None if width is None else SHOWN_PATHS)
    calls: list[CallView] = []
    for row in answer:  # in the order of the fields of `CallView`
        tx, (started, took, decisions) = row[1], row[11:14]
        facts = *row[:4], bool(row[4]), *row[5:11], moment(started), timedelta(microseconds=took), _decided(decisions)
        calls.append(CallView._make((*facts, changes.get(tx, ()), *row[14:], tx in undone)))
    return tuple(calls)


def calls_since(ask: Ask, columns: str, first: int) -> list[tuple[Any, ...]]:
    """Transaction, position and `columns` of the calls of all transactions from a position on, oldest first.

    No index leads to them, but they are the last.
    """
    limit = 64
    while True:
        rows = ask(f"SELECT tx, seq, {columns} FROM calls ORDER BY seq DESC LIMIT ?", limit)
        if len(rows) < limit or rows[-1][0] < first:
            return rows[::-1]
        limit *= 8


def _decided(text: str) -> tuple[tuple[str, bool, str | None, bool], ...]:
    """Decisions as they were written; before there was asking, they had three parts."""
    return tuple([(policy, allowed, reason, asks == [True]) for policy, allowed, reason, *asks in json.loads(text)])
