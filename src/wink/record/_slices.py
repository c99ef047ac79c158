"""Keep the live items of a session's slices, by replaying what each call did to them.

A slice may be extended, replaced (its earlier items are deleted in the same transaction) or written by key, where an
item takes the place of the one with its key. So a table holds what the slice holds, in its order, at any length at
the same cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from wink.errors import CommitFailed
from wink.record._binding import run
from wink.record._inverse import Step, as_text, checksum, kept

if TYPE_CHECKING:
    import sqlite3

    from wink.session import SliceDelta

_TAKE_ALL: Final = "DELETE FROM slice_items WHERE slice = ? RETURNING tx, n, key, value"
_PUT: Final = "INSERT INTO slice_items (slice, tx, n, key, value) VALUES (?, ?, ?, NULL, CAST(? AS TEXT))"
# A key that is there keeps its place, as in a dict.
_PUT_BY_KEY: Final = """INSERT INTO slice_items (slice, tx, n, key, value)
    VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))
    ON CONFLICT (slice, key) WHERE key IS NOT NULL DO UPDATE SET value = excluded.value"""
_PUT_NEW: Final = """INSERT INTO slice_items (slice, tx, n, key, value) VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))
    ON CONFLICT (slice, key) WHERE key IS NOT NULL DO NOTHING"""
_AT_KEY: Final = "SELECT value FROM slice_items WHERE slice = ? AND key = CAST(? AS TEXT)"
_LOAD: Final = "SELECT key, value FROM slice_items WHERE slice = ? ORDER BY slice, tx, n"
_ADDED: Final = "SELECT 1 FROM slice_items WHERE slice = ? AND tx >= ? LIMIT 1"

_REMEMBERED: Final = 4096

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

    __slots__ = ("_last", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        # The items that were last put under their keys, so that what they replace need not be asked for.
        self._last: dict[tuple[int, str], str] = {}

    def forget(self) -> None:
        """Forget the numbers and items: what they were given for may have been taken back."""
        self._numbers.clear()
        self._last.clear()

    def forget_items(self) -> None:
        """Others may have put other items under their keys."""
        self._last.clear()

    def load(
        self, connection: sqlite3.Connection, session: int, type_name: str
    ) -> tuple[tuple[str | None, str], ...] | None:
        """Key and JSON of each item in order, or None for a slice that was never written."""
        number = self._number(connection, session, type_name)
        return None if number is None else tuple(connection.execute(_LOAD, (number,)))

    def apply(self, connection: sqlite3.Connection, session: int, tx: int, deltas: Sequence[Encoded]) -> str | None:
        """Do to the table what a call did to its slices; gives what takes it back, see `_inverse`."""
        n = 0
        inverse: list[Step] = []
        for delta, texts in deltas:
            number = self._number(connection, session, delta.type_name) or self._make(connection, session, delta)
            first, is_state = n, delta.policy == "state"
            replaced: list[Any] = []
            if delta.op == "replace":
                replaced = connection.execute(_TAKE_ALL, (number,)).fetchall()
                self._last.clear()
            if delta.keys is None:
                for text in texts:
                    run(connection, _PUT, (number, tx, n, text))
                    n += 1
            elif delta.op == "replace":
                for key, text in zip(delta.keys, texts, strict=True):
                    run(connection, _PUT_BY_KEY, (number, tx, n, key, text))
                    n += 1
            else:
                before: list[tuple[str | None, str | None, int]] = []
                for key, text in zip(delta.keys, texts, strict=True):
                    before.append((key, self._put_by_key(connection, number, tx, n, key, text), checksum(text)))
                    n += 1
                if is_state:
                    inverse.append((number, "u", before))
                continue
            if is_state and delta.op == "replace":
                op = "l" if delta.is_latest else "r"
                inverse.append(
                    (number, op, first, n - first, checksum("".join(texts)), kept(replaced, is_latest=delta.is_latest))
                )
            elif is_state:
                inverse.append((number, "e", first, n - first))
        return as_text(inverse) if inverse else None

    def _put_by_key(
        self, connection: sqlite3.Connection, number: int, tx: int, n: int, key: str | None, text: str
    ) -> str | None:
        """Put an item under its key; gives the one that it replaced."""
        if key is None:
            run(connection, _PUT_BY_KEY, (number, tx, n, key, text))
            return None
        before = self._last.get((number, key))
        if before is None and run(connection, _PUT_NEW, (number, tx, n, key, text)).rowcount == 0:
            before = run(connection, _AT_KEY, (number, key)).fetchone()[0]
        if before is not None:
            run(connection, _PUT_BY_KEY, (number, tx, n, key, text))
        if len(self._last) >= _REMEMBERED:
            self._last.clear()
        self._last[number, key] = text
        return before

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
