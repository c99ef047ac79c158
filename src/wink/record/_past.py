"""Read back which transactions stand, and which were taken back by others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from wink.record._changes import Ask

_SELECT: Final = """SELECT seq, transactions.id, name, deltas, changes, reverts, inverse
    FROM transactions CROSS JOIN sessions ON sessions.id = session
    WHERE committed = 1 AND seq >= ? AND ifnull(seq <= ?, 1) ORDER BY seq"""
_REVERTING: Final = (
    "SELECT seq, reverts FROM transactions WHERE reverts IS NOT NULL AND committed = 1 ORDER BY seq DESC"
)


@dataclass(frozen=True, slots=True)
class Past:
    """A committed transaction: how many slices and paths it wrote to, and which earlier ones it took back.

    `inverse` is JSON that takes its writes to slices back.
    """

    position: int
    transaction_id: str
    session: str
    deltas: int
    changes: int
    reverts: tuple[int, ...]
    inverse: str | None


def read_past(ask: Ask, first: int, last: int | None) -> tuple[Past, ...]:
    """The committed transactions from one position to another, oldest first."""
    return tuple(
        Past(seq, transaction_id, name, deltas, changes, tuple(json.loads(reverts)) if reverts else (), inverse)
        for seq, transaction_id, name, deltas, changes, reverts, inverse in ask(_SELECT, first, last)
    )


def read_undone(ask: Ask) -> frozenset[int]:
    """The positions of what is taken back at present: an undo that was itself undone takes nothing back."""
    undone: set[int] = set()
    for position, reverts in ask(_REVERTING):
        if position not in undone:
            undone.update(json.loads(reverts))
    return frozenset(undone)
