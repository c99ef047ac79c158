"""Write calls into the record, and read them back as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from wink.filesystem import FileChange
from wink.record._binding import run
from wink.record._changes import Ask, read_changes

if TYPE_CHECKING:
    import sqlite3

    from wink.transactions import CommitEntry

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_INSERT_CALL: Final = """INSERT INTO calls
    (tx, call_id, tool, prompt, outcome, started_at, duration, decisions, arguments, rendered, effects, inverse,
    run, approval, error, plugin)
    VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT),
        CAST(? AS TEXT), ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))"""
FROM_CALLS: Final = """FROM calls CROSS JOIN transactions ON transactions.seq = tx
    CROSS JOIN sessions ON sessions.id = session"""
_SELECT: Final = f"""SELECT calls.seq, tx, transactions.id, name, committed, call_id, tool, prompt, outcome, started_at,
    duration, effects, run, approval, error, plugin, decisions, arguments, {{rendered}} {FROM_CALLS}
    WHERE {{where}} ORDER BY calls.seq {{order}} LIMIT ?"""
_BRIEF: Final = 1000
"""So many characters of a reply are read for a list of calls."""
_FOR_EVER: Final = 1 << 62

_decisions: Final = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call as the record keeps it.

    `position` grows with every call, `transaction` with every transaction. `committed` tells whether the transaction of the call stands; a nested call shares
    `transaction_id` and `changes` with the outermost one. `arguments` is JSON text, `rendered` what the model was sent,
    `decisions` one `(policy, allowed, reason, asks)` a policy that was asked. `changes` hold no file's content. `effects`
    is what the tool declares that it may touch, `run` the run that the call belongs to, `approval` the number of the answer
    of a person that it used, and `error` what an exception said that the model was not shown.
    """

    position: int
    transaction: int
    transaction_id: str
    session: str
    committed: bool
    call_id: str
    tool: str
    prompt: str
    outcome: str
    arguments: str
    rendered: str
    started_at: datetime
    duration: timedelta
    decisions: tuple[tuple[str, bool, str | None, bool], ...]
    changes: tuple[FileChange, ...]
    effects: str = "workspace"
    run: str = ""
    approval: int = 0
    error: str | None = None
    plugin: str = ""


def microseconds(moment: datetime) -> int:
    """Microseconds since the epoch, without a detour through floating point."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """The reverse of `microseconds`."""
    return _EPOCH + timedelta(microseconds=microseconds)


def write_call(connection: sqlite3.Connection, tx: int, entry: CommitEntry, inverse: str | None) -> None:
    """Add the row of one call, with what takes back the transaction's writes to slices."""
    run(
        connection,
        _INSERT_CALL,
        (
            tx,
            entry.call_id,
            entry.tool,
            entry.prompt,
            entry.outcome,
            microseconds(entry.started_at),
            entry.duration // _MICROSECOND,
            _decisions(entry.decisions) if entry.decisions else "[]",
            entry.arguments,
            entry.rendered,
            entry.effects,
            inverse,
            entry.run or None,
            entry.approval or None,
            entry.error,
            entry.plugin or None,
        ),
    )


def read_calls(ask: Ask, session: str | None, limit: int | None, only: int | None = None) -> tuple[CallRow, ...]:
    """The last calls, newest first."""
    if only is not None:
        return read_page(ask, session=session, before=only + 1, after=only - 1, limit=1)
    return read_page(ask, session=session, limit=limit)


def read_page(
    ask: Ask,
    *,
    session: str | None = None,
    before: int | None = None,
    after: int | None = None,
    limit: int | None = None,
    where: str = "1",
    values: Sequence[object] = (),
    is_ascending: bool = False,
    is_brief: bool = False,
) -> tuple[CallRow, ...]:
    """Calls between two positions, newest first unless `is_ascending`, that fit a condition over `FROM_CALLS`."""
    sql = _SELECT.format(
        rendered=f"substr(rendered, 1, {_BRIEF})" if is_brief else "rendered",
        where=f"calls.seq > ? AND calls.seq < ? AND ifnull(name = ?, 1) AND {where}",
        order="" if is_ascending else "DESC",
    )
    first, last = 0 if after is None else after, _FOR_EVER if before is None else before
    changes: dict[int, tuple[FileChange, ...]] = {}
    rows: list[CallRow] = []
    for found in ask(sql, first, last, session, *values, -1 if limit is None else limit):
        position, tx, transaction_id, name, committed, call_id, tool, prompt, outcome, started, took, *rest = found
        effects, run_id, approval, error, plugin, decisions, arguments, rendered = rest
        if tx not in changes:
            changes[tx] = read_changes(ask, tx)
        rows.append(
            CallRow(
                position=position,
                transaction=tx,
                transaction_id=transaction_id,
                session=name,
                committed=bool(committed),
                call_id=call_id,
                tool=tool,
                prompt=prompt,
                outcome=outcome,
                arguments=arguments,
                rendered=rendered,
                started_at=moment(started),
                duration=timedelta(microseconds=took),
                decisions=_decided(decisions),
                changes=changes[tx],
                effects=effects,
                run=run_id or "",
                approval=approval or 0,
                error=error,
                plugin=plugin or "",
            )
        )
    return tuple(rows)


def _decided(text: str) -> tuple[tuple[str, bool, str | None, bool], ...]:
    """Decisions as they were written; before there was asking, they had three parts."""
    return tuple([(policy, allowed, reason, asks == [True]) for policy, allowed, reason, *asks in json.loads(text)])
