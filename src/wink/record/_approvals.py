"""Keep the calls that people were asked about, and what they answered, until a call has used the answer.

Rules of this module:

* An answer is used by the SQLite transaction that stores its call, so it is used once, whatever dies when. A call that
  leaves traces outside of that transaction claims the answer before it begins; if it never ends, the answer is gone.
* A number is never given to another request. A request whose circumstances changed is replaced by one with a new number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from wink.errors import CommitFailed
from wink.record._binding import execute
from wink.record._calls import microseconds, moment
from wink.record._events import write_event
from wink.record.masking import MASK
from wink.session import ApprovalRow, ApprovalRows, ApprovalStore

if TYPE_CHECKING:
    import sqlite3

    from wink.record._ledger import Ledger
    from wink.transactions import CommitEntry

T = TypeVar("T")

_TEXTS: Final = ("arguments", "policies", "facts", "note", "edited", "edited_facts")
"""What may hold secrets."""
_LOST: Final = '[["record","what a person put in the place of the arguments is gone"]]'
"""No policy asks so, and an answer to this is an answer to nothing that is asked."""

LASTS: Final = timedelta(days=30)
"""A request, and an answer that no call has used, are good for so long."""

_COLUMNS: Final = """id, session, run, call_id, tool, effects, arguments, policies, facts, fingerprint, state, at,
    answered_at, note, edited, edited_facts, instead"""
_INSERT: Final = """INSERT INTO approvals (session, run, call_id, tool, effects, arguments, policies, facts, fingerprint,
    state, at, note) VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, CAST(? AS TEXT),
    CAST(? AS TEXT), CAST(? AS TEXT), ?, 'pending', ?, '')"""
_PUT: Final = """UPDATE approvals SET run = CAST(? AS TEXT), call_id = CAST(? AS TEXT), state = ?, answered_at = ?,
    note = CAST(? AS TEXT), edited = CAST(? AS TEXT), edited_facts = CAST(? AS TEXT), facts = CAST(? AS TEXT),
    fingerprint = ?, instead = ? WHERE id = ?"""
_ONE: Final = f"SELECT {_COLUMNS} FROM approvals WHERE id = ?"
_USE: Final = """UPDATE approvals SET state = 'used' WHERE id = ?
    AND (state = 'claimed' OR (state = 'approved' AND ?) OR (state = 'denied' AND ?))"""


class ApprovalTable(ApprovalStore):
    """The requests of one workspace; all methods raise `RecordError` where they cannot read, `CommitFailed` where not write."""

    __slots__ = ("_ledger",)

    is_durable = True

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def rows(
        self, *, session: str | None = None, states: tuple[str, ...] = (), tool: str | None = None
    ) -> tuple[ApprovalRow, ...]:
        """Requests in these states, or in any, oldest first; what is too old to count is left out where states are given."""
        since = self._oldest() if states else 0
        marks = ", ".join("?" * len(states))
        where = f"AND state IN ({marks})" if states else ""
        sql = f"""SELECT {_COLUMNS} FROM approvals WHERE ifnull(session = ?, 1) AND ifnull(tool = ?, 1) AND at >= ? {where}
            ORDER BY id"""
        return tuple(self.exact(_row(found)) for found in self._ledger.ask(sql, session, tool, since, *states))

    def find(self, number: int) -> ApprovalRow | None:
        """One request by its number."""
        found = self._ledger.ask(_ONE, number)
        return self.exact(_row(found[0])) if found else None

    def change(self, work: Callable[[ApprovalRows], T]) -> T:
        """Do something with the rows in a transaction of the record."""
        with self._ledger.database.hold():
            return self._ledger.change(lambda connection: work(_Rows(self, connection)))

    def now(self) -> datetime:
        """The time of what is stored."""
        return self._ledger.now()

    def ask(self, row: ApprovalRow, replaces: tuple[int, ...] = ()) -> ApprovalRow:
        """Store a request, and that it takes the place of others; gives it with its number and time."""
        asked = super().ask(row, replaces)
        self._ledger.sealed.drop_unless(lambda kind, of: kind != "approval" or of > asked.number - self.KEPT)
        return asked

    def position(self) -> int:
        """The position of the last committed transaction that changed files, 0 while there is none."""
        sql = """SELECT seq FROM transactions NOT INDEXED WHERE changes > 0 AND committed = 1
            ORDER BY seq DESC LIMIT 1"""
        return next((seq for (seq,) in self._ledger.ask(sql)), 0)

    def place(self) -> str:
        """Which file the record is: what was answered in another one, and copied here, counts for nothing."""
        with self._ledger.database.hold():
            if self._ledger.reach() is None:
                self._ledger.database.writable()  # before anything can be asked there has to be one
            return self._ledger.database.place

    def masked(self, row: ApprovalRow) -> ApprovalRow:
        """The row as the record keeps it. Requests are found by their fingerprint, which stands for what they were."""
        masking = self._ledger.masking
        return replace(row, **{name: text and masking.json(text) for name, text in _texts(row).items()})

    def hold(self, row: ApprovalRow, kept: ApprovalRow) -> None:
        """Keep aside what the record has masked, or what looks so: the answer is for exactly this call."""
        if kept != row or _looks_masked(row):
            self._ledger.sealed.keep(f"approval-{row.number}", row.fingerprint, _texts(row))

    def exact(self, row: ApprovalRow) -> ApprovalRow:
        """The row as it was asked and answered; where that is gone, the answer stands for nothing, and it is asked anew."""
        if not _looks_masked(row):
            return row
        sealed = self._ledger.sealed.find(f"approval-{row.number}", row.fingerprint)
        if sealed is not None:
            return replace(row, **{name: sealed.get(name) for name in _TEXTS})
        # Other arguments than those that are asked about cannot be told from what they were.
        return row if row.edited is None or MASK not in row.edited else replace(row, policies=_LOST)

    def _oldest(self) -> int:
        return microseconds(self._ledger.now() - LASTS)


class _Rows:
    """The table in one transaction of SQLite."""

    __slots__ = ("_connection", "_table")

    def __init__(self, table: ApprovalTable, connection: sqlite3.Connection) -> None:
        self._table, self._connection = table, connection

    def get(self, number: int) -> ApprovalRow | None:
        """One request."""
        found = self._connection.execute(_ONE, (number,)).fetchone()
        return None if found is None else self._table.exact(_row(found))

    def add(self, row: ApprovalRow) -> ApprovalRow:
        """Store a request, masked, and what it was aside."""
        kept, now = self._table.masked(row), self._table.now()
        values = (row.session, row.run, row.call_id, row.tool, row.effects, kept.arguments, kept.policies, kept.facts)
        done = execute(self._connection, _INSERT, (*values, row.fingerprint, microseconds(now)))
        asked = replace(row, number=done.lastrowid or 0, at=now)
        self._table.hold(asked, kept)
        self._connection.execute("DELETE FROM approvals WHERE id <= ?", (asked.number - self._table.KEPT,))
        return asked

    def put(self, row: ApprovalRow) -> None:
        """Store what became of a request, masked, and what was said aside."""
        kept, at = self._table.masked(row), row.answered_at
        values = (row.run, row.call_id, row.state, None if at is None else microseconds(at), kept.note, kept.edited)
        more = (kept.edited_facts, kept.facts, row.fingerprint, row.instead, row.number)
        execute(self._connection, _PUT, (*values, *more))
        self._table.hold(row, kept)

    def tell(self, kind: str, row: ApprovalRow, **values: object) -> None:
        """Note an event, in which secrets are masked."""
        if "note" in values:
            values["note"] = self._table.masked(row).note
        told = {"approval": f"a{row.number}", "tool": row.tool, **values}
        write_event(self._connection, kind, self._table.now(), row.session, 0, **told)


def use_up(connection: sqlite3.Connection, entry: CommitEntry, *, committed: bool) -> None:
    """Use the answer that a call was given, in the transaction that stores the call; raises `CommitFailed` if it is gone.

    What acted on the outside world is known to have ended from here on.
    """
    if entry.effects == "external":
        connection.execute("DELETE FROM started WHERE id = ?", (entry.transaction_id,))
    if not entry.approval:
        return
    stands = committed and entry.outcome == "committed"
    used = connection.execute(_USE, (entry.approval, stands, entry.outcome == "denied"))
    if stands and used.rowcount == 0:
        raise CommitFailed(f"the approval a{entry.approval} was used by another call; call the tool again")


def _looks_masked(row: ApprovalRow) -> bool:
    return any(text and MASK in text for text in _texts(row).values())


def _texts(row: ApprovalRow) -> dict[str, str | None]:
    return {name: getattr(row, name) for name in _TEXTS}


def _row(found: tuple[Any, ...]) -> ApprovalRow:
    row = ApprovalRow(*found)  # as they are in the table
    at, answered = cast("int", row.at), cast("int | None", row.answered_at)
    return replace(row, at=moment(at), answered_at=None if answered is None else moment(answered))
