"""Keep the live items of a session's slices, by replaying what each call did to them.

A slice may be extended, replaced (its earlier items are deleted in the same transaction) or written by key, where an
item takes the place of the one with its key. So a table holds what the slice holds, in its order, at any length at
the same cost.

What a call writes waits in its row, as JSON: a list for each delta, of the slice's number, what is done, whether it is state
and the latest event alone, the keys or null, and the items' JSON. Later, beside the calls, it is applied to the table, and
what takes it back is known. Whoever reads a slice meanwhile adds what waits.

Rules of this module:

* What waits is applied in the order of the calls, in the same step of SQLite that takes it out of their rows.
* Whatever looks at the table itself, or writes to it, applies first what waits.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from wink.record._binding import as_text, execute, loaded, refuse
from wink.record._changes import Ask

if TYPE_CHECKING:
    import sqlite3

    from wink.session import SliceDelta

Step = tuple[Any, ...]
"""How to take back what was done to one slice: a line of the table in `_inverse`."""

MOST_KEPT: Final = 1 << 26
"""More bytes of a slice that was replaced are not kept to be put back."""
_MOST_PLAIN: Final = 1 << 20
# Results of calls, such as the text of a file that was read, replace one another all the time.
_MOST_OF_LATEST: Final = 1 << 14

_TAKE_ALL: Final = "DELETE FROM slice_items WHERE slice = ? RETURNING tx, n, key, value"
# A key that is there keeps its place, as in a dict.
_PUT_BY_KEY: Final = """INSERT INTO slice_items (slice, tx, n, key, value)
    VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))
    ON CONFLICT (slice, key) WHERE key IS NOT NULL DO UPDATE SET value = excluded.value"""
_PUT_NEW: Final = """INSERT INTO slice_items (slice, tx, n, key, value) VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))
    ON CONFLICT (slice, key) WHERE key IS NOT NULL DO NOTHING"""
_AT_KEY: Final = "SELECT value FROM slice_items WHERE slice = ? AND key = CAST(? AS TEXT)"
_LOAD: Final = "SELECT key, value FROM slice_items WHERE slice = ? ORDER BY slice, tx, n"
APPLIED: Final = "ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'applied'), 0)"
_WAITING: Final = f"SELECT written FROM calls WHERE seq > {APPLIED} AND written IS NOT NULL ORDER BY seq"
_NEXT: Final = """SELECT seq, tx, written FROM calls WHERE seq > ? AND written IS NOT NULL ORDER BY seq LIMIT 1"""
_TAKE: Final = "UPDATE calls SET written = NULL, inverse = ? WHERE seq = ?"
_DONE: Final = "INSERT OR REPLACE INTO meta (key, value) SELECT 'applied', ifnull(?, ifnull(max(seq), 0)) FROM calls"

LONGEST_WAITING: Final = 1 << 20
"""What a call wrote does not wait where it has more characters."""

Delta = tuple[int, str, bool, bool, "Sequence[str | None] | None", Sequence[str]]
"""What is done to one slice: its number, `op`, whether it is state, whether it is the latest event, keys, items."""
_PARTS: Final = 6
_OPS: Final = ("extend", "replace", "upsert")

Encoded = tuple["SliceDelta", tuple[str, ...]]
"""A delta and the JSON of its items."""


def checksum(text: str) -> int:
    """By which an item is known again."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def kept(rows: Sequence[Any], *, is_latest: bool) -> Sequence[Any] | str | None:
    """The rows as they are stored once more, if they are few enough for that."""
    size = sum(len(row[3]) for row in rows)
    if size > (_MOST_OF_LATEST if is_latest else MOST_KEPT):
        return None
    return rows if size <= _MOST_PLAIN else packed(rows)


def packed(rows: Sequence[Any]) -> str:
    """Many rows as short text."""
    return base64.b85encode(zlib.compress(as_text(rows).encode(), 1)).decode("ascii")


def unpacked(rows: Sequence[Any] | str | None) -> Sequence[Any] | None:
    """The rows that `kept` gave."""
    return json.loads(zlib.decompress(base64.b85decode(rows))) if isinstance(rows, str) else rows


