"""Make a call's writes to session, files and resources one step that happens or does not.

Rules of this module, which every other part of wink relies on:

* Beginning is O(1) and touches no disk.
* There is one commit point: the record's COMMIT where there is a recorder, otherwise the file part's publish.
* Whatever fails before it undoes everything; nothing after it may fail.
* A transaction begun while another of the same session or tree is active in this context is a savepoint of it: it
  commits into it, and is undone with it.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Final, Literal, cast
from weakref import WeakKeyDictionary

from wink.errors import CommitFailed, RollbackFailed, WinkError, WorkspaceNeedsRecovery
from wink.filesystem import FileChange, FilePart, Filesystem, Stamp, Turns
from wink.resources import ResourceContext, Snapshotable
from wink.session import Session, SessionPart, SliceDelta, Upsert
from wink.transactions._change import Change
from wink.transactions._entry import CommitEntry, Recorder

State = Literal["open", "committed", "rolled back", "in doubt"]
"""What became of a transaction; `in doubt` is for recovery to find out."""

MakeEntry = Callable[[tuple[SliceDelta, ...], tuple[FileChange, ...]], CommitEntry]
"""Builds the record's entry when deltas and changes are known, just before the commit point."""

_current: ContextVar[Transaction | None] = ContextVar("wink_transaction", default=None)
_numbers: Final = itertools.count(1)


def current_transaction() -> Transaction | None:
    """The innermost transaction that is active in this context."""
    return _current.get()


def _unknown(path: str) -> Stamp:
    """What a session knows of a file that is gone: nothing, and no content has this digest."""
    return Stamp(path, digest="", size=0, ranges=(), complete=False)


_turns: WeakKeyDictionary[Session, Turns] = WeakKeyDictionary()
_turns_lock = threading.Lock()


def turns_of(session: Session, root: Filesystem | None) -> Turns:
    """Whose turn it is to change things: that of the filesystem's calls, or of the session's where there are no files."""
    if root is not None:
        return root.turns
    with _turns_lock:
        turns = _turns.get(session)
        if turns is None:
            turns = _turns[session] = Turns(f"session {session.name!r}")
        return turns


def holds(turns: Turns) -> bool:
    """Whether a transaction that is active in this context already has this turn."""
    found = _current.get()
    while found is not None:
        if turns_of(found.session, found.root) is turns:
            return True
        found = found.outer
    return False


