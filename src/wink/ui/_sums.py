"""Keep what all calls come to in calls and time, reading only what has come since it was last asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

from wink.limits import TokenUsage
from wink.record import RunRow
from wink.record._browsing import Browsing, Sum


class Sums:
    """The sums of one record; may be asked from any thread."""

    def __init__(self, browsing: Callable[[], Browsing]) -> None:
        self._browsing = browsing
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str, str], Sum] = {}
        self._last = 0

    def rows(self) -> tuple[Sum, ...]:
        """What calls come to, by session, tool and how they ended."""
        with self._lock:
            browsing = self._browsing()
            if browsing.marks()[0] < self._last:  # another record lies there now
                self._rows, self._last = {}, 0
            for new in browsing.sums(self._last):
                key = new.session, new.tool, new.ending
                known = self._rows.get(key)
                if known is not None:
                    calls, took = known.calls + new.calls, known.duration + new.duration
                    self._rows[key] = replace(new, calls=calls, duration=took, first_at=known.first_at)
                else:
                    self._rows[key] = new
                self._last = max(self._last, new.last)
            return tuple(self._rows.values())


def tokens_of(runs: Iterable[RunRow]) -> TokenUsage:
    """What several runs cost together."""
    return sum((row.usage for row in runs), TokenUsage())
