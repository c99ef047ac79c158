"""Make calls on a workspace without a model: what the executor does for one call, in a few lines."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from wink.filesystem import FileChange, Filesystem
from wink.session import Session, SliceDelta
from wink.transactions import CommitEntry, Transaction
from wink.workspace import Workspace

Work = Callable[[Filesystem, Session], object]


def call(workspace: Workspace, work: Work, *, session: str = "default", tool: str = "work", fail: bool = False) -> int:
    """Let `work` change files and session in one call; the number of the call in the record."""
    state, files = workspace.session(session), workspace.filesystem
    outcome = "rolled back" if fail else "committed"

    def entry(deltas: tuple[SliceDelta, ...], changes: tuple[FileChange, ...]) -> CommitEntry:
        return CommitEntry(
            transaction.id, session, "call", tool, "demo", '{"a": "b"}', outcome, "done",
            datetime.now(UTC), timedelta(0), (("careful", True, None, False),), deltas, changes,
        )  # fmt: skip

    files.write_lock.acquire(10)
    try:
        transaction = Transaction(state, None, root=files, writable=True)
        transaction.enter()
        try:
            assert transaction.filesystem is not None
            work(transaction.filesystem, state)
            transaction.note_reads()
        finally:
            transaction.leave()
        transaction.revoke()
        if fail:
            change = transaction.abort()
            transaction.record_attempt(entry((), change.files))
        else:
            transaction.commit(entry)
    finally:
        files.write_lock.release()
    return workspace.calls(limit=1)[0].position
