"""Keep the long texts of calls once each, compressed by the hundred, away from the rows that were written while a call waited.

A call's row is written with its texts as they are, which costs least. Later, beside the calls, the long ones move into a
block: some megabytes of texts, compressed as one, because an agent reads and writes the same files again and again. Each is
found by its digest, so that what was read twice is there once.

Rules of this module:

* A text is in its row until the same step of SQLite that names its place takes it out.
* Numbers of texts and blocks are never given twice: the last ones stay.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from wink.record._changes import Ask

if TYPE_CHECKING:
    import sqlite3

    from wink.record._ledger import Ledger

EVERY: Final = 256
"""So many calls are worth a block."""
YOUNGEST: Final = 16
"""The last calls are left as they are: they are asked for the most."""
SHORT: Final = 256
"""A text of fewer bytes stays in its row."""
BLOCK_BYTES: Final = 2 << 20
"""A block has so many bytes of texts, or a single text that is longer. Whoever reads one text unpacks a block, in 3 ms."""
MOST: Final = 1 << 28
"""No block is larger; what claims to be is refused instead of unpacked."""

_LEVEL: Final = 9
_OPEN_BLOCKS: Final = 12
_MOVED_AT_ONCE: Final = 32
"""Calls whose texts move in one step; a call beside it waits for some milliseconds."""
# What is put in the place of a text that was moved.
_EMPTIED: Final = {"arguments": "''", "rendered": "''", "inverse": "NULL"}

_COUNT: Final = """SELECT (SELECT ifnull(max(seq), 0) FROM calls),
    ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'packed'), 0)"""
_NEXT: Final = """SELECT seq, CAST(arguments AS BLOB), CAST(rendered AS BLOB), CAST(inverse AS BLOB) FROM calls
    WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"""
_FIND: Final = "SELECT id FROM texts WHERE digest = ?"
_ADD_BLOCK: Final = "INSERT INTO text_blocks (size, content) VALUES (?, ?)"
_ADD: Final = "INSERT INTO texts (digest, block, at, size) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING"
_MOVE: Final = "UPDATE calls SET {0} = {1}, {0}_text = ? WHERE seq = ? AND {0}_text IS NULL"
_DONE: Final = "INSERT OR REPLACE INTO meta (key, value) VALUES ('packed', ?)"
_PLACE: Final = "SELECT block, at, size FROM texts WHERE id = ?"
_BLOCK: Final = "SELECT content FROM text_blocks WHERE id = ?"


def text_of(column: str, calls: str = "calls") -> str:
    """SQL for a text of a call of the table `calls`, wherever it is: in its row, or moved out of it."""
    return f"iif({calls}.{column}_text IS NULL, {calls}.{column}, CAST(wink_text({calls}.{column}_text) AS TEXT))"


def texts_with(ask: Ask, patterns: Sequence[str]) -> str:
    """The numbers of the moved texts that fit one of the patterns of LIKE, as JSON: each is looked at once, whoever has it."""
    tests = " OR ".join([r"text LIKE ? ESCAPE '\'"] * len(patterns))
    # In the order of their places; and with a limit, which keeps SQLite from asking for a text once for each pattern.
    every = "SELECT id, CAST(wink_text(id) AS TEXT) AS text FROM texts ORDER BY id LIMIT -1"
    rows = ask(f"SELECT id FROM ({every}) WHERE {tests}", *patterns)
    return f"[{','.join(str(number) for (number,) in rows)}]"


def teach(connection: sqlite3.Connection) -> None:
    """Let a connection understand what `text_of` gives."""
    connection.create_function("wink_text", 1, _reader(connection), deterministic=True)


def compressed(content: bytes) -> bytes:
    """A block as it is stored."""
    from wink.record._zstd import zstd

    return zstd.compress(content, _LEVEL)


def unpacked(content: bytes) -> bytes:
    """A block out of the record; raises `ValueError` for what is none, and for one that is too large to be ours."""
    from wink.record._zstd import zstd

    unpack = zstd.ZstdDecompressor()
    try:
        found = unpack.decompress(content, MOST + 1)
    except zstd.ZstdError as error:
        raise ValueError(f"a block of texts cannot be read: {error}") from None
    if not unpack.eof or len(found) > MOST:
        raise ValueError("a block of texts is not whole")
    return found


class Texts:
    """The texts of calls, to be moved out of their rows."""

    __slots__ = ("_ledger",)

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def waiting(self) -> int:
        """Of how many calls texts are still to be moved; costs microseconds."""
        return next((max(last - packed, 0) for last, packed in self._ledger.ask(_COUNT)), 0)

    def pack(self, *, most: int | None = None, leave: int = YOUNGEST) -> int:
        """Move the long texts of the oldest `most` calls, and of all but the last ones; gives of how many calls.

        It runs beside calls and beside others who do the same, and may be killed anywhere. Raises `CommitFailed`.
        """
        with self._ledger.database.hold():
            self._ledger.apply_waiting()  # or what takes it back would come into a row that was done with
            last, at = next(iter(self._ledger.ask(_COUNT)), (0, 0))
        done = 0
        while most is None or done < most:
            room = EVERY if most is None else min(EVERY, most - done)
            calls = self._next(at, last - leave, room)
            if not calls:
                break
            self._store(calls)
            for first in range(0, len(calls), _MOVED_AT_ONCE):
                self._move(calls[first : first + _MOVED_AT_ONCE])
            at, done = calls[-1].number, done + len(calls)
        return done

    def _next(self, after: int, last: int, most: int) -> list[_Call]:
        """The next calls whose texts fit into one block, or a single one."""
        from hashlib import sha256

        calls: list[_Call] = []
        room = BLOCK_BYTES
        while len(calls) < most:
            rows = self._ledger.ask(_NEXT, calls[-1].number if calls else after, last, 1)
            for number, *columns in rows:
                texts = {
                    column: (sha256(text).digest(), text)
                    for column, text in zip(_EMPTIED, columns, strict=True)
                    if text is not None and SHORT <= len(text) <= MOST
                }
                room -= sum(len(text) for _, text in texts.values())
                if room < 0 and calls:
                    return calls
                calls.append(_Call(number, texts))
            if not rows:
                break
        return calls

    def _store(self, calls: Sequence[_Call]) -> None:
        """Store the texts that are not there yet; nobody refers to them, and nothing is lost where it ends here."""
        texts = {digest: text for call in calls for digest, text in call.texts.values()}
        new = {digest: text for digest, text in texts.items() if not self._ledger.ask(_FIND, digest)}
        if not new:
            return
        content = compressed(b"".join(new.values()))  # while others may write

        def work(connection: sqlite3.Connection) -> None:
            add_block(connection, content, [(digest, len(text)) for digest, text in new.items()])

        self._ledger.change(work)

    def _move(self, calls: Sequence[_Call]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            for call in calls:
                for column, (digest, _) in call.texts.items():
                    found = connection.execute(_FIND, (digest,)).fetchone()
                    if found is not None:  # or somebody has just forgotten it, and it stays in its row
                        connection.execute(_MOVE.format(column, _EMPTIED[column]), (found[0], call.number))
            connection.execute(_DONE, (str(calls[-1].number),))

        self._ledger.change(work)


class _Call(NamedTuple):
    number: int
    texts: dict[str, tuple[bytes, bytes]]
    """Digest and text of each column that has a long one."""


def add_block(connection: sqlite3.Connection, content: bytes, texts: Sequence[tuple[bytes, int]]) -> int:
    """Add a block, and the digests and lengths of the texts in it; gives its number."""
    size = sum(length for _, length in texts)
    block, at = connection.execute(_ADD_BLOCK, (size, content)).lastrowid or 0, 0
    for digest, size in texts:
        connection.execute(_ADD, (digest, block, at, size))
        at += size
    return block


def _reader(connection: sqlite3.Connection) -> Callable[[int], bytes]:
    """What gives a text by its number; the last blocks stay unpacked, since whoever reads one text reads the next."""
    blocks: OrderedDict[int, bytes] = OrderedDict()

    def read(number: int) -> bytes:
        place = connection.execute(_PLACE, (number,)).fetchone()
        if place is None:
            raise ValueError(f"text {number} is missing")
        block, at, size = place
        if block not in blocks:
            row = connection.execute(_BLOCK, (block,)).fetchone()
            if row is None:
                raise ValueError(f"block {block} of texts is missing")
            while len(blocks) >= _OPEN_BLOCKS:
                blocks.popitem(last=False)
            blocks[block] = unpacked(row[0])
        blocks.move_to_end(block)
        return blocks[block][at : at + size]

    return read
