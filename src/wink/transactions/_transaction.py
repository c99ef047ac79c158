"""Make a call's writes to session, files and resources one step that happens or does not.

Rules of this module, which every other part of wink relies on:

* Beginning is O(1) and touches no disk.
* There is one commit point: the record's COMMIT where there is a recorder, otherwise the file part's publish.
* Whatever fails before it undoes everything; nothing after it may fail.
* A transaction begun while another of the same session or tree is active in this context is a savepoint of it: it
  commits into it, and is undone with it. Where only the tree is the same, the session is a guest: it stands when the
  inner call ends, and is put back as it was when the outer one fails.
* The ends of a transaction and of those inside it come one after the other, whatever threads they come from; an inner
  one that is still open when the outer one ends is taken back first.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Token
from dataclasses import replace
from typing import Any, Final, Literal

from wink.errors import CommitFailed, HandleRevoked, RollbackFailed, WinkError, WorkspaceNeedsRecovery
from wink.filesystem import FileChange, Filesystem, FileTransaction, Stamp, WriteLock
from wink.limits import BudgetTracker, Deadline, Heartbeat, is_interruption
from wink.resources import ResourceContext, Snapshotable
from wink.session import Session, SessionPart, SliceDelta, Upsert
from wink.transactions._around import active, outer_of, recorder_of
from wink.transactions._change import Change
from wink.transactions._entry import CommitEntry, Recorder
from wink.transactions._late_turn import LateTurn

State = Literal["open", "committed", "rolled back", "in doubt"]
"""What became of a transaction; `in doubt` is for recovery to find out."""

MakeEntry = Callable[[tuple[SliceDelta, ...], tuple[FileChange, ...]], CommitEntry]
"""Builds the record's entry when deltas and changes are known, just before the commit point."""

_numbers: Final = itertools.count(1)
_NOTHING: Final = Change()
_stopping: Final = threading.Lock()


def _unknown(path: str) -> Stamp:
    """What a session knows of a file that is gone: nothing, and no content has this digest."""
    return Stamp(path, digest="", size=0, ranges=(), complete=False)


