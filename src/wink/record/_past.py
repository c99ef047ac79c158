"""Read back which transactions stand, and which were taken back by others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from wink.record._calls import FROM_CALLS, calls_since, moment
from wink.record._changes import Ask
from wink.record._texts import text_of

_SELECT: Final = """SELECT seq, transactions.id, name, deltas, changes, reverts, inverse
    FROM transactions CROSS JOIN sessions ON sessions.id = session
    WHERE committed = 1 AND seq >= ? AND ifnull(seq <= ?, 1) ORDER BY seq"""
_OF_CALLS: Final = f"""SELECT tx, transactions.id, name, deltas, transactions.changes, reverts, {text_of("inverse")},
    max(calls.seq), effects, started_at {FROM_CALLS} WHERE committed = 1 AND {{}} GROUP BY tx ORDER BY tx"""
_COLUMNS: Final = f"{text_of('inverse')}, effects, started_at"
_NO_CALL: Final = (None, None, "", None)
"""Inverse, number, effects and time of what was written outside of calls."""
_TYPES: Final = "SELECT id, type FROM slices"
_REVERTING: Final = (
    "SELECT seq, reverts FROM transactions WHERE reverts IS NOT NULL AND committed = 1 ORDER BY seq DESC"
)


class Past(NamedTuple):
    """A committed transaction: how many slices and paths it wrote to, and which earlier ones it took back.

    `inverse` is JSON that takes its writes to slices back; `call` the number of the outermost call, None for what was written
    outside of calls. `effects` is what the call's tool declares that it may touch, and `at`
    when it began.
    """

    position: int
    transaction_id: str
    session: str
    deltas: int
    changes: int
    reverts: tuple[int, ...]
    inverse: str | None
    call: int | None
    effects: str
    at: datetime | None


def read_past(ask: Ask, first: int, last: int | None) -> tuple[Past, ...]:
    """The committed transactions from one position to another, oldest first."""
    # The outermost call comes last, and has the inverse.
    rows = calls_since(ask, _COLUMNS, first)
    calls = {tx: (inverse, seq, effects, moment(at)) for tx, seq, inverse, effects, at in rows}
    return tuple(
        Past._make((*facts, _numbers(reverts), inverse or known[0], *known[1:]))
        for *facts, reverts, inverse in ask(_SELECT, first, last)
        for known in (calls.get(facts[0], _NO_CALL),)
    )


def read_past_of(ask: Ask, where: str, values: Sequence[object]) -> tuple[Past, ...]:
    """The committed transactions of the calls that fit a condition over `FROM_CALLS`, oldest first."""
    rows = ask(_OF_CALLS.format(where), *values)
    return tuple(Past._make((*row[:5], _numbers(row[5]), *row[6:9], moment(row[9]))) for row in rows)


def _numbers(reverts: str | None) -> tuple[int, ...]:
    return tuple(json.loads(reverts or "[]"))


def types_written(ask: Ask, past: Past) -> frozenset[str]:
    """The types of the slices that a transaction wrote to, logs left out."""
    if past.inverse is None:
        return frozenset()
    types: dict[int, str] = dict(ask(_TYPES))  # type: ignore[arg-type]
    return frozenset(types.get(number, "") for number, *_ in json.loads(past.inverse))


def read_undone(ask: Ask) -> frozenset[int]:
    """The positions of what is taken back at present: an undo that was itself undone takes nothing back."""
    undone: set[int] = set()
    for position, reverts in ask(_REVERTING):
        if position not in undone:
            undone.update(json.loads(reverts))
    return frozenset(undone)
