"""Read back which transactions stand, and which were taken back by others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from wink.record._calls import moment
from wink.record._changes import Ask

_SELECT: Final = """SELECT seq, transactions.id, name, deltas, changes, reverts, inverse
    FROM transactions CROSS JOIN sessions ON sessions.id = session
    WHERE committed = 1 AND seq >= ? AND ifnull(seq <= ?, 1) ORDER BY seq"""
_CALLS: Final = "SELECT tx, seq, inverse, effects, started_at FROM calls ORDER BY seq DESC LIMIT ?"
_NO_CALL: Final = (None, None, "", None)
_TYPES: Final = "SELECT id, type FROM slices"
_REVERTING: Final = (
    "SELECT seq, reverts FROM transactions WHERE reverts IS NOT NULL AND committed = 1 ORDER BY seq DESC"
)


@dataclass(frozen=True, slots=True)
class Past:
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
    calls = {tx: (seq, inverse, effects, moment(at)) for tx, seq, inverse, effects, at in _calls_since(ask, first)}
    return tuple(
        Past(
            seq,
            transaction_id,
            name,
            deltas,
            changes,
            tuple(json.loads(reverts)) if reverts else (),
            inverse or calls.get(seq, _NO_CALL)[1],
            calls.get(seq, _NO_CALL)[0],
            calls.get(seq, _NO_CALL)[2],
            calls.get(seq, _NO_CALL)[3],
        )
        for seq, transaction_id, name, deltas, changes, reverts, inverse in ask(_SELECT, first, last)
    )


def _calls_since(ask: Ask, first: int) -> list[tuple[Any, ...]]:
    """The calls of all transactions from a position on, oldest first; no index leads to them, but they are the last."""
    limit = 64
    while True:
        rows = ask(_CALLS, limit)
        if len(rows) < limit or rows[-1][0] < first:
            return rows[::-1]
        limit *= 8


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
