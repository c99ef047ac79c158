"""Notice what other processes wrote, and to which sessions, so that only those are loaded again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

_LAST: Final = "SELECT max(seq) FROM transactions"
_WRITTEN: Final = """SELECT DISTINCT name FROM transactions JOIN sessions ON sessions.id = session
    WHERE seq > ? AND seq < ? AND deltas > 0"""
_FOR_EVER: Final = 1 << 62


class Others:
    """Counts how often others wrote to each session, and remembers what a session has been told of."""

    __slots__ = ("_all", "_counts", "_last", "_told", "_version")

    def __init__(self) -> None:
        # The last position that is ours or was looked at, and SQLite's own counter of others' commits.
        self._last = 0
        self._version: int | None = None
        self._counts: dict[str, int] = {}
        self._all = 0
        self._told: dict[str, int] = {}

    def opened(self, connection: sqlite3.Connection, *, known: bool) -> None:
        """A new connection's counter begins anew; of another file than before, nothing is known."""
        self._version = None
        if not known:
            self._last = connection.execute(_LAST).fetchone()[0] or 0
            if self._last:
                self.suspect_all()

    def look(self, connection: sqlite3.Connection) -> None:
        """See who wrote since the last look; costs one question when nobody did."""
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            last = connection.execute(_LAST).fetchone()[0] or 0
            self._count(connection, _FOR_EVER)
            self._last, self._version = max(last, self._last), version

    def came_before(self, connection: sqlite3.Connection, position: int) -> range:
        """The positions that others took between our last one and this new one of ours."""
        theirs = range(self._last + 1, position)
        if theirs:
            self._count(connection, position)
            self._last = position - 1
        return theirs

    def note_own(self, position: int) -> None:
        """A transaction of ours was stored at this position."""
        self._last = max(self._last, position)

    def suspect_all(self) -> None:
        """Anything may have been written to any session."""
        self._all += 1

    def is_stale(self, session: str) -> bool:
        """Whether others wrote to the session since it was told."""
        return self._told.get(session, 0) != self._all + self._counts.get(session, 0)

    def told(self, session: str) -> None:
        """The session knows now."""
        self._told[session] = self._all + self._counts.get(session, 0)

    def _count(self, connection: sqlite3.Connection, before: int) -> None:
        for (name,) in connection.execute(_WRITTEN, (self._last, before)).fetchall():
            self._counts[name] = self._counts.get(name, 0) + 1
