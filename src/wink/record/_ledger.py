"""Store one transaction at a time, and know afterwards whether it was stored.

Rules of this module, all of whose methods but `ask` and `change` are called under the database's lock:

* COMMIT is the only commit point. `put` raises `CommitFailed` when nothing was stored for certain, and
  `WorkspaceNeedsRecovery` when that cannot be told.
* While that cannot be told, every further `put` is refused, after asking again.
* A position (`transactions.seq`) belongs to one transaction of one process; a gap between our own positions means that
  others committed in between.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from wink.errors import (
    CommitFailed,
    RecordError,
    StateConflict,
    WorkspaceClosed,
    WorkspaceNeedsRecovery,
    WorkspaceReadOnly,
)
from wink.limits import Clock
from wink.record._approvals import use_up
from wink.record._binding import as_text, execute
from wink.record._calls import CHAIN, HASH, Head, microseconds, write_entry
from wink.record._changes import changes_text
from wink.record._checkpoints import Listed, write_checkpoint
from wink.record._database import Connect, Database, Durability
from wink.record._events import write_event
from wink.record._inverse import TakingBack
from wink.record._others import Others
from wink.record._past import Past
from wink.record._sealed import SealedValues
from wink.record._slices import APPLIED, LONGEST_WAITING, Encoded, apply, apply_waiting, encode, read_items, waiting
from wink.record.masking import Masking, masked
from wink.state import keep_head, kept_head

if TYPE_CHECKING:
    import sqlite3

    from wink.filesystem import FileChange
    from wink.session import SliceDelta
    from wink.transactions import CommitEntry

T = TypeVar("T")

_INSERT: Final = "INSERT INTO transactions (id, session, committed, deltas, changes, changed) VALUES (?, ?, ?, ?, ?, ?)"
_KEEP_REVERTS: Final = "UPDATE transactions SET reverts = ?, deltas = ? WHERE seq = ?"
_FIND_CHANGING: Final = "SELECT 1 FROM transactions WHERE id = ? AND changes > 0 AND committed = 1"
# Changes that cancel out leave a journal too. Newest first: what is asked for is almost always among the last.
_FIND_ANY: Final = "SELECT 1 FROM transactions NOT INDEXED WHERE id = ? AND committed = 1 ORDER BY seq DESC LIMIT 1"
_WAIT: Final = f"SELECT 1 FROM calls WHERE seq > {APPLIED} LIMIT 1"
_MOST_WAITING: Final = 256
"""After so many calls what the first of them wrote is applied, if nobody has done so beside them."""
_AT_ONCE: Final = 32
"""Of so many calls it is applied in one step, which no call that takes or awaits it notices."""
_FIND_SESSION: Final = "SELECT id, session_id, created_at FROM sessions WHERE name = ?"
_LOADED: Final = "SELECT slices.id FROM slices JOIN sessions ON sessions.id = session WHERE name = ? AND type = ?"
_FIND_SLICE: Final = "SELECT id FROM slices WHERE session = ? AND type = ?"
_MAKE_SLICE: Final = "INSERT INTO slices (session, type, policy) VALUES (?, ?, ?)"
_ADDED: Final = "SELECT 1 FROM slice_items WHERE slice = ? AND tx >= ? LIMIT 1"
_MAKE_SESSION: Final = "INSERT INTO sessions (name, session_id, created_at) VALUES (?, ?, ?)"
_LAST: Final = f"SELECT seq, {CHAIN} FROM transactions ORDER BY seq DESC LIMIT 1"
_AT: Final = f"SELECT {CHAIN} FROM transactions WHERE seq = ?"
_KEPT_EVERY: Final = 100
"""After so many transactions the head of the chain is kept outside of the workspace."""
_READ_ONLY: Final = 8
"""SQLITE_READONLY."""


class Ledger:
    """The transactions of a workspace, and who wrote them."""

    __slots__ = (
        *("_clock", "_doubt", "_head", "_numbers", "_sessions", "_waiting"),
        *("closed", "database", "identities", "masking", "others", "sealed"),
    )

    def __init__(
        self, state: str, *, durability: Durability, clock: Clock, connect: Connect | None, masking: Masking
    ) -> None:
        self.masking, self.sealed = masking, SealedValues(state)
        self.database = Database(state, durability=durability, on_open=self._opened, connect=connect)
        self.others = Others()
        self.identities: dict[str, tuple[str, datetime]] = {}
        self.closed = False
        self._clock = clock
        self._numbers: dict[tuple[object, ...], int] = {}
        self._sessions: dict[str, tuple[int, str, int]] = {}
        self._head: Head | None = None
        self._doubt: WorkspaceNeedsRecovery | None = None
        self._waiting = 0

    def put(
        self,
        transaction_id: str,
        session: str,
        deltas: Sequence[SliceDelta],
        calls: Sequence[CommitEntry] = (),
        changes: Sequence[FileChange] = (),
        *,
        committed: bool = True,
        reverts: Sequence[Past] = (),
        only: Container[str] | None = None,
        also: Callable[[sqlite3.Connection], object] | None = None,
    ) -> None:
        """Store a transaction in one step, and what is `also` to be; `committed=False` for one that is stored only to tell of it.

        With `reverts`, newest first, it takes back what those wrote to slices; raises `StateConflict`, with nothing stored.
        With `only` this holds for slices of these types, and those transactions still stand.

        Raises `CommitFailed`, caused by `WorkspaceReadOnly` where nothing can be stored at all, or
        `WorkspaceNeedsRecovery`.
        """
        try:
            if self.closed or self._doubt is not None:
                self.settle()
            calls, encoded = masked(self.masking, calls, encode(deltas))
            values = transaction_id, session, encoded, calls, changes, committed, reverts, only, also
            connection = self.database.writable()
            try:
                head = self._write(connection, *values)
            except Exception as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != _READ_ONLY:
                    raise
                # When the disk fails as SQLite opens a file, it silently opens it for reading only: so once more.
                self.database.abandon()
                connection = self.database.writable()
                head = self._write(connection, *values)
        except (CommitFailed, StateConflict):
            raise
        except Exception as error:
            raise CommitFailed(f"nothing was stored: {explain(error)}") from error
        try:
            connection.execute("COMMIT")
        except Exception as error:
            self._resolve(transaction_id, error)
        self._head = head
        self.others.note_own(head[0])
        if head[0] % _KEPT_EVERY == 0:
            self.keep_head()
        for entry in calls:
            if entry.approval:
                self.sealed.drop(f"approval-{entry.approval}")

    def keep_head(self, *, always: bool = False) -> None:
        """Keep the head of the chain outside of the workspace, where that can be done; not over one that does not fit.

        Where nothing was written here it is left as it is, unless `always`.
        """
        if self._head is None and not always:
            return
        with suppress(Exception):  # what is kept may lag behind, and a call must not suffer
            kept = kept_head(self.database.state)
            ((position, chain),) = self.ask(_LAST)
            if kept is None or [(kept[1],)] == [(found[:HASH],) for (found,) in self.ask(_AT, kept[0])]:
                keep_head(self.database.state, position, chain[:HASH])

    def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Store something beside transactions in one step; raises `CommitFailed`, as `put` does, when that failed."""
        with self.database.hold():
            try:
                self.settle()
                connection = self.database.writable()
                if connection.in_transaction:
                    self._roll_back(connection)
                connection.execute("BEGIN IMMEDIATE")
                try:
                    done = work(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    self._roll_back(connection)
                    raise
            except CommitFailed:
                raise
            except Exception as error:
                raise CommitFailed(f"nothing was stored: {explain(error)}") from error
            return done

    def checkpoint(self, name: str, listed: Listed | None = None, *, move: bool = False) -> bool:
        """Name the last position; False when the name is taken, and is not to `move`. Raises `CommitFailed`."""

        def work(connection: sqlite3.Connection) -> bool:
            now = self._clock()
            if not write_checkpoint(connection, name, now, listed, move=move):
                return False
            with suppress(Exception):  # it has been made, and that somebody is told of it is second to that
                write_event(connection, "checkpoint", now, "", 0, name=name, is_full=listed is not None)
            return True

        return self.change(work)

    def check_reverts(self, reverts: Sequence[Past]) -> None:
        """Raise `StateConflict` if what those wrote to slices, newest first, cannot be taken back; stores nothing."""
        connection = self.reach()
        if connection is None or not any(past.deltas for past in reverts):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            apply_waiting(connection)
            work = TakingBack(connection)
            for past in reverts:
                work.take_back(past)
        finally:
            connection.execute("ROLLBACK")

    def committed(self, transaction_id: str) -> bool:
        """Whether a transaction was stored; raises `WorkspaceNeedsRecovery` when that cannot be told."""
        try:
            connection = self.database.existing()
            return connection is not None and any(
                connection.execute(find, (transaction_id,)).fetchone() is not None
                for find in (_FIND_CHANGING, _FIND_ANY)
            )
        except Exception as error:
            raise WorkspaceNeedsRecovery(self.database.state, transaction_id, explain(error)) from error

    def settle(self) -> None:
        """Find out about the transaction in doubt, if there is one; raises `WorkspaceNeedsRecovery` when it stays so."""
        self.refuse_if_closed()
        if self._doubt is not None:
            self.committed(self._doubt.transaction_id)
            self._doubt = None
            # Sessions still hold what they had before the commit, whichever way it went.
            self.others.suspect_all()

    @property
    def is_in_doubt(self) -> bool:
        """Whether it is not known what became of the last transaction."""
        return self._doubt is not None

    def reach(self) -> sqlite3.Connection | None:
        """The record, or None while there is none."""
        if self.closed:
            self.refuse_if_closed()
        try:
            return self.database.existing()
        except RecordError:
            raise
        except Exception as error:
            raise self.database.error(error) from error

    def ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of an answer; none while there is no record."""
        with self.database.hold():
            connection = self.reach()
            if connection is None:
                return []
            try:
                return connection.execute(sql, values).fetchall()  # type: ignore[arg-type]
            except Exception as error:
                raise self.database.error(error) from error

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Questions as of one moment, whatever others store meanwhile."""
        with self.database.hold():
            connection = self.reach()
            if connection is None or connection.in_transaction:
                yield
                return
            self.ask("BEGIN")
            try:
                yield
            finally:
                if connection.in_transaction:
                    self.ask("ROLLBACK")

    def version(self) -> tuple[object, ...]:
        """What differs whenever anybody has stored anything."""
        with self.database.hold():
            connection, seen = self.reach(), self.ask("PRAGMA data_version")
            return () if connection is None else (self.database.place, id(connection), *seen, connection.total_changes)

    def load(self, session: str, type_name: str) -> tuple[tuple[str | None, str], ...] | None:
        """Key and JSON of each item of a slice, or None for a slice that was never written."""
        with self.snapshot():
            for (number,) in self.ask(_LOADED, session, type_name):
                return read_items(self.ask, number, waiting(self.ask).get(number, ()))
        return None

    def apply_waiting(self) -> None:
        """Apply what calls wrote to slices and what waits in their rows; raises `CommitFailed`."""
        if self.reach() is not None and self.ask(_WAIT):
            while self.change(lambda connection: apply_waiting(connection, _AT_ONCE)):
                pass

    def now(self) -> datetime:
        """The time, by the record's clock."""
        return self._clock()

    def refuse_if_closed(self) -> None:
        """Raise `WorkspaceClosed` after the workspace was closed."""
        if self.closed:
            raise WorkspaceClosed(self.database.state)

    # -- steps of `put`

    def _write(
        self,
        connection: sqlite3.Connection,
        transaction_id: str,
        session: str,
        encoded: Sequence[Encoded],
        calls: Sequence[CommitEntry],
        changes: Sequence[FileChange],
        committed: bool,
        reverts: Sequence[Past],
        only: Container[str] | None,
        also: Callable[[sqlite3.Connection], object] | None,
    ) -> Head:
        """Everything up to COMMIT; whatever fails here leaves no trace. Gives the transaction's position and entry."""
        if connection.in_transaction:
            # An interrupt came between the last transaction's steps.
            self._roll_back(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            number, *identity = self._sessions.get(session) or self._find_session(connection, session)
            head, reverted = self._head, None
            if reverts:
                head = self._mark_others(connection, transaction_id, session, reverts)
            changed = changes_text(changes, content_as=None if committed else self.masking.content) if changes else None
            row = transaction_id, number, committed, len(encoded), len(changes), changed
            tx = execute(connection, _INSERT, row).lastrowid or 0
            stale = self.others.is_stale(session)
            theirs = self.others.came_before(connection, tx)
            inverse = written = None
            if encoded:
                if stale or theirs:
                    self._refuse_stale(connection, number, encoded, None if stale else theirs)
                deltas = [
                    (
                        self._slice(connection, number, one),
                        one.op,
                        one.policy == "state",
                        one.is_latest,
                        one.keys,
                        texts,
                    )
                    for one, texts in encoded
                ]
                text = as_text(deltas)
                written = text if calls and len(text) <= LONGEST_WAITING else None
                if written is None:
                    apply_waiting(connection)
                    inverse = apply(connection, tx, deltas)
                elif self._waiting >= _MOST_WAITING:
                    self._waiting = self._waiting - _AT_ONCE if apply_waiting(connection, _AT_ONCE) else 0
            self._waiting = 0 if encoded and written is None else self._waiting + 1
            if reverts:
                inverse, reverted = self._take_back(connection, tx, reverts, only)
            facts = tx, transaction_id, session, *identity, int(committed), len(changes), reverted
            head = write_entry(connection, head, facts, changed, calls, inverse, written)
            for entry in calls:
                if entry.approval or entry.effects == "external":
                    use_up(connection, entry, committed=committed)
            if also is not None:
                also(connection)
        except BaseException:
            self._roll_back(connection)
            raise
        return head

    def _refuse_stale(
        self, connection: sqlite3.Connection, session: int, deltas: Sequence[Encoded], theirs: range | None
    ) -> None:
        """Refuse to replace a slice whose present items the call has not seen; additions do no harm.

        `theirs` are the positions that others took meanwhile; None when it is only known that they wrote.
        """
        apply_waiting(connection)
        for delta, _ in deltas:
            number = self._number(connection, session, delta.type_name) if delta.op == "replace" else None
            if number is None:
                continue
            if theirs is None or connection.execute(_ADDED, (number, theirs.start)).fetchone() is not None:
                raise CommitFailed(f"another process wrote to {delta.type_name} meanwhile; call the tool again")

    def _mark_others(
        self, connection: sqlite3.Connection, transaction_id: str, session: str, reverts: Sequence[Past]
    ) -> Head | None:
        """Let whoever has one of the other sessions open see that something was written to it."""
        head = self._head
        for at, name in enumerate(sorted({past.session for past in reverts if past.deltas} - {session})):
            number, *identity = self._find_session(connection, name)
            row = f"{transaction_id}-{at}", number, True, 1, 0, None
            tx = connection.execute(_INSERT, row).lastrowid
            head = write_entry(connection, head, (tx, row[0], name, *identity, 1, 0, None), None)
        return head

    def _take_back(
        self, connection: sqlite3.Connection, tx: int, reverts: Sequence[Past], only: Container[str] | None
    ) -> tuple[str | None, str | None]:
        apply_waiting(connection)
        work = TakingBack(connection, only)
        for past in reverts:
            work.take_back(past)
        inverse = work.inverse()
        positions = as_text([past.position for past in reverts]) if only is None else None
        connection.execute(_KEEP_REVERTS, (positions, int(inverse is not None), tx))
        return inverse, positions

    def _resolve(self, transaction_id: str, error: Exception) -> None:
        """COMMIT raised, which says nothing about what is on the disk: look, through another connection."""
        self._forget_numbers()
        self.database.abandon()
        try:
            stored = self.committed(transaction_id)
        except WorkspaceNeedsRecovery as unreadable:
            reason = f"COMMIT failed ({error}), and then: {unreadable.reason}"
            self._doubt = WorkspaceNeedsRecovery(self.database.state, transaction_id, reason)
            raise self._doubt from error
        if not stored:
            raise CommitFailed(f"nothing was stored: {error}") from error

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        self._forget_numbers()
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except Exception:
            # Nothing was committed, so whatever the next connection sees is right.
            self.database.abandon()

    def _forget_numbers(self) -> None:
        """Rows that the transaction made may be gone, and their numbers given to others."""
        self._numbers.clear()
        self._sessions.clear()
        self._head = None

    def _number(self, connection: sqlite3.Connection, *key: object) -> int | None:
        number = self._numbers.get(key)
        if number is None:
            row = connection.execute(_FIND_SLICE, key).fetchone()  # type: ignore[arg-type]
            if row is None:
                return None
            number = self._numbers[key] = row[0]
        return number

    def _find_session(self, connection: sqlite3.Connection, session: str) -> tuple[int, str, int]:
        """Number, id and time of a session, which is made if need be."""
        found = connection.execute(_FIND_SESSION, (session,)).fetchone()
        if found is None:
            # A session may be written to before anybody opens it, as by an undo.
            session_id, created_at = self.identities.get(session) or (str(uuid4()), self._clock())
            known = session_id, microseconds(created_at)
            found = (connection.execute(_MAKE_SESSION, (session, *known)).lastrowid or 0, *known)
        self._sessions[session] = found
        return found

    def _slice(self, connection: sqlite3.Connection, session: int, delta: SliceDelta) -> int:
        number = self._number(connection, session, delta.type_name)
        if number is None:
            row = session, delta.type_name, delta.policy
            number = self._numbers[session, delta.type_name] = connection.execute(_MAKE_SLICE, row).lastrowid or 0
        return number

    def _opened(self, connection: sqlite3.Connection, known: bool) -> None:
        self._forget_numbers()
        self.others.opened(connection, known=known)


def explain(error: Exception) -> str:
    """What went wrong, in a line."""
    return str(error) or type(error).__name__


def was_read_only(error: CommitFailed) -> bool:
    """Whether nothing can be stored there at all."""
    return isinstance(error.__cause__, WorkspaceReadOnly)
