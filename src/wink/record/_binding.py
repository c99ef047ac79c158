"""Hand values to SQLite that it could not take as they are, and get them back: JSON, and text with lone surrogates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Never, cast

from wink.errors import RecordCorrupt

if TYPE_CHECKING:
    import sqlite3

_MOST: Final = 1 << 28
"""No JSON value of the record has more characters; one that has is refused instead of parsed."""

_encoder: Final = json.JSONEncoder(separators=(",", ":"))
_make: Final = getattr(json.encoder, "c_make_encoder", None)
_chunks: Final = _make and _make(None, None, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True)


def as_text(value: object) -> str:
    """A value of plain ones as JSON in ASCII; without the encoder that `JSONEncoder.encode` makes anew for each."""
    return "".join(_chunks(value, 0)) if _chunks else _encoder.encode(value)


def execute(connection: sqlite3.Connection, sql: str, values: Sequence[object]) -> sqlite3.Cursor:
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


def decoded(data: bytes) -> str:
    """Text as SQLite has it; to be a connection's `text_factory`."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogatepass")


def loaded(text: object) -> list[list[Any]]:
    """The lists in a JSON value of the record, which may have been put there by anybody; raises `RecordCorrupt`."""
    try:
        if isinstance(text, str) and len(text) <= _MOST:
            found = json.loads(text)
            if isinstance(found, list) and all(isinstance(row, list) for row in cast("list[object]", found)):
                return cast("list[list[Any]]", found)
    except (ValueError, RecursionError):
        pass
    return refuse()


def refuse() -> Never:
    """Raise that a value of the record is not what wink writes."""
    raise RecordCorrupt("record.db", "what a call did in it is not what wink writes")
