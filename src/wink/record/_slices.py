"""Keep the live items of a session's slices, by replaying what each call did to them.

A slice may be extended, replaced (its earlier items are deleted in the same transaction) or written by key, where an
item takes the place of the one with its key. So a table holds what the slice holds, in its order, at any length at
the same cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from wink.errors import CommitFailed
from wink.record._binding import run

if TYPE_CHECKING:
    import sqlite3

    from wink.session import SliceDelta

_DELETE_ALL: Final = "DELETE FROM slice_items WHERE slice = ?"
_PUT: Final = "INSERT INTO slice_items (slice, tx, n, key, value) VALUES (?, ?, ?, NULL, CAST(? AS TEXT))"
# A key that is there keeps its place, as in a dict.
_PUT_BY_KEY: Final = """INSERT INTO slice_items (slice, tx, n, key, value)
    VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))
    ON CONFLICT (slice, key) WHERE key IS NOT NULL DO UPDATE SET value = excluded.value"""
_LOAD: Final = "SELECT key, value FROM slice_items WHERE slice = ? ORDER BY slice, tx, n"
_ADDED: Final = "SELECT 1 FROM slice_items WHERE slice = ? AND tx >= ? LIMIT 1"

Encoded = tuple["SliceDelta", tuple[str, ...]]
"""A delta and the JSON of its items."""


def encode(deltas: Sequence[SliceDelta]) -> tuple[Encoded, ...]:
    """The JSON of every item; raises `SerdeError` for what JSON cannot hold."""
    if not deltas:
        return ()
    from wink.serde import dumps

    return tuple((delta, tuple([dumps(item) for item in delta.items])) for delta in deltas)


class SliceTable:
    """Slices by session and type; the numbers that stand for them are remembered."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}

    def forget(self) -> None:
        """Forget the numbers: what they were given for may have been taken back."""
        self._numbers.clear()

    def load(
        self, connection: sqlite3.Connection, session: int, type_name: str
    ) -> tuple[tuple[str | None, str], ...] | None:
        """Key and JSON of each item in order, or None for a slice that was never written."""
        number = self._number(connection, session, type_name)
        return None if number is None else tuple(connection.execute(_LOAD, (number,)))

    def apply(self, connection: sqlite3.Connection, session: int, tx: int, deltas: Sequence[Encoded]) -> None:
        """Do to the table what a call did to its slices."""
        n = 0
        for delta, texts in deltas:
            number = self._number(connection, session, delta.type_name) or self._make(connection, session, delta)
            if delta.op == "replace":
                connection.execute(_DELETE_ALL, (number,))
            if delta.keys is None:
                for text in texts:
                    run(connection, _PUT, (number, tx, n, text))
                    n += 1
            else:
                for key, text in zip(delta.keys, texts, strict=True):
                    run(connection, _PUT_BY_KEY, (number, tx, n, key, text))
                    n += 1

    def refuse_stale(
        self, connection: sqlite3.Connection, session: int, deltas: Sequence[Encoded], theirs: range | None
    ) -> None:
        """Refuse to replace a slice whose present items the call has not seen; additions do no harm.

        `theirs` are the positions that others took meanwhile; None when it is only known that they wrote.
        """
        for delta, _ in deltas:
            number = self._number(connection, session, delta.type_name) if delta.op == "replace" else None
            if number is None:
                continue
            if theirs is None or connection.execute(_ADDED, (number, theirs.start)).fetchone() is not None:
                raise CommitFailed(f"another process wrote to {delta.type_name} meanwhile; call the tool again")

    def _number(self, connection: sqlite3.Connection, session: int, type_name: str) -> int | None:
        number = self._numbers.get((session, type_name))
        if number is None:
            row = connection.execute(
                "SELECT id FROM slices WHERE session = ? AND type = ?", (session, type_name)
            ).fetchone()
            if row is None:
                return None
            number = self._numbers[session, type_name] = row[0]
        return number

    def _make(self, connection: sqlite3.Connection, session: int, delta: SliceDelta) -> int:
        cursor = connection.execute(
            "INSERT INTO slices (session, type, policy) VALUES (?, ?, ?)",
            (session, delta.type_name, delta.policy),
        )
        number = self._numbers[session, delta.type_name] = cursor.lastrowid or 0
        return number
