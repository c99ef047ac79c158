"""Take back what transactions did to slices, row by row, as long as nobody has changed those rows since.

A transaction is stored with steps that take it back:

=================================  ==================================================================================
`[slice, "e", first, count]`       it added rows; they are `count` from `first` on among its own
`[slice, "u", [[key, before,       it put items under keys: `before` is the item that was there, or null; `sum` is the
sum], …]]`                         checksum of the item that it put
`[slice, "r", first, count, sum,   it replaced everything by rows of its own; `rows` are `[tx, n, key, value]`, packed as
rows]`                             `packed` does it where they are many, or null where that was too much to keep
`[slice, "l", …]`                  the same by its last event alone: what was put in its place later is no conflict, and
                                   without `rows` nothing comes back in its place
`[slice, "p", [[tx, n, key,        it changed single rows from `before` to `after`, of which either may be null; this is
before, after], …]]`               how taking back is itself stored
`[slice, "q", …]`                  the same of a slice where later items are no conflict
=================================  ==================================================================================

Where items have no keys, a slice that was replaced since is another one: nothing comes back into it. Most often that shows
by what is missing; where nothing is expected there, later transactions are asked (`_later`).

What a session knows of files is judged by their content whenever it is used; so a later stamp stays, and is no conflict.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from wink.errors import StateConflict
from wink.filesystem import Stamp
from wink.record._binding import as_text, execute
from wink.record._past import Past, read_undone
from wink.record._slices import MOST_KEPT, Step, checksum, unpacked
from wink.record._texts import text_of

if TYPE_CHECKING:
    import sqlite3

_STAMPS: Final = f"{Stamp.__module__}:{Stamp.__qualname__}"

_OWN: Final = "SELECT n, key, value FROM slice_items WHERE slice = ? AND tx = ? AND n >= ? AND n < ?"
_AT: Final = "SELECT key, value FROM slice_items WHERE slice = ? AND tx = ? AND n = ?"
_AT_KEY: Final = "SELECT tx, n, value FROM slice_items WHERE slice = ? AND key = CAST(? AS TEXT)"
_REMOVE: Final = "DELETE FROM slice_items WHERE slice = ? AND tx = ? AND n = ?"
_CHANGE: Final = "UPDATE slice_items SET value = CAST(? AS TEXT) WHERE slice = ? AND tx = ? AND n = ?"
_ADD: Final = """INSERT INTO slice_items (slice, tx, n, key, value)
    VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))"""
_TYPE: Final = "SELECT type FROM slices WHERE id = ?"
# The newest first, and only as far as is asked: no index leads from a transaction to its calls.
_INVERSES: Final = f"SELECT tx, seq, {text_of('inverse')} FROM calls ORDER BY seq DESC"
_INVERSE: Final = f"SELECT {text_of('inverse')} FROM calls WHERE seq = ?"
_DIRECT: Final = """SELECT seq, NULL, inverse FROM transactions WHERE seq > ? AND instr(inverse, ?) ORDER BY seq DESC"""

_TOO_LARGE: Final = f"was larger than {MOST_KEPT >> 20} MiB before, and such state is not kept"


class TakingBack:
    """Takes transactions back, the newest first, inside a transaction of the database; `only` what is of these types."""

    def __init__(self, connection: sqlite3.Connection, only: Container[str] | None = None) -> None:
        self._connection, self._only = connection, only
        # Of each row that was touched: key, what it was at first, and what it is now.
        self._rows: dict[tuple[int, int, int], list[str | None]] = {}
        # Slices in which what came later stays, and is no conflict.
        self._lenient: set[int] = set()
        # The transaction that is being taken back, and those that have been.
        self._at, self._taken = 0, set[int]()
        self._undone: frozenset[int] | None = None

    def take_back(self, past: Past) -> None:
        """Take back one transaction; raises `StateConflict`."""
        inverse, tx = past.inverse, past.position
        for (found,) in self._ask(_INVERSE, past.call) if inverse is None else ():
            inverse = found  # it was still waiting to be applied
        if inverse is None:
            return
        self._at = tx
        self._taken.add(tx)
        for number, op, *rest in reversed(json.loads(inverse)):
            if self._only is not None and self._type(number) not in self._only:
                continue
            if op in "lq" or self._type(number) == _STAMPS:
                self._lenient.add(number)
            steps = {"e": self._added, "u": self._put, "r": self._replaced, "p": self._patched}
            steps |= {"l": self._replaced, "q": self._patched}
            steps[op](number, tx, *rest)

    def inverse(self) -> str | None:
        """What takes back the taking back."""
        by_slice: dict[int, list[Step]] = {}
        for (number, tx, n), (key, before, now) in self._rows.items():
            if before != now:
                by_slice.setdefault(number, []).append((tx, n, key, before, now))
        if not by_slice:
            return None
        return as_text([(number, "q" if number in self._lenient else "p", rows) for number, rows in by_slice.items()])

    # -- one for each kind of step

    def _added(self, number: int, tx: int, first: int, count: int) -> None:
        rows = self._own(number, tx, first, count)
        if len(rows) != count:
            if number in self._lenient:
                return
            raise self._conflict(number)
        for n, key, value in rows:
            self._set(number, tx, n, key, value, None)

    def _put(self, number: int, _tx: int, items: Sequence[Any]) -> None:
        for key, before, sum_of_after in reversed(items):
            row = execute(self._connection, _AT_KEY, (number, key)).fetchone()
            if row is None or checksum(row[2]) != sum_of_after:
                if number in self._lenient:
                    continue
                raise self._conflict(number)
            self._set(number, row[0], row[1], key, row[2], before)

    def _replaced(
        self, number: int, tx: int, first: int, count: int, sum_of_after: int, before: Sequence[Any] | str | None
    ) -> None:
        rows, is_lenient = self._own(number, tx, first, count), number in self._lenient
        is_as_left = len(rows) == count and checksum("".join(row[2] for row in rows)) == sum_of_after
        if not is_as_left or (before and not rows and self._was_replaced_since(number)):
            if is_lenient:
                return
            raise self._conflict(number)
        if before is None and not is_lenient:
            raise StateConflict(self._type(number), _TOO_LARGE)
        for n, key, value in rows:
            self._set(number, tx, n, key, value, None)
        for its_tx, n, key, value in unpacked(before) or ():
            self._set(number, its_tx, n, key, None, value)

    def _patched(self, number: int, _tx: int, rows: Sequence[Any]) -> None:
        is_lenient = number in self._lenient
        # What has a key goes its own way in a lenient slice; what has none belongs together.
        alone = [row for row in rows if is_lenient and row[2] is not None]
        together = [row for row in rows if not is_lenient or row[2] is None]
        is_as_left = all(self._is(number, row) for row in together)
        comes_alone = bool(together) and all(row[4] is None for row in together)
        if is_as_left and not (comes_alone and self._was_replaced_since(number)):
            alone += together
        elif not is_lenient:
            raise self._conflict(number)
        # First what leaves, then what comes: an item may have moved to another row under the same key.
        for row in sorted(alone, key=lambda row: row[4] is None):
            its_tx, n, key, before, after = row
            if self._is(number, row):
                self._set(number, its_tx, n, key, after, before)

    # -- steps

    def _own(self, number: int, tx: int, first: int, count: int) -> list[Any]:
        return self._connection.execute(_OWN, (number, tx, first, first + count)).fetchall()

    def _is(self, number: int, row: Sequence[Any]) -> bool:
        """Whether a row is as a patch has left it."""
        found = self._connection.execute(_AT, (number, row[0], row[1])).fetchone()
        return (None if found is None else found[1]) == row[4]

    def _set(self, number: int, tx: int, n: int, key: str | None, before: str | None, after: str | None) -> None:
        if after is None:
            self._connection.execute(_REMOVE, (number, tx, n))
        elif before is not None:
            execute(self._connection, _CHANGE, (after, number, tx, n))
        else:
            is_taken = self._connection.execute(_AT, (number, tx, n)).fetchone() is not None
            if is_taken or (
                key is not None and execute(self._connection, _AT_KEY, (number, key)).fetchone() is not None
            ):
                if number in self._lenient:
                    return
                raise self._conflict(number)
            execute(self._connection, _ADD, (number, tx, n, key, after))
        self._rows.setdefault((number, tx, n), [key, before, after])[2] = after

    def _was_replaced_since(self, number: int) -> bool:
        return any(op in "rl" for _, op in self._later(number))

    def _later(self, number: int) -> Iterator[tuple[int | None, str]]:
        """What later transactions that stay did to a slice, the newest first: the number of the call, and its step."""
        if self._undone is None:
            self._undone = read_undone(self._ask)
        begins = f"[{number},"
        calls = self._connection.execute(_INVERSES)
        for found in (calls, self._connection.execute(_DIRECT, (self._at, begins))):
            for later, call, inverse in found:
                if later <= self._at:
                    break
                if inverse and begins in inverse and later not in self._undone and later not in self._taken:
                    yield from ((call, op) for its_number, op, *_ in json.loads(inverse) if its_number == number)

    def _ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()  # type: ignore[arg-type]

    def _type(self, number: int) -> str:
        found = self._connection.execute(_TYPE, (number,)).fetchone()
        return "" if found is None else found[0]

    def _conflict(self, number: int) -> StateConflict:
        call = next((call for call, _ in self._later(number)), None)
        by = "a call that is to stay" if call is None else f"c{call}, which is to stay; `wink undo c{call}` first"
        return StateConflict(self._type(number), f"was written again since by {by}")
