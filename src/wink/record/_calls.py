"""Write calls into the record, and read them back as rows."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from wink.record._binding import as_text, execute
from wink.record._changes import Ask, changes_of
from wink.record._texts import text_of
from wink.record._view import CallView

if TYPE_CHECKING:
    import sqlite3

    from wink.transactions import CommitEntry

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_INSERT_CALL: Final = """INSERT INTO calls
    (tx, call_id, tool, prompt, outcome, started_at, duration, decisions, arguments, rendered, effects, inverse,
    run, approval, error, plugin, written)
    VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT),
        CAST(? AS TEXT), ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?)"""
FROM_CALLS: Final = """FROM calls CROSS JOIN transactions ON transactions.seq = tx
    CROSS JOIN sessions ON sessions.id = session"""
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


def write_call(
    connection: sqlite3.Connection, tx: int, entry: CommitEntry, inverse: str | None = None, written: str | None = None
) -> None:
    """Add the row of one call, with what the transaction wrote to slices, or where that is applied what takes it back."""
    asked = tx, entry.call_id, entry.tool, entry.prompt, entry.outcome, microseconds(entry.started_at)
    decisions = as_text(entry.decisions) if entry.decisions else "[]"
    told = entry.duration // _MICROSECOND, decisions, entry.arguments, entry.rendered, entry.effects, inverse
    more = entry.run or None, entry.approval or None, entry.error, entry.plugin or None, written
    execute(connection, _INSERT_CALL, (*asked, *told, *more))


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
