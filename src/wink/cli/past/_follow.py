"""Follow what happens on a workspace: look when SQLite says that something was stored, without holding anybody up."""

from __future__ import annotations

import json
import re
import select
import sys
from collections.abc import Iterable, Iterator
from typing import Final

import click

from wink.cli._wrong import wrong
from wink.cli.past._event_rows import row_of
from wink.errors import RecordUnavailable
from wink.record import CallView, Noted, Place, Record

_CALL: Final = re.compile(r"c([0-9]{1,15})")
_BUSY, _IDLE = 50, 250
"""Milliseconds between two looks, soon after something has happened and otherwise."""
_PATIENCE: Final = 40
"""So many times in a row a record that cannot be read just now is tried again."""


def place_named(record: Record, text: str) -> Place:
    """Where to begin: `beginning`, `now`, after a call (`c12`), or a `place` of an earlier line (`12.3`)."""
    last = record.queries.last_place()
    if text == "beginning":
        return Place()
    if text == "now":
        return last
    call = _CALL.fullmatch(text)
    try:
        place = record.queries.place_of(int(call[1])) if call else Place.read(text)
    except ValueError:
        raise wrong(
            f"{text!r} is no place to begin; give beginning, now, a call such as c12, or a place such as 12.3"
        ) from None
    if place.call > last.call or place.event > last.event:
        raise wrong(f"{text!r} is after the end of the stream, {last}; it may be of another workspace")
    return place


def follow(record: Record, since: Place, session: str | None) -> Iterator[tuple[Place, CallView | Noted] | None]:
    """What there is after a place, and then what comes; None now and then, while nothing does. Ends with the reader.

    It works for a workspace in which nothing has happened yet, too, and goes on with a record that has taken the place of
    another.
    """
    gone = _reader()
    seen: object = None
    where: tuple[object, ...] = ()
    idle = failures = 0
    while True:
        try:
            version = record.queries.version()
            if version != seen:
                if (where and version[:1] not in ((), where)) or record.queries.last_place() < since:
                    since = Place()  # another record
                where = version[:1] or where
                for place, one in record.queries.whole_stream(since, session=session):
                    since = place
                    yield place, one
                    idle = 0
            seen, failures = version, 0
        except RecordUnavailable:
            failures += 1
            if failures > _PATIENCE:
                raise
        yield None
        idle += 1
        if gone.poll(_BUSY if idle < 40 else _IDLE):
            return


def echo_rows(found: Iterable[tuple[Place, CallView | Noted] | None]) -> None:
    """Print what is found, for machines, each line at once."""
    for one in found:
        if one is not None:
            click.echo(json.dumps(row_of(*one)))
            sys.stdout.flush()


def _reader() -> select.poll:
    """What says that nobody reads standard output any more: it waits meanwhile, and is no error before."""
    gone = select.poll()
    gone.register(sys.__stdout__.fileno() if sys.__stdout__ is not None else 1, 0)
    return gone
