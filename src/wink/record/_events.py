"""Keep what happens beside calls in an order of its own, so that whoever follows a workspace can go on where they were.

Calls are not written down once more: an event knows the last call before it, and the two are put in one order when they are
read. So a place in the stream is two numbers, and a call costs nothing extra.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from wink.dataclass import dataclass
from wink.record._binding import execute
from wink.record._calls import microseconds, moment, read_calls
from wink.record._changes import Ask
from wink.record._view import CallView

if TYPE_CHECKING:
    import sqlite3

KEPT: Final = 50_000
"""So many events are kept, beside the calls."""

_INSERT: Final = """INSERT INTO events (position, at, kind, session, run, data)
    VALUES ((SELECT ifnull(max(seq), 0) FROM calls), ?, ?, CAST(? AS TEXT), ?, CAST(? AS TEXT))"""
_TRIM: Final = "DELETE FROM events WHERE seq <= ? - ?"
_AFTER: Final = """SELECT seq, position, at, kind, session, run, data FROM events
    WHERE seq > ? AND ifnull(session = ?, 1) ORDER BY seq LIMIT ?"""
LAST: Final = "SELECT (SELECT ifnull(max(seq), 0) FROM calls), (SELECT ifnull(max(seq), 0) FROM events)"
"""Call and event of the last place."""
BEFORE: Final = "SELECT ? AS call, ifnull(max(seq), 0) FROM events WHERE position < ?"
"""Call and event of the place right after a call: what is said to have happened before it is before this place, too."""
TURN: Final = "turn-begun"
"""The kind of event that a turn of an attached agent begins with; `data` is what a `Turn` has."""
_TURNS: Final = (
    f"SELECT seq, position, at, kind, session, run, data FROM events WHERE kind = '{TURN}' ORDER BY seq DESC LIMIT ?"
)
_PLACE: Final = re.compile(r"([0-9]{1,15})\.([0-9]{1,15})")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in the stream: the last call and the last other event before it.

    >>> str(Place(12, 3)), Place.read("12.3")
    ('12.3', Place(call=12, event=3))
    """

    call: int = 0
    event: int = 0

    def __str__(self) -> str:
        return f"{self.call}.{self.event}"

    @classmethod
    def read(cls, text: str) -> Self:
        """The place that `str` wrote; raises `ValueError` for anything else."""
        found = _PLACE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no place in the stream, such as '12.3'")
        return cls(int(found[1]), int(found[2]))


BEGINNING: Final = Place()
"""Before everything."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that happened beside calls; `run` is 0 where it belongs to none, `data` what else there is to say."""

    number: int
    position: int
    at: datetime
    kind: str
    session: str
    run: int
    data: Mapping[str, Any]


class Turn(NamedTuple):
    """What a person asked an agent for, whose calls have `run` as their run; `prompt` is its first line.

    `conversation` is the agent's own id of what it belongs to, and `mark` that of the place in it; empty where it tells none.
    """

    number: int
    session: str
    agent: str
    prompt: str
    at: datetime
    conversation: str = ""
    mark: str = ""

    @property
    def run(self) -> str:
        """What its calls belong to."""
        return f"t{self.number}"


def read_turns(ask: Ask, limit: int) -> tuple[Turn, ...]:
    """The last turns, newest first."""
    found = [_noted(*row) for row in ask(_TURNS, limit)]
    return tuple(
        Turn(
            int(one.data["turn"]),
            one.session,
            str(one.data["agent"]),
            str(one.data["prompt"]),
            one.at,
            str(one.data.get("conversation", "")),
            str(one.data.get("mark", "")),
        )
        for one in found
    )


def write_event(
    connection: sqlite3.Connection, kind: str, at: datetime, session: str, run_number: int, **data: object
) -> None:
    """Add an event in the transaction that it belongs to; its texts are masked already."""
    values = (microseconds(at), kind, session, run_number, json.dumps(data, separators=(",", ":")))
    number = execute(connection, _INSERT, values).lastrowid or 0
    connection.execute(_TRIM, (number, KEPT))


def read_stream(ask: Ask, since: Place, session: str | None, limit: int) -> tuple[tuple[Place, CallView | Noted], ...]:
    """What came after a place, oldest first, each with the place to go on from."""
    calls = read_calls(ask, session=session, after=since.call, limit=limit)
    noted = [_noted(*row) for row in ask(_AFTER, since.event, session, limit)]
    found: list[tuple[Place, CallView | Noted]] = []
    at = 0
    for event in noted:
        while at < len(calls) and calls[at].position <= event.position:
            since = Place(calls[at].position, since.event)
            found.append((since, calls[at]))
            at += 1
        if at == len(calls) == limit and calls[-1].position < event.position:
            return tuple(found[:limit])  # there may be more calls before it
        since = Place(since.call, event.number)
        found.append((since, event))
    if len(noted) < limit:
        for call in calls[at:]:
            since = Place(call.position, since.event)
            found.append((since, call))
    return tuple(found[:limit])


def _noted(number: int, position: int, at: int, kind: str, session: str, run_number: int, data: str) -> Noted:
    return Noted(number, position, moment(at), kind, session, run_number, json.loads(data))
