"""Keep what calls did in one workspace, and give sessions back what they held."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from wink.errors import CheckpointExists, CommitFailed, UnknownCheckpoint, WorkspaceNeedsRecovery
from wink.limits import Clock, utc_now
from wink.record._approvals import ApprovalTable
from wink.record._calls import moment
from wink.record._changes import changes_of, committed_changes
from wink.record._checkpoints import Checkpoint, Listed, delete_checkpoint, read_checkpoints, read_listed
from wink.record._database import Connect, Durability
from wink.record._events import TURN, read_turns, write_event
from wink.record._folds import Folds
from wink.record._forgetting import Forgetting
from wink.record._ledger import Ledger, was_read_only
from wink.record._past import Past, read_past, read_past_of, read_undone, types_written
from wink.record._queries import EVERY, CallFilter, Queries, condition
from wink.record._results import Results
from wink.record._texts import Texts
from wink.record._view import CallView
from wink.record.masking import DEFAULT, Masking, masked_call
from wink.record.runs import RunTable, write_start

if TYPE_CHECKING:
    import logging
    import sqlite3

    from wink.filesystem import FileChange
    from wink.session import Session, SliceDelta
    from wink.transactions import CommitEntry


_PROMPT: Final = 500

Loader = Callable[[str], "tuple[tuple[str | None, str], ...] | None"]
"""Gives key and JSON of each item of the slice of a type, or None for a slice that was never written."""


class Record:
    """What calls did in one workspace: the `Recorder` of its sessions, and what they are loaded from.

    `state` is the directory in which `record.db` lies or will lie. May be used from any thread, and after a fork. `clock`
    dates sessions that nobody adopted; `connect` stands in for `sqlite3.connect`. Secrets that `masking` finds are not stored.
    """

    __slots__ = ("_database", "_ledger", "_said", "watcher")

    def __init__(
        self,
        state: str,
        *,
        durability: Durability = "process",
        clock: Clock = utc_now,
        connect: Connect | None = None,
        masking: Masking = DEFAULT,
    ) -> None:
        self._ledger = Ledger(state, durability=durability, clock=clock, connect=connect, masking=masking)
        self._database = self._ledger.database
        self._said = False
        self.watcher: Callable[[bool], object] | None = None
        """Called after each call that was stored, with whether it changed files."""

    @property
    def path(self) -> str:
        """Where `record.db` lies or will lie."""
        return self._database.path

    @property
    def masking(self) -> Masking:
        """By what secrets are found."""
        return self._ledger.masking

    @property
    def folds(self) -> Folds:
        """What of it has been folded into the history."""
        return Folds(self._ledger)

    @property
    def approvals(self) -> ApprovalTable:
        """The calls that people were asked about."""
        return ApprovalTable(self._ledger)

    @property
    def runs(self) -> RunTable:
        """The runs that were begun here, and how far they have come."""
        return RunTable(self._ledger)

    @property
    def texts(self) -> Texts:
        """The long texts of its calls, to be stored once each and compressed."""
        return Texts(self._ledger)

    @property
    def forgetting(self) -> Forgetting:
        """Its oldest calls, to be forgotten."""
        return Forgetting(self._ledger)

    @property
    def queries(self) -> Queries:
        """What is asked of it to look at it: calls page by page, sessions, what happens as it happens."""
        return Queries(self)

    @property
    def imported(self) -> str | None:
        """From where the record was brought here, as JSON, in which case it can only be looked at; None otherwise."""
        with self._database.hold():
            self._ledger.reach()
            return self._database.imported

    def check(self) -> None:
        """Open the record if there is one; raises `RecordTooNew`, `RecordCorrupt` or `RecordUnavailable`."""
        with self._database.hold():
            self._ledger.reach()

    # -- what a transaction needs

    def commit(self, entry: CommitEntry, nested: Sequence[CommitEntry] = ()) -> None:
        """Store a call, the calls made inside it, its deltas and its changes in one step.

        Raises `CommitFailed` when nothing was stored for certain, and `WorkspaceNeedsRecovery` when it cannot be told; then
        nothing may be undone. Where nothing can be stored at all, a call that changed no file passes without a trace.
        """
        with self._database.hold():
            try:
                self._ledger.put(
                    entry.transaction_id,
                    entry.session,
                    entry.deltas,
                    (*nested, entry) if nested else (entry,),
                    entry.changes,
                )
            except CommitFailed as error:
                if entry.changes or not was_read_only(error):
                    raise
                self._say_read_only()
        if self.watcher is not None:
            self.watcher(bool(entry.changes))

    def start(self, entry: CommitEntry) -> None:
        """Note that a call which acts on the outside world is about to begin; its `commit` or `attempt` notes the end.

        Raises like `commit`. Where nothing can be stored at all, the call passes without a trace.
        """
        with self._database.hold():
            try:
                started = masked_call(self._ledger.masking, entry)
                self._ledger.change(lambda connection: write_start(connection, started))
            except CommitFailed as error:
                if not was_read_only(error):
                    raise
                self._say_read_only()

    def attempt(self, entry: CommitEntry) -> None:
        """Store that a call was made which changed nothing, and what it appended to logs.

        Never raises for want of a record: the call is over, and its reply must not suffer. A failure is logged.
        """
        logs = [delta for delta in entry.deltas if delta.policy == "log"]
        with self._database.hold():
            try:
                self._ledger.put(entry.transaction_id, entry.session, logs, (entry,), entry.changes, committed=False)
            except (CommitFailed, WorkspaceNeedsRecovery) as error:
                if isinstance(error, CommitFailed) and was_read_only(error):
                    self._say_read_only()
                else:
                    _logger().warning("an attempt of tool %r was not recorded: %s", entry.tool, error)
        if self.watcher is not None:
            self.watcher(False)

    def turn(self, session: str, agent: str, prompt: str, *, conversation: str = "", mark: str = "") -> int:
        """Note that a person has asked an agent for something; gives the turn's number, by which its calls have `t1` as their run.

        Of `prompt` the first line is kept; what the agent calls its conversation, and this place in it, as it is. Raises `CommitFailed`.
        """
        first = self._ledger.masking.text(prompt.strip().partition("\n")[0][:_PROMPT])

        def work(connection: sqlite3.Connection) -> int:
            turn = 1 + next((one.number for one in read_turns(self._ledger.ask, 1)), 0)
            place = {"conversation": conversation, "mark": mark} if conversation and mark else {}
            write_event(connection, TURN, self._ledger.now(), session, 0, turn=turn, agent=agent, prompt=first, **place)
            return turn

        return self._ledger.change(work)

    def note(self, kind: str, session: str, data: Mapping[str, object]) -> None:
        """Keep that something happened beside calls, with secrets masked; raises `CommitFailed`."""
        now, told = self._ledger.now(), self._ledger.masking.value(data)
        self._ledger.change(lambda connection: write_event(connection, kind, now, session, 0, **told))

    def direct(self, session: Session, deltas: Sequence[SliceDelta]) -> None:
        """Store what was written to a session outside of any call; raises like `commit`."""
        transaction_id = f"{time.time_ns():016x}-{os.getpid():x}-direct"
        try:
            with self._database.hold():
                self._ledger.put(transaction_id, session.name, deltas)
        except CommitFailed as error:
            if not was_read_only(error):
                # So that the writer sees what is stored now, and can try again.
                self.refresh(session)
                raise
            self._say_read_only()

    def refresh(self, session: Session) -> None:
        """Make `session` forget what it loaded if others have written to it since; a few microseconds otherwise."""
        others = self._ledger.others
        with self._database.hold():
            if self._ledger.is_in_doubt:
                with suppress(WorkspaceNeedsRecovery):
                    self._ledger.settle()
            connection = self._ledger.reach()
            if connection is not None:
                try:
                    others.look(connection)
                except Exception as error:
                    raise self._database.error(error) from error
            stale = others.is_stale(session.name)
            others.told(session.name)
        if stale:
            session.reload()

    def committed(self, transaction_id: str) -> bool:
        """Whether a transaction was stored; raises `WorkspaceNeedsRecovery` when that cannot be told."""
        with self._database.hold():
            self._ledger.refuse_if_closed()
            return self._ledger.committed(transaction_id)

    def settle(self) -> None:
        """Find out about the transaction in doubt, if there is one; raises `WorkspaceNeedsRecovery` when it stays so."""
        with self._database.hold():
            self._ledger.settle()

    # -- what a workspace needs

    def adopt(self, session: Session) -> None:
        """Keep this session from now on: load it from here, and store what is written to it.

        Its id and creation time are stored with its first transaction.
        """
        with self._database.hold():
            self._ledger.identities[session.name] = str(session.session_id), session.created_at
            self._ledger.reach()
            self._ledger.others.told(session.name)
        session.load(self.loader(session.name))
        session.recorder = self
        session.direct_recorder = partial(self.direct, session)

    def keep_result(self, name: str, text: str) -> None:
        """Keep the text of a result that was too long to be sent; raises where it cannot be."""
        Results(self._database.state).keep(name, self._ledger.masking.text(text))

    def kept_result(self, name: str) -> str | None:
        """The text that was kept under `name`; None when it is not there any more."""
        return Results(self._database.state).find(name)

    def pack_results(self) -> None:
        """Compress the results that are kept."""
        Results(self._database.state).pack()

    def kept_results(self) -> tuple[str, ...]:
        """The names of the results that are kept, newest first."""
        return Results(self._database.state).names()

    def identity(self, session: str) -> tuple[str, datetime] | None:
        """Id and creation time of a session that was stored before."""
        for session_id, created in self._ledger.ask(
            "SELECT session_id, created_at FROM sessions WHERE name = ?", session
        ):
            return session_id, moment(created)
        return None

    def loader(self, session: str) -> Loader:
        """What `Session.load` takes: it reads slices of this session, one type at a time, when they are first used."""

        def load(type_name: str) -> tuple[tuple[str | None, str], ...] | None:
            with self._database.hold():
                return self._ledger.load(session, type_name)

        return load

    def sessions(self) -> tuple[str, ...]:
        """The names of the sessions that were stored, in the order of their first call."""
        return tuple([name for (name,) in self._ledger.ask("SELECT name FROM sessions ORDER BY id")])

    def calls(self, session: str | None = None, limit: int | None = None) -> tuple[CallView, ...]:
        """The last `limit` calls, of one session or of all, newest first."""
        return self.queries.page(CallFilter(session=session), limit=limit)

    def call(self, position: int) -> CallView | None:
        """One call by its position."""
        return next(iter(self.queries.page(after=position - 1, before=position + 1, limit=1)), None)

    def past(self, first: int = 0, last: int | None = None) -> tuple[Past, ...]:
        """The committed transactions from one position to another, oldest first."""
        with self._database.hold():
            with suppress(CommitFailed):  # whoever takes something back asks once more
                self._ledger.apply_waiting()
            return read_past(self._ledger.ask, first, last)

    def past_of(self, wanted: CallFilter = EVERY, among: Iterable[int] | None = None) -> tuple[Past, ...]:
        """The committed transactions of the calls that fit, oldest first; only those `among` some positions."""
        with self._database.hold():
            with suppress(CommitFailed):  # as above
                self._ledger.apply_waiting()
            where, values = condition(self._ledger.ask, wanted, ())
            named = None if among is None else json.dumps(sorted(among))
            where = f"{where} AND ifnull(name = ?, 1) AND (? IS NULL OR tx IN (SELECT value FROM json_each(?)))"
            return read_past_of(self._ledger.ask, where, (*values, wanted.session, named, named))

    def last_position(self) -> int:
        """The position of the last transaction, 0 while there is none."""
        return next((seq or 0 for (seq,) in self._ledger.ask("SELECT max(seq) FROM transactions")), 0)

    def transaction_at(self, position: int | None = None) -> tuple[int, str]:
        """The transaction at a position, or the last one, by position and id; `(0, "")` where there is none."""
        asked = ("WHERE seq = ?", position) if position is not None else ("",)
        found = self._ledger.ask(f"SELECT seq, id FROM transactions {asked[0]} ORDER BY seq DESC LIMIT 1", *asked[1:])
        return next(((seq, transaction_id) for seq, transaction_id in found), (0, ""))

    def undone(self) -> frozenset[int]:
        """The positions of the transactions that are taken back at present."""
        return read_undone(self._ledger.ask)

    def types_written(self, past: Past) -> frozenset[str]:
        """The types of session state that a transaction wrote to, logs left out, as `module:Qualname`."""
        return types_written(self._ledger.ask, past)

    def checkpoint(self, name: str, listed: Listed | None = None, *, move: bool = False) -> None:
        """Give the last position a name, and note where everything is listed; raises `CheckpointExists`, unless it is to `move`."""
        if not self._ledger.checkpoint(name, listed, move=move):
            raise CheckpointExists(name)

    def delete_checkpoint(self, name: str) -> None:
        """Forget a checkpoint; raises `UnknownCheckpoint`."""
        if not self._ledger.change(lambda connection: delete_checkpoint(connection, name)):
            raise UnknownCheckpoint(name, tuple(one.name for one in self.checkpoints()))

    def listed(self) -> tuple[Listed, ...]:
        """The checkpoints of everything, by name."""
        return read_listed(self._ledger.ask)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """All checkpoints, oldest first."""
        return read_checkpoints(self._ledger.ask)

    def check_reverts(self, reverts: Sequence[Past]) -> None:
        """Raise `StateConflict` if session state stands in the way of `revert`; changes nothing."""
        with self._database.hold():
            self._ledger.check_reverts(reverts)

    def revert(
        self,
        entry: CommitEntry,
        reverts: Sequence[Past],
        *,
        only: Container[str] | None = None,
        also: Callable[[sqlite3.Connection], object] | None = None,
    ) -> None:
        """Store a call that takes back others, newest first: its changes to files, and in the same step their writes to slices.

        With `only`, their writes to slices of these types; they are not said to be undone then. `also` stores more in the
        same transaction. Raises like `commit`, and `StateConflict` with nothing stored. Open sessions have to be reloaded.
        """
        with self._database.hold():
            values = entry.transaction_id, entry.session, (), (entry,), entry.changes
            self._ledger.put(*values, reverts=reverts, only=only, also=also)

    def changes_of(self, positions: Iterable[int]) -> tuple[tuple[int, FileChange], ...]:
        """The changes of some transactions, oldest first, each with its transaction's position."""
        with self._database.hold():
            found = changes_of(self._ledger.ask, positions)
        return tuple((position, change) for position in sorted(found) for change in found[position])

    def changes(self, first: int = 0, last: int | None = None) -> tuple[tuple[int, FileChange], ...]:
        """All committed changes from one position to another, oldest first, each with its transaction's position."""
        with self._database.hold():
            return committed_changes(self._ledger.ask, first, last)

    def writers(self, root: str, paths: Iterable[str]) -> dict[str, int]:
        """Of some paths in `root`, the number of the call that left each as it is now, where a call did.

        Every change is looked through: this is for people who wait to hear who was in the way.
        """
        from wink.record._writers import writers

        return writers(self._ledger.ask, root, paths)

    def close(self) -> None:
        """Close the record; using it afterwards raises `WorkspaceClosed`."""
        with self._database.hold():
            self._ledger.keep_head()
            self._ledger.closed = True
            self._database.abandon()

    def _say_read_only(self) -> None:
        if not self._said:
            self._said = True
            _logger().warning("calls are not recorded: nothing can be stored in %r", self._database.state)


def _logger() -> logging.Logger:
    import logging  # 4 ms, for what hardly ever is

    return logging.getLogger("wink.record")