def encode(deltas: Sequence[SliceDelta]) -> tuple[Encoded, ...]:
    """The JSON of every item; raises `SerdeError` for what JSON cannot hold."""
    if not deltas:
        return ()
    import wink.serde as serde

    return tuple([(delta, tuple([serde.dumps(item) for item in delta.items])) for delta in deltas])


def waiting(ask: Ask) -> dict[int, list[Delta]]:
    """What waits to be applied, by the slice's number, in order."""
    found: dict[int, list[Delta]] = {}
    for (text,) in ask(_WAITING):
        for delta in _loaded(text):
            found.setdefault(delta[0], []).append(delta)
    return found


def read_items(ask: Ask, number: int, waiting: Sequence[Delta]) -> tuple[tuple[str | None, str], ...]:
    """Key and JSON of each item of a slice in order, with what waits for it."""
    rows = ask(_LOAD, number)
    if not waiting:
        return tuple(cast("list[tuple[str | None, str]]", rows))
    items: dict[object, tuple[str | None, str]] = {}

    def add(pairs: Iterable[tuple[str | None, str]]) -> None:
        for key, text in pairs:
            items[object() if key is None else key] = key, text

    add(cast("list[tuple[str | None, str]]", rows))
    for _, op, _, _, keys, texts in waiting:
        if op == "replace":
            items.clear()
        add(zip([None] * len(texts) if keys is None else keys, texts, strict=True))
    return tuple(items.values())


def apply_waiting(connection: sqlite3.Connection, most: int = 1 << 62) -> bool:
    """Apply what waits with up to `most` calls, inside a transaction of the database; whether there may be more."""
    (at,) = connection.execute(f"SELECT {APPLIED}").fetchone()
    for _ in range(most):
        row = connection.execute(_NEXT, (at,)).fetchone()
        if row is None:
            connection.execute(_DONE, (None,))
            return False
        at, tx, text = row
        connection.execute(_TAKE, (apply(connection, tx, _loaded(text)), at))
    connection.execute(_DONE, (str(at),))
    return True


def apply(connection: sqlite3.Connection, tx: int, deltas: Sequence[Delta]) -> str | None:
    """Do to the table what a call did to its slices; gives what takes it back, see `_inverse`."""
    n = 0
    inverse: list[Step] = []
    for number, op, is_state, is_latest, keys, texts in deltas:
        first = n
        replaced = connection.execute(_TAKE_ALL, (number,)).fetchall() if op == "replace" else []
        if keys is not None and op != "replace":
            before: list[tuple[str | None, str | None, int]] = []
            for key, text in zip(keys, texts, strict=True):
                before.append((key, _put_by_key(connection, number, tx, n, key, text), checksum(text)))
                n += 1
            if is_state:
                inverse.append((number, "u", before))
            continue
        for key, text in zip([None] * len(texts) if keys is None else keys, texts, strict=True):
            execute(connection, _PUT_BY_KEY, (number, tx, n, key, text))
            n += 1
        if is_state and op == "replace":
            kind = "l" if is_latest else "r"
            sum_of_after = checksum("".join(texts))
            inverse.append((number, kind, first, n - first, sum_of_after, kept(replaced, is_latest=is_latest)))
        elif is_state:
            inverse.append((number, "e", first, n - first))
    return as_text(inverse) if inverse else None


def _put_by_key(connection: sqlite3.Connection, number: int, tx: int, n: int, key: str | None, text: str) -> str | None:
    """Put an item under its key; gives the one that it replaced."""
    if execute(connection, _PUT_NEW, (number, tx, n, key, text)).rowcount:
        return None
    before = execute(connection, _AT_KEY, (number, key)).fetchone()[0]
    execute(connection, _PUT_BY_KEY, (number, tx, n, key, text))
    return before


def _loaded(text: object) -> list[Delta]:
    rows = loaded(text)
    for row in rows:
        if len(row) != _PARTS or not _is_ours(*row):
            refuse()
    return cast("list[Delta]", rows)


def _is_ours(number: object, op: object, _state: object, _latest: object, keys: object, texts: object) -> bool:
    if not (isinstance(number, int) and op in _OPS and _are(texts, str)):
        return False
    return keys is None or (_are(keys, str | None) and len(cast("list[object]", keys)) == len(cast("list[str]", texts)))


def _are(values: object, kinds: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kinds) for value in cast("list[object]", values))
