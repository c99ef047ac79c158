"""Keep what all calls come to in calls and time, reading only what has come since it was last asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from wink.limits import TokenUsage
from wink.record import FROM_CALLS, Queries, RunRow, moment, word_of

_COUNTS: Final = f"""SELECT name, tool, outcome, committed, count(*), sum(duration), max(calls.seq), min(started_at), max(started_at)
    {FROM_CALLS} WHERE calls.seq > ? GROUP BY 1, 2, 3, 4"""


@dataclass(frozen=True, slots=True)
class Sum:
    """What the calls of one session to one tool that ended alike come to; times from the first to the last beginning."""

    session: str
    tool: str
    word: str
    calls: int
    duration: timedelta
    last: int
    first_at: datetime
    last_at: datetime

    def plus(self, other: Sum) -> Sum:
        """Both together, of the same session, tool and word."""
        calls, took, last = self.calls + other.calls, self.duration + other.duration, max(self.last, other.last)
        first_at, last_at = min(self.first_at, other.first_at), max(self.last_at, other.last_at)
        return replace(self, calls=calls, duration=took, last=last, first_at=first_at, last_at=last_at)


class Sums:
    """The sums of one record; may be asked from any thread."""

    def __init__(self, queries: Callable[[], Queries]) -> None:
        self._queries = queries
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str, str], Sum] = {}
        self._last = 0

    def rows(self) -> tuple[Sum, ...]:
        """What calls come to, by session, tool and how they ended."""
        with self._lock:
            queries = self._queries()
            if queries.marks()[0] < self._last:  # another record lies there now
                self._rows, self._last = {}, 0
            for new in sums(queries, self._last):
                key = new.session, new.tool, new.word
                self._rows[key] = self._rows[key].plus(new) if key in self._rows else new
                self._last = max(self._last, new.last)
            return tuple(self._rows.values())


def sums(queries: Queries, after: int = 0) -> tuple[Sum, ...]:
    """What the calls after a position come to, by session, tool and how they ended; whether undone is left out."""
    found: dict[tuple[str, str, str], Sum] = {}
    with queries.reading() as ask:
        rows = ask(_COUNTS, after)
    for name, tool, outcome, committed, calls, took, last, first_at, last_at in rows:
        key = name, tool, word_of(outcome, committed=committed, undone=False)
        one = Sum(*key, calls, timedelta(microseconds=took), last, moment(first_at), moment(last_at))
        found[key] = one.plus(found[key]) if key in found else one
    return tuple(found.values())


def tokens_of(runs: Iterable[RunRow]) -> TokenUsage:
    """What several runs cost together."""
    return sum((row.usage for row in runs), TokenUsage())
