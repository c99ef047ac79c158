"""Read a record's entries one after the other, a few at a time, as they were committed to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from wink.errors import RecordCorrupt
from wink.record import CALL_FACTS, as_text, text_of

Ask = Callable[..., list[tuple[Any, ...]]]

_AT_ONCE: Final = 32
_DIGEST: Final = 64
_AFTER_DIGEST: Final = 14
_LEARNED: Final = " +"
_TRANSACTIONS: Final = """SELECT transactions.seq, transactions.id, name, session_id, created_at, committed, changes, reverts,
    changed, chain FROM transactions LEFT JOIN sessions ON sessions.id = session
    WHERE transactions.seq > ? AND transactions.seq <= ? ORDER BY transactions.seq LIMIT ?"""
_CALLS: Final = f"""SELECT seq, tx, chain, {text_of("arguments")}, {text_of("rendered")}, {CALL_FACTS} FROM calls
    WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"""
_LAST: Final = "SELECT ifnull(max(seq), 0), (SELECT ifnull(max(seq), 0) FROM calls) FROM transactions"
_FORGOTTEN: Final = "SELECT value FROM meta WHERE key = 'forgotten'"
_IDLE: Final = """SELECT name FROM sessions WHERE id NOT IN (SELECT session FROM transactions) ORDER BY id LIMIT 1"""


class Mismatch(Exception):
    """Something at a position that no wink has written so."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position, self.reason = position, reason


class Entry(NamedTuple):
    """A transaction as it is stored; `number` is that of its last call, or of the last call before it."""

    position: int
    number: int
    chain: bytes | None
    pieces: list[bytes]
    changed: str | None
    committed: bool


class Start(NamedTuple):
    """What comes before the first entry that is there: its position, its last call, and its hash where it has one."""

    position: int
    number: int
    entry: bytes


def last_of(ask: Ask) -> tuple[int, int]:
    """Position of the last transaction, and number of the last call; zeros where there is no record."""
    for position, number in ask(_LAST):
        return position, number
    return 0, 0


def start_of(ask: Ask) -> Start:
    """What the first entry was committed to, which is nothing unless entries were forgotten."""
    for (value,) in ask(_FORGOTTEN):
        try:
            position, number, *rest = str(value).split()
            return Start(int(position), int(number), bytes.fromhex("".join(rest)))
        except ValueError:
            raise Mismatch(0, "what it says of forgotten entries makes no sense") from None
    return Start(0, 0, b"")


def idle_session(ask: Ask) -> str | None:
    """A session that nothing was ever written to, of which wink makes none."""
    return next((name for (name,) in ask(_IDLE)), None)


def entries(ask: Ask, start: Start, last: tuple[int, int]) -> Iterator[Entry]:
    """The entries after the start, oldest first; raises `Mismatch` where rows do not belong together."""
    calls = _rows(ask, _CALLS, start.number, last[1])
    broken: list[RecordCorrupt] = []

    def following() -> tuple[Any, ...] | None:
        try:
            return next(calls, None)
        except RecordCorrupt as error:  # which is told when its turn comes
            broken.append(error)
            return None

    call = following()
    number, before, is_begun = start.number, start.position, bool(start.entry)
    for position, *facts, changed, chain in _rows(ask, _TRANSACTIONS, start.position, last[0]):
        # Before there was a chain, entries were forgotten without a trace, and a session that was brought here has only its own.
        if position != before + 1 and is_begun:
            raise Mismatch(before + 1, _missing(position - before - 1))
        pieces = [b"", _as_written(changed, position)] if changed else [b""]
        first, mine, rows = number, list[bytes | None](), list[list[Any]]()
        while call is not None and call[1] == position:
            number, _, found, arguments, reply, *told = call
            pieces += _bytes(arguments), _bytes(reply)
            rows.append(told)
            mine.append(found)
            call = following()
        chains = [found for found in (*mine, chain) if found is not None]
        if len(chains) > 1 or (chains and mine and mine[-1] is None):
            raise Mismatch(position, "a call was added to it, or taken out of it")
        if chains and position != before + 1:  # the first that is chained
            raise Mismatch(before + 1, _missing(position - before - 1))
        if chains and number != first + len(mine):
            raise Mismatch(position, "its calls have other numbers")
        pieces[0] = as_text((position, *facts, first, rows)).encode()
        before, is_begun = position, is_begun or bool(chains)
        yield Entry(position, number, chains[0] if chains else None, pieces, changed, bool(facts[4]))
        if broken:
            raise broken[0]
        if call is not None and call[1] <= position:
            raise Mismatch(position + 1, f"c{call[0]} comes next, and belongs to an earlier entry, or to none")
    if call is not None:
        raise Mismatch(before + 1, f"c{call[0]} belongs to no entry")


def digests(changed: str, position: int) -> Iterator[tuple[str, list[Any]]]:
    """Path and row of each change, without digests that were learned later."""
    try:
        names, *rows = json.loads(changed)
        yield from zip(names, rows, strict=False)
    except (ValueError, TypeError, RecursionError):
        raise Mismatch(position, "what it changed makes no sense") from None


def _as_written(changed: str, position: int) -> bytes:
    """What a transaction changed, as it was first written: without the digests that were learned since."""
    if f'{_LEARNED}"' not in changed:
        return _bytes(changed)
    try:
        names, *rows = json.loads(changed)
        for row in rows:
            digest = row[_AFTER_DIGEST]
            if digest is not None and digest.endswith(_LEARNED):
                row[_AFTER_DIGEST] = digest[_DIGEST : -len(_LEARNED)]
        return as_text([names, *rows]).encode()
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise Mismatch(position, "what it changed makes no sense") from None


def _rows(ask: Ask, sql: str, after: int, last: int) -> Iterator[tuple[Any, ...]]:
    most = _AT_ONCE
    while True:
        try:
            rows = ask(sql, after, last, most)
        except RecordCorrupt:
            if most == 1:
                raise
            most = 1  # so that all before the one that cannot be read are looked at
            continue
        yield from rows
        if len(rows) < most:
            return
        after = rows[-1][0]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _missing(count: int) -> str:
    return "it is missing" if count == 1 else f"it is missing, and {count - 1} after it"
