"""Hand text to SQLite that it could not take as it is: names and output may hold lone surrogates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


def run(connection: sqlite3.Connection, sql: str, values: Sequence[object]) -> sqlite3.Cursor:
    """Execute `sql`, whose text parameters stand as `CAST(? AS TEXT)`.

    SQLite stores any bytes as text, only Python's binding insists on UTF-8; a cast of bytes gets around it, and reading
    undoes it. Almost no text needs this, so it is only tried when the plain way failed.
    """
    try:
        return connection.execute(sql, values)  # type: ignore[arg-type]
    except UnicodeEncodeError:
        return connection.execute(sql, [_bindable(value) for value in values])  # type: ignore[arg-type]


def _bindable(value: object) -> object:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value
