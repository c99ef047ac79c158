"""Keep which calls that act on the outside world were begun and are not known to have ended."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass
from wink.record._binding import execute
from wink.record._calls import microseconds
from wink.record._events import write_event

if TYPE_CHECKING:
    import sqlite3

    from wink.transactions import CommitEntry

_START: Final = """INSERT OR REPLACE INTO started (id, session, run, call_id, tool, arguments, at)
    VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?)"""
STARTED: Final = "SELECT id, session, run, call_id, tool, arguments, at FROM started ORDER BY at"
_STARTED_KEPT: Final = 200
_TRIM_STARTED: Final = "DELETE FROM started WHERE id NOT IN (SELECT id FROM started ORDER BY at DESC LIMIT ?)"


@dataclass(frozen=True, slots=True)
class Started:
    """A call that acts on the outside world, was begun, and is not known to have ended."""

    id: str
    session: str
    run: str
    call_id: str
    tool: str
    arguments: str
    at: datetime

    def entry(self) -> CommitEntry:
        """The call as the log has it, of which nobody knows what it did."""
        from wink.transactions import CommitEntry

        text = (
            f"the outcome of {self.tool} is not known: the process ended while it ran, and it was not run again; "
            "find out what it did before you call it again"
        )
        return CommitEntry(
            transaction_id=self.id,
            session=self.session,
            call_id=self.call_id,
            tool=self.tool,
            prompt="",
            arguments=self.arguments,
            outcome="unknown",
            rendered=text,
            started_at=self.at,
            duration=timedelta(0),
            decisions=(),
            deltas=(),
            changes=(),
            effects="external",
            run=self.run,
        )


def write_start(connection: sqlite3.Connection, entry: CommitEntry) -> None:
    """Note that a call is about to act on the outside world."""
    at = microseconds(entry.started_at)
    values = (entry.transaction_id, entry.session, entry.run, entry.call_id, entry.tool, entry.arguments, at)
    execute(connection, _START, values)
    connection.execute(_TRIM_STARTED, (_STARTED_KEPT,))
    told = {"tool": entry.tool, "call_id": entry.call_id, "run": entry.run or None}
    write_event(connection, "call-started", entry.started_at, entry.session, 0, **told)
