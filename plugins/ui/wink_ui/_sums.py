"""Keep what all calls come to in calls and time, reading only what has come since it was last asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from wink.limits import TokenUsage
from wink.record import Queries, RunRow, Sum


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
            for new in queries.sums(self._last):
                key = new.session, new.tool, new.word
                self._rows[key] = self._rows[key].plus(new) if key in self._rows else new
                self._last = max(self._last, new.last)
            return tuple(self._rows.values())


def tokens_of(runs: Iterable[RunRow]) -> TokenUsage:
    """What several runs cost together."""
    return sum((row.usage for row in runs), TokenUsage())
