"""Keep the calls that people were asked about, and what they answered, until a call has used the answer.

Rules of this module:

* An answer is used by the SQLite transaction that stores its call, so it is used once, whatever dies when. A call that
  leaves traces outside of that transaction claims the answer before it begins; if it never ends, the answer is gone.
* A number is never given to another request. A request whose circumstances changed is replaced by one with a new number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from wink.errors import CommitFailed
from wink.record._binding import run
from wink.record._calls import microseconds, moment
from wink.record._events import write_event
from wink.record._masking import MASK

if TYPE_CHECKING:
    import sqlite3

    from wink.record._ledger import Ledger
    from wink.transactions import CommitEntry

T = TypeVar("T")

ApprovalState = Literal["pending", "approved", "denied", "claimed", "used", "replaced"]
"""`claimed`: by a call that has begun and of which nothing more is known; `replaced`: by a request that took its place."""

_TEXTS: Final = ("arguments", "policies", "facts", "note", "edited", "edited_facts")
"""What may hold secrets."""
_LOST: Final = '[["record","what a person put in the place of the arguments is gone"]]'
"""No policy asks so, and an answer to this is an answer to nothing that is asked."""

_EPOCH: Final = moment(0)
KEPT: Final = 500
"""So many requests are kept, whatever became of them."""
LASTS: Final = timedelta(days=30)
"""A request, and an answer that no call has used, are good for so long."""

_COLUMNS: Final = """id, session, run, call_id, tool, effects, arguments, policies, facts, fingerprint, state, at,
    answered_at, note, edited, edited_facts, instead"""
_INSERT: Final = """INSERT INTO approvals (session, run, call_id, tool, effects, arguments, policies, facts, fingerprint,
    state, at, note) VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, CAST(? AS TEXT),
    CAST(? AS TEXT), CAST(? AS TEXT), ?, 'pending', ?, '')"""
_LIVE: Final = "('pending', 'approved', 'denied')"
_ANSWER: Final = """UPDATE approvals SET state = ?, answered_at = ?, note = CAST(? AS TEXT), edited = CAST(? AS TEXT),
    edited_facts = CAST(? AS TEXT) WHERE id = ? AND fingerprint = ? AND state IN ('pending', 'approved', 'denied')"""
_USE: Final = """UPDATE approvals SET state = 'used' WHERE id = ?
    AND (state = 'claimed' OR (state = 'approved' AND ?) OR (state = 'denied' AND ?))"""


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """One request, and what became of it.

    `arguments` and `edited`, what a person put in their place, are JSON objects; `policies` is a JSON list of
    `[policy, reason]`. `facts` is the state of the files that the call concerns, in the executor's own JSON, and
    `edited_facts` that of those which the edited arguments concern. `instead` is the request that replaced this one.
    """

    number: int
    session: str
    run: str
    call_id: str
    tool: str
    effects: str
    arguments: str
    policies: str
    facts: str
    fingerprint: str
    state: ApprovalState = "pending"
    at: datetime = _EPOCH
    answered_at: datetime | None = None
    note: str = ""
    edited: str | None = None
    edited_facts: str | None = None
    instead: int | None = None

    @property
    def is_live(self) -> bool:
        """Whether it waits for an answer, or its answer for a call."""
        return self.state in ("pending", "approved", "denied")


class ApprovalTable:
    """The requests of one workspace; all methods raise `RecordError` where they cannot read, `CommitFailed` where not write."""

    __slots__ = ("_ledger",)

    is_durable: bool = True

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
        with self._ledger.database.hold():
            return tuple(self._exact(_row(found)) for found in self._ledger.ask(sql, session, tool, since, *states))

    def find(self, number: int) -> ApprovalRow | None:
        """One request by its number."""
        with self._ledger.database.hold():
            found = self._ledger.ask(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", number)
        return self._exact(_row(found[0])) if found else None

    def ask(self, row: ApprovalRow, replaces: tuple[int, ...] = ()) -> ApprovalRow:
        """Store a request, and that it takes the place of others; gives it with its number and time."""

        def work(connection: sqlite3.Connection) -> ApprovalRow:
            now, kept = self._ledger.now(), self._masked(row)
            values = (
                row.session,
                row.run,
                row.call_id,
                row.tool,
                row.effects,
                kept.arguments,
                kept.policies,
                kept.facts,
            )
            number = run(connection, _INSERT, (*values, row.fingerprint, microseconds(now))).lastrowid or 0
            self._hold(replace(row, number=number), kept)
            for replaced in replaces:
                connection.execute(
                    f"UPDATE approvals SET state = 'replaced', instead = ? WHERE id = ? AND state IN {_LIVE}",
                    (number, replaced),
                )
            connection.execute("DELETE FROM approvals WHERE id <= ? - ?", (number, KEPT))
            found = connection.execute(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", (number,)).fetchone()
            told: dict[str, object] = {
                "approval": f"a{number}",
                "tool": row.tool,
                "call_id": row.call_id,
                "run": row.run or None,
            }
            if replaces:
                told["replaces"] = [f"a{replaced}" for replaced in replaces]
            write_event(connection, "approval-asked", now, row.session, 0, **told)
            return _row(found)

        asked = self._exact(self._change(work))
        self._ledger.held.drop_unless(lambda kind, of: kind != "approval" or of > asked.number - KEPT)
        return asked

    def asked_by(self, number: int, run_id: str, call_id: str) -> None:
        """The call that a waiting request is about was made again."""
        sql = "UPDATE approvals SET run = CAST(? AS TEXT), call_id = CAST(? AS TEXT) WHERE id = ?"
        self._change(lambda connection: run(connection, sql, (run_id, call_id, number)))

    def answer(
        self, row: ApprovalRow, *, approved: bool, note: str, edited: str | None, edited_facts: str | None
    ) -> bool:
        """Store what a person says to exactly this request; False when it does not stand like this any more."""
        state = "approved" if approved else "denied"

        def work(connection: sqlite3.Connection) -> bool:
            now = self._ledger.now()
            said = replace(row, note=note, edited=edited, edited_facts=edited_facts)
            kept = self._masked(said)
            values = (state, microseconds(now), kept.note, kept.edited, kept.edited_facts, row.number, row.fingerprint)
            if run(connection, _ANSWER, values).rowcount != 1:
                return False
            self._hold(said, kept)
            told: dict[str, object] = {
                "approval": f"a{row.number}",
                "tool": row.tool,
                "answer": state,
                "note": kept.note,
            }
            told |= {"is_edited": edited is not None}
            write_event(connection, "approval-answered", now, row.session, 0, **told)
            return True

        return self._change(work)

    def claim(self, number: int) -> bool:
        """Give an approval to a call that is about to begin; False when another one has it."""
        sql = "UPDATE approvals SET state = 'claimed' WHERE id = ? AND state = 'approved'"
        return self._change(lambda connection: connection.execute(sql, (number,)).rowcount == 1)

    def give_back(self, number: int) -> None:
        """The call that used an approval was taken back whole: the answer stands as it did."""
        del number  # where the record keeps it, it was never taken

    def use(self, number: int) -> None:
        """An answer has been used: the transaction that stores the call says so by itself."""
        del number

    def renew(self, row: ApprovalRow, facts: str, fingerprint: str) -> bool:
        """Note that a request stands for another state of the files, which came about with the person's consent."""
        sql = f"""UPDATE approvals SET facts = CAST(? AS TEXT), fingerprint = ?
            WHERE id = ? AND fingerprint = ? AND state IN {_LIVE}"""

        def work(connection: sqlite3.Connection) -> bool:
            found = connection.execute(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", (row.number,)).fetchone()
            if found is None:
                return False
            # As it is by now: somebody may have answered since the row was read.
            now = replace(self._exact(_row(found)), facts=facts, fingerprint=fingerprint)
            kept = self._masked(now)
            if run(connection, sql, (kept.facts, fingerprint, row.number, row.fingerprint)).rowcount != 1:
                return False
            self._hold(now, kept)
            return True

        return self._change(work)

    def position(self) -> int:
        """The position of the last committed transaction that changed files, 0 while there is none."""
        sql = """SELECT seq FROM transactions NOT INDEXED WHERE changes > 0 AND committed = 1
            ORDER BY seq DESC LIMIT 1"""
        with self._ledger.database.hold():
            return next((seq for (seq,) in self._ledger.ask(sql)), 0)

    def place(self) -> str:
        """Which file the record is: what was answered in another one, and copied here, counts for nothing."""
        with self._ledger.database.hold():
            if self._ledger.reach() is None:
                self._ledger.database.writable()  # before anything can be asked there has to be one
            return self._ledger.database.place

    def _masked(self, row: ApprovalRow) -> ApprovalRow:
        """The row as the record keeps it. Requests are found by their fingerprint, which stands for what they were."""
        masking = self._ledger.masking
        return replace(row, **{name: text and masking.json(text) for name, text in _texts(row).items()})

    def _hold(self, row: ApprovalRow, kept: ApprovalRow) -> None:
        """Keep aside what the record has masked, or what looks so: the answer is for exactly this call."""
        if kept != row or _looks_masked(row):
            self._ledger.held.keep(f"approval-{row.number}", row.fingerprint, _texts(row))

    def _exact(self, row: ApprovalRow) -> ApprovalRow:
        """The row as it was asked and answered; where that is gone, the answer stands for nothing, and it is asked anew."""
        if not _looks_masked(row):
            return row
        held = self._ledger.held.find(f"approval-{row.number}", row.fingerprint)
        if held is not None:
            return replace(row, **{name: held.get(name) for name in _TEXTS})
        # Other arguments than those that are asked about cannot be told from what they were.
        return row if row.edited is None or MASK not in row.edited else replace(row, policies=_LOST)

    def _change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._ledger.database.hold():
            return self._ledger.change(work)

    def _oldest(self) -> int:
        return microseconds(self._ledger.now() - LASTS)


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