class Transaction:
    """One call's changes to a session, a filesystem and snapshotable resources.

    Made with `begin`; then `enter`/`leave` around foreign code, and exactly one of `commit` and `abort`.
    """

    __slots__ = (
        "_ending",
        "_filepart",
        "_guard",
        "_inner",
        "_inner_turns",
        "_is_revoked",
        "_late_turn",
        "_recorder",
        "_restorable",
        "_root",
        "_session",
        "_sessionpart",
        "_started",
        "_token",
        "_token_session",
        "around",
        "budget_tracker",
        "call_id",
        "change",
        "deadline",
        "governed",
        "heartbeat",
        "id",
        "nested",
        "outer",
        "run",
        "state",
    )

    def __init__(
        self, session: Session, resources: ResourceContext | None, *, root: Filesystem | None, writable: bool
    ) -> None:
        self.id: str = f"{time.time_ns():016x}-{os.getpid():x}-{next(_numbers):x}"
        self.around: Transaction | None = active.get()
        """The innermost transaction that is active in this context."""
        self.outer: Transaction | None = outer_of(self.around, session, root)
        """The one around that this one is a savepoint of."""
        self.state: State = "open"
        self.nested: list[CommitEntry] = []
        """The calls inside this one that have ended, for the record."""
        self.change = _NOTHING
        """What happened to files, once it has ended."""
        self.run = self.call_id = ""
        """The call that this is, and the run that it belongs to; empty where it is none."""
        self.governed: tuple[str, Sequence[object], object] = ("", (), None)
        """The tool that is called, the policies that govern it, and the `Approvals` that answer for it: for programs that it runs too."""
        self.deadline: Deadline | None = None
        self.budget_tracker: BudgetTracker | None = None
        """Limits of the run that the call belongs to; what it starts itself has to keep to them too."""
        self.heartbeat: Heartbeat | None = None
        """Who is told that the run is alive, by what the call starts itself too."""
        self._session = session
        self._root = root
        self._ending = threading.RLock() if self.outer is None else self.outer._ending
        self._inner: list[Transaction] = []
        self._inner_turns: WriteLock | None = None
        self._late_turn: LateTurn | None = None
        self._restorable: list[tuple[Any, Any]] = []
        self._started: tuple[Callable[[], object], ...] = ()
        self._is_revoked = False
        # A savepoint is recorded with the transaction that it belongs to.
        self._recorder: Recorder | None = recorder_of(session, root) if self.outer is None else None
        if self._recorder is not None:
            self._recorder.refresh(session)
        self._sessionpart: SessionPart = session.begin()
        self._filepart: FileTransaction | None = None if root is None else self._begin_files(root, writable)
        if resources is not None:
            for _, resource in resources.snapshotables():
                self.remember(resource)
        if self.outer is not None:
            with self._ending:
                self.outer._take_in(self)

    # -- what the call works with

    @property
    def session(self) -> Session:
        """The session whose state takes part."""
        return self._session

    @property
    def filesystem(self) -> Filesystem | None:
        """The call's own handle on the files."""
        return None if self._filepart is None else self._filepart.handle

    @property
    def root(self) -> Filesystem | None:
        """The filesystem that the handle was made from."""
        return self._root

    @property
    def outermost(self) -> Transaction:
        """The transaction that this one is a part of in the end; often itself."""
        found = self
        while found.outer is not None:
            found = found.outer
        return found

    @property
    def recorder(self) -> Recorder | None:
        """Who keeps this call; None in memory and for savepoints."""
        return self._recorder

    def logged(self) -> tuple[SliceDelta, ...]:
        """What was written to logs; it stands, whatever becomes of the rest."""
        return self._sessionpart.logged()

    def file_part_of(self, root: Filesystem) -> FileTransaction | None:
        """The part that this or an outer transaction has in `root`."""
        found: Transaction | None = self
        while found is not None:
            if found._root is root:
                return found._filepart
            found = found.around
        return None

    @property
    def inner_turns(self) -> WriteLock:
        """Whose turn it is among the calls inside this one, which come one at a time as well."""
        with self._ending:
            if self._inner_turns is None:
                self._inner_turns = WriteLock("the call around this one")
            return self._inner_turns

    def wait_for_turn_late(self, turns: WriteLock, seconds: Callable[[], float]) -> Callable[[], None]:
        """Take the turn not before files are changed, waiting up to `seconds()`; what is returned gives it back."""
        self._late_turn = late = LateTurn(turns, seconds, self._refresh)
        if self._filepart is not None:
            self._filepart.before_first_change = late.take
        return late.end

    def take_turn(self) -> None:
        """Wait until no other call changes files; does nothing for a call that has had its turn from the beginning.

        A call that runs programs does so without the turn. From here on what it sees of files stays until it ends. Raises
        `WorkspaceBusy`, and `HandleRevoked` where the call has ended.
        """
        found: Transaction | None = self
        while found is not None:
            if found._late_turn is not None:
                found._late_turn.take()
            found = found.outer

    def when_revoked(self, stop: Callable[[], object]) -> None:
        """Call `stop` when the call ends or is given up, at once if that has happened: it ends what the call started."""
        with _stopping:
            if not self._is_revoked:
                self._started = (*self._started, stop)
                return
        stop()

    def ran_under(self, guard: str, unseen: Sequence[str] = ()) -> None:
        """Keep for `Change` what a program of this call ran under, and what that cannot see."""
        unseen = tuple(dict.fromkeys((*self.change.unseen, *unseen)))
        self.change = replace(self.change, guard=guard, unseen=unseen)

    def enter(self) -> None:
        """Make the transaction the current one of this context (and of contexts copied from it)."""
        self._token: Token[Transaction | None] = active.set(self)
        self._token_session = self._sessionpart.enter()
        self._guard = None if self._filepart is None else self._filepart.guard()

    def leave(self) -> None:
        """Undo `enter`, in the same context."""
        if self._filepart is not None and self._guard is not None:
            self._filepart.unguard(self._guard)
        self._sessionpart.exit(self._token_session)
        active.reset(self._token)

    # -- its end

    def note_reads(self) -> None:
        """Keep in the session what the call read and wrote, so that policies can judge later calls by it."""
        if self._filepart is None:
            return
        noted = self._filepart.stamps()
        if not noted:
            return
        # Pages of one file may have been read by calls that ran together: what they noted adds up.
        stamps = self._session[Stamp]
        self._session.stage(
            Stamp,
            [
                Upsert(path, _unknown(path) if stamp is None else stamp.with_earlier(stamps.get(path)))
                for path, stamp in noted.items()
            ],
        )

    def revoke(self) -> None:
        """Take the handles away: from here on the call, and any thread that it left behind, changes nothing."""
        self._sessionpart.revoke()
        if self._filepart is not None:
            self._filepart.revoke()
        if not self._is_revoked:
            with _stopping:
                self._is_revoked, started = True, self._started
            for stop in started:
                stop()

    def commit(self, entry: MakeEntry) -> Change:
        """Make everything stand, or raise `CommitFailed` with everything undone.

        Raises `WorkspaceNeedsRecovery` when it cannot be told which of the two happened; then the files stay as they are
        until recovery has looked.
        """
        with self._ending:
            if self.state != "open":
                raise CommitFailed("could not commit: the call that this one belongs to has ended")
            files, recorder, outer = self._filepart, self._recorder, self.outer
            changes: tuple[FileChange, ...] = ()
            try:
                self._end_inner()
                if files is not None and files.dirty:
                    changes = files.changes()
                deltas = self._sessionpart.prepare()
                if files is not None:
                    files.prepare()
                if outer is not None:
                    inner = [*self.nested, entry(deltas, changes)]
                    self._store_guest(deltas)
                    outer.nested += inner
                if recorder is not None:
                    recorder.commit(entry(deltas, changes), self.nested)
                elif files is not None:
                    files.publish()
            except BaseException as error:
                if not self._stands(error):
                    self.abort()
                    if not isinstance(error, Exception) or isinstance(error, RollbackFailed):
                        raise
                    reason = error if isinstance(error, WinkError) else type(error).__name__
                    raise CommitFailed(f"could not commit: {reason}") from error
                self._publish(changes)
                raise
            self._publish(changes)
            return self.change

    def _publish(self, files: tuple[FileChange, ...]) -> None:
        """After the commit point: nothing here may fail, and a second time does nothing."""
        self.state = "committed"
        if files:
            self.change = _changed(self.change, files)
        try:
            if self._filepart is not None:
                self._filepart.publish()
                if self._filepart.conflicts:
                    self.change = replace(self.change, conflicts=self._filepart.conflicts)
        except Exception:  # the record has it, and recovery will find what is left of the journal
            import logging

            logging.getLogger("wink.transactions").exception("transaction %s stands, but is not tidied up", self.id)
        finally:
            self._sessionpart.publish()
            if self.outer is not None:
                self.outer._inherit(self)

    def _stands(self, error: BaseException) -> bool:
        """Whether the transaction was committed in spite of an interruption; leaves it alone where nobody knows."""
        try:
            if isinstance(error, WorkspaceNeedsRecovery):
                raise error
            return not isinstance(error, Exception) and self._recorder is not None and self._recorder.committed(self.id)
        except WorkspaceNeedsRecovery:
            self.state = "in doubt"
            self._sessionpart.undo()
            if self._filepart is not None:
                self.change = self._seen_changes()
                self._filepart.leave()
            raise

    def abort(self) -> Change:
        """Take everything back; raises `RollbackFailed` when that cannot be done, after taking back all that can.

        What has been committed, undone, or is in doubt, stays as it is.
        """
        with self._ending:
            if self.state != "open":
                return self.change
            self.state = "rolled back"
            failed: list[str] = []
            reasons: list[str] = []
            interrupts: list[BaseException] = []
            for step in (self.revoke, self._end_inner, self._undo_files, self._sessionpart.undo, *self._restorers()):
                try:
                    step()
                except RollbackFailed as error:
                    failed += error.paths
                    reasons.append(error.reason)
                except BaseException as error:  # foreign code: what can be taken back is, whatever the rest does
                    if is_interruption(error):
                        interrupts.append(error)
                    else:
                        reasons.append(f"{getattr(step, '__qualname__', 'a step')} raised {type(error).__name__}")
            if self._filepart is not None and self._filepart.conflicts:
                self.change = replace(self.change, conflicts=self._filepart.conflicts)
            if self.outer is not None and self in self.outer._inner:
                self.outer._inner.remove(self)
            if reasons:
                self.change = replace(self.change, rolled_back=False)
                raise RollbackFailed(failed, "; ".join(reasons))
            if interrupts:
                raise interrupts[0]
            return self.change

    def record_attempt(self, entry: CommitEntry) -> None:
        """Keep a call that changed nothing, what it appended to logs, and the calls inside it that went with it."""
        undone = [replace(call, outcome="rolled back") if call.outcome == "committed" else call for call in self.nested]
        entries = [*(replace(call, deltas=()) for call in undone), entry]
        if self.outer is not None:
            self._store_guest(entry.deltas)
            with self._ending:
                self.outer.nested += entries
        elif self._recorder is not None:
            for call in entries:
                self._recorder.attempt(call)

    def remember(self, resource: Snapshotable[Any]) -> None:
        """Let a resource take part: what it is now is what a rollback brings back."""
        # Files have a part of their own.
        if not isinstance(resource, Filesystem):
            self._restorable.append((resource, resource.snapshot()))

    # -- what is inside it

    def _take_in(self, inner: Transaction) -> None:
        if self.state != "open":
            raise HandleRevoked("the call that this one belongs to has ended; nothing was changed")
        self._inner.append(inner)
        if inner._is_guest and not any(kept is inner._session for kept, _ in self._restorable):
            self._restorable.append((inner._session, inner._session.snapshot()))

    def _end_inner(self) -> None:
        """Take back calls that threads of this one have not ended: nobody would know what half of them means."""
        while self._inner:
            inner = self._inner[-1]
            try:
                inner.abort()
            finally:
                with suppress(ValueError):
                    self._inner.remove(inner)

    def _inherit(self, inner: Transaction) -> None:
        """An inner call stands; if this one fails, what it has to restore is to be restored all the same."""
        if inner in self._inner:
            self._inner.remove(inner)
        known = [resource for resource, _ in self._restorable]
        self._restorable += [kept for kept in inner._restorable if not any(kept[0] is one for one in known)]

    @property
    def _is_guest(self) -> bool:
        """Whether the session is not that of any call around."""
        found = self.around
        while found is not None and found._session is not self._session:
            found = found.around
        return self.outer is not None and found is None

    def _store_guest(self, deltas: tuple[SliceDelta, ...]) -> None:
        """A guest's changes are not in the outer call's entry; its own session stores them."""
        if deltas and self._is_guest and self._session.direct_recorder is not None:
            self._session.direct_recorder(deltas)

    def _undo_files(self) -> None:
        if self._filepart is not None:
            self.change = self._seen_changes()
            try:
                self._filepart.undo()
            except RollbackFailed:
                raise
            except Exception as error:
                raise RollbackFailed(self.change.paths, type(error).__name__) from error
        self.change = _changed(self.change, self.change.files, rolled_back=True)

    def _seen_changes(self) -> Change:
        """What happened to files, as far as it can be told; telling must not keep it from being undone."""
        files = self._filepart
        if files is None or not files.dirty:
            return self.change
        try:
            return _changed(self.change, files.changes())
        except Exception:  # the disk fails, which is why we are here
            return self.change

    def _restorers(self) -> list[Callable[[], object]]:
        return [_restorer(resource, state) for resource, state in reversed(self._restorable)]

    # -- parts

    def _refresh(self) -> None:
        """The turn came late: what others committed while this call was running is to be seen."""
        if self._recorder is not None:
            self._recorder.refresh(self._session)

    def _begin_files(self, root: Filesystem, writable: bool) -> FileTransaction:
        outer = None if self.around is None else self.around.file_part_of(root)
        # Not a method of this transaction: the two would hold each other until the garbage collector comes.
        seen = self._session[Stamp].get
        if outer is not None:
            return outer.savepoint(writable=writable, seen=seen)
        return root.begin(writable=writable, seen=seen, transaction_id=self.id)


def _changed(change: Change, files: tuple[FileChange, ...], *, rolled_back: bool = False) -> Change:
    # not `replace`, which costs four times as much: this is done for each call
    return Change(files, rolled_back or change.rolled_back, change.guard, change.unseen, change.conflicts)


def _restorer(resource: Any, state: Any) -> Callable[[], object]:
    def restore() -> None:
        resource.restore(state)

    restore.__qualname__ = f"{type(resource).__name__}.restore"
    return restore
