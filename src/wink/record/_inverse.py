"""Take back what transactions did to slices, row by row, as long as nobody has changed those rows since.

A transaction is stored with steps that take it back:

=================================  ==================================================================================
`[slice, "e", first, count]`       it added rows; they are `count` from `first` on among its own
`[slice, "u", [[key, before,       it put items under keys: `before` is the item that was there, or null; `sum` is the
sum], …]]`                         checksum of the item that it put
`[slice, "r", first, count, sum,   it replaced everything by rows of its own; `rows` are `[tx, n, key, value]`, or null
rows]`                             where that was too much to keep
`[slice, "l", …]`                  the same by its last event alone: what was put in its place later is no conflict, and
                                   without `rows` nothing comes back in its place
`[slice, "p", [[tx, n, key,        it changed single rows from `before` to `after`, of which either may be null; this is
before, after], …]]`               how taking back is itself stored
`[slice, "q", …]`                  the same of a slice where later items are no conflict
=================================  ==================================================================================

What a session knows of files is judged by their content whenever it is used; so a later stamp stays, and is no conflict.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, Final

from wink.errors import StateConflict
from wink.filesystem import Stamp
from wink.record._binding import run

if TYPE_CHECKING:
    import sqlite3

Step = tuple[Any, ...]
"""One line of the table above."""

_MOST_KEPT: Final = 1 << 20
# Results of calls, such as the text of a file that was read, replace one another all the time.
_MOST_OF_LATEST: Final = 1 << 14
# What was seen of files, and what policies remember: later calls add to both, which must not keep one from being undone.
_LENIENT: Final = frozenset((f"{Stamp.__module__}:{Stamp.__qualname__}", "wink.policies._state:PolicyState"))

_OWN: Final = "SELECT n, key, value FROM slice_items WHERE slice = ? AND tx = ? AND n >= ? AND n < ?"
_AT: Final = "SELECT key, value FROM slice_items WHERE slice = ? AND tx = ? AND n = ?"
_AT_KEY: Final = "SELECT tx, n, value FROM slice_items WHERE slice = ? AND key = CAST(? AS TEXT)"
_REMOVE: Final = "DELETE FROM slice_items WHERE slice = ? AND tx = ? AND n = ?"
_CHANGE: Final = "UPDATE slice_items SET value = CAST(? AS TEXT) WHERE slice = ? AND tx = ? AND n = ?"
_ADD: Final = """INSERT INTO slice_items (slice, tx, n, key, value)
    VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))"""
_TYPE: Final = "SELECT type FROM slices WHERE id = ?"

as_text: Final = json.JSONEncoder(separators=(",", ":")).encode


def checksum(text: str) -> int:
    """By which an item is known again."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def kept(rows: Sequence[Any], *, is_latest: bool) -> Sequence[Any] | None:
    """The rows, if they are few enough to be stored once more."""
    return rows if sum(len(row[3]) for row in rows) <= (_MOST_OF_LATEST if is_latest else _MOST_KEPT) else None


class TakingBack:
    """Takes transactions back, the newest first, inside a transaction of the database; `only` what is of these types."""

    def __init__(self, connection: sqlite3.Connection, only: Container[str] | None = None) -> None:
        self._connection, self._only = connection, only
        # Of each row that was touched: key, what it was at first, and what it is now.
        self._rows: dict[tuple[int, int, int], list[str | None]] = {}
        # Slices in which what came later stays, and is no conflict.
        self._lenient: set[int] = set()

    def take_back(self, tx: int, inverse: str) -> None:
        """Take back one transaction; raises `StateConflict`."""
        for number, op, *rest in reversed(json.loads(inverse)):
            if self._only is not None and self._type(number) not in self._only:
                continue
            if op in "lq" or self._type(number) in _LENIENT:
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

    def _put(self, number: int, tx: int, items: Sequence[Any]) -> None:
        del tx
        for key, before, sum_of_after in reversed(items):
            row = run(self._connection, _AT_KEY, (number, key)).fetchone()
            if row is None or checksum(row[2]) != sum_of_after:
                if number in self._lenient:
                    continue
                raise self._conflict(number)
            self._set(number, row[0], row[1], key, row[2], before)

    def _replaced(
        self, number: int, tx: int, first: int, count: int, sum_of_after: int, before: Sequence[Any] | None
    ) -> None:
        rows = self._own(number, tx, first, count)
        is_as_left = len(rows) == count and checksum("".join(row[2] for row in rows)) == sum_of_after
        if not is_as_left or (before is None and number not in self._lenient):
            if number in self._lenient:
                return
            raise self._conflict(number)
        for n, key, value in rows:
            self._set(number, tx, n, key, value, None)
        for its_tx, n, key, value in before or ():
            self._set(number, its_tx, n, key, None, value)

    def _patched(self, number: int, tx: int, rows: Sequence[Any]) -> None:
        del tx
        # First what leaves, then what comes: an item may have moved to another row under the same key.
        for its_tx, n, key, before, after in sorted(rows, key=lambda row: row[4] is None):
            found = self._connection.execute(_AT, (number, its_tx, n)).fetchone()
            if (None if found is None else found[1]) != after:
                if number in self._lenient:
                    continue
                raise self._conflict(number)
            self._set(number, its_tx, n, key, after, before)

    # -- steps

    def _own(self, number: int, tx: int, first: int, count: int) -> list[Any]:
        return self._connection.execute(_OWN, (number, tx, first, first + count)).fetchall()

    def _set(self, number: int, tx: int, n: int, key: str | None, before: str | None, after: str | None) -> None:
        if after is None:
            self._connection.execute(_REMOVE, (number, tx, n))
        elif before is not None:
            run(self._connection, _CHANGE, (after, number, tx, n))
        else:
            if key is not None and run(self._connection, _AT_KEY, (number, key)).fetchone() is not None:
                if number in self._lenient:
                    return
                raise self._conflict(number)
            run(self._connection, _ADD, (number, tx, n, key, after))
        self._rows.setdefault((number, tx, n), [key, before, after])[2] = after

    def _type(self, number: int) -> str:
        found = self._connection.execute(_TYPE, (number,)).fetchone()
        return "" if found is None else found[0]

    def _conflict(self, number: int) -> StateConflict:
        return StateConflict(self._type(number))