class Transaction:
    """One call's changes to a session, a filesystem and snapshotable resources.

    Made with `begin`; then `enter`/`leave` around foreign code, and exactly one of `commit` and `abort`.
    """

    __slots__ = (
        "_filepart",
        "_guard",
        "_recorder",
        "_restorable",
        "_root",
        "_session",
        "_sessionpart",
        "_token",
        "_token_session",
        "id",
        "nested",
        "outer",
        "state",
    )

    def __init__(
        self, session: Session, resources: ResourceContext | None, *, root: Filesystem | None, writable: bool
    ) -> None:
        self.id: str = f"{time.time_ns():016x}-{os.getpid():x}-{next(_numbers):x}"
        self.outer: Transaction | None = _current.get()
        self.state: State = "open"
        self.nested: list[CommitEntry] = []
        """The calls inside this one that have ended, for the record."""
        self._session = session
        self._root = root
        self._restorable: list[tuple[Snapshotable[object], object]] = []
        recorder = session.recorder or (root.recorder if root is not None else None)
        # A savepoint is recorded with the transaction that it belongs to.
        self._recorder: Recorder | None = cast("Recorder | None", recorder) if self.outer is None else None
        if self._recorder is not None:
            self._recorder.refresh(session)
        self._sessionpart: SessionPart = session.begin()
        self._filepart: FilePart | None = None if root is None else self._begin_files(root, writable)
        if resources is not None:
            self._snapshot(resources)

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
    def recorder(self) -> Recorder | None:
        """Who keeps this call; None in memory and for savepoints."""
        return self._recorder

    def logged(self) -> tuple[SliceDelta, ...]:
        """What was written to logs; it stands, whatever becomes of the rest."""
        return self._sessionpart.logged()

    def file_part_of(self, root: Filesystem) -> FilePart | None:
        """The part that this or an outer transaction has in `root`."""
        found: Transaction | None = self
        while found is not None:
            if found._root is root:
                return found._filepart
            found = found.outer
        return None

    def enter(self) -> None:
        """Make the transaction the current one of this context (and of contexts copied from it)."""
        self._token: Token[Transaction | None] = _current.set(self)
        self._token_session = self._sessionpart.enter()
        self._guard = None if self._filepart is None else self._filepart.guard()

    def leave(self) -> None:
        """Undo `enter`, in the same context."""
        if self._filepart is not None and self._guard is not None:
            self._filepart.unguard(self._guard)
        self._sessionpart.exit(self._token_session)
        _current.reset(self._token)

    # -- its end

    def note_reads(self) -> None:
        """Keep in the session what the call read and wrote, so that policies can judge later calls by it."""
        if self._filepart is None:
            return
        noted = self._filepart.noted()
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

    def commit(self, entry: MakeEntry) -> Change:
        """Make everything stand, or raise `CommitFailed` with everything undone.

        Raises `WorkspaceNeedsRecovery` when it cannot be told which of the two happened; then the files stay as they are
        until recovery has looked.
        """
        files, recorder = self._filepart, self._recorder
        try:
            changes = files.changes() if files is not None and files.dirty else ()
            deltas = self._sessionpart.prepare()
            if files is not None:
                files.prepare()
            if self.outer is not None:
                self.outer.nested += [*self.nested, entry(deltas, changes)]
            if recorder is not None:
                recorder.commit(entry(deltas, changes), self.nested)
            elif files is not None:
                files.publish()
        except BaseException as error:
            if not self._stands(error):
                raise self._failed(error) from error
            self._publish()
            raise
        self._publish()
        return Change(tuple(changes))

    def _publish(self) -> None:
        """After the commit point: nothing here may fail, and a second time does nothing."""
        self.state = "committed"
        try:
            if self._filepart is not None:
                self._filepart.publish()
        finally:
            self._sessionpart.publish()

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
                self._filepart.leave()
            raise

    def _failed(self, error: BaseException) -> BaseException:
        """Undo everything, and say so in the right words."""
        self.abort()
        if not isinstance(error, Exception) or isinstance(error, RollbackFailed):
            return error
        return CommitFailed(f"could not commit: {error if isinstance(error, WinkError) else type(error).__name__}")

    def abort(self) -> Change:
        """Take everything back; raises `RollbackFailed` when that cannot be done, after taking back all that can.

        What has been committed, undone, or is in doubt, stays as it is.
        """
        if self.state != "open":
            return Change(rolled_back=self.state == "rolled back")
        self.state = "rolled back"
        self.revoke()
        files = self._filepart
        changes = files.changes() if files is not None and files.dirty else ()
        failed: list[str] = []
        reasons: list[str] = []
        try:
            if files is not None:
                files.undo()
        except RollbackFailed as error:
            failed += error.paths
            reasons.append(error.reason)
        self._sessionpart.undo()
        for resource, state in reversed(self._restorable):
            try:
                resource.restore(state)
            except Exception as error:  # foreign code
                reasons.append(f"{type(resource).__name__}.restore raised {type(error).__name__}")
        if reasons:
            raise RollbackFailed(failed, "; ".join(reasons))
        return Change(tuple(changes), rolled_back=True)

    # -- parts

    def _begin_files(self, root: Filesystem, writable: bool) -> FilePart:
        outer = None if self.outer is None else self.outer.file_part_of(root)
        if outer is not None:
            return outer.savepoint(writable=writable, seen=self._seen)
        return root.begin(writable=writable, seen=self._seen, transaction_id=self.id)

    def _seen(self, path: str) -> Stamp | None:
        return self._session[Stamp].get(path)

    def _snapshot(self, resources: ResourceContext) -> None:
        for _, resource in resources.snapshotables():
            if not isinstance(resource, Filesystem):
                self._restorable.append((resource, resource.snapshot()))
