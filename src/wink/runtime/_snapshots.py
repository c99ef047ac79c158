"""Take and restore the state of a session and its resources by hand, outside the executor."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any

from wink.dataclass import dataclass
from wink.errors import RollbackFailed
from wink.filesystem import FileChange, Filesystem
from wink.limits import is_interruption, said_by, utc_now
from wink.resources import ResourceContext, Snapshotable
from wink.runtime._waiting import LEASE_SECONDS
from wink.session import Session, SliceDelta, Snapshot
from wink.transactions import CommitEntry, Outcome, Transaction, turns_to_take


@dataclass(frozen=True, slots=True)
class CompositeSnapshot:
    """The state of a session and of the resources that can be restored, at one moment. `tag` is the caller's own."""

    session: Snapshot
    resources: tuple[tuple[Snapshotable[Any], Any], ...]
    tag: str | None = None


def create_snapshot(
    session: Session, resource_context: ResourceContext | None, tag: str | None = None
) -> CompositeSnapshot:
    """The state of `session` and of every snapshotable resource that has been built, files among them.

    Inside a call the files are those of its handle, and their part of the snapshot ends with the call.
    """
    resources = () if resource_context is None else resource_context.snapshotables()
    reached = [_reached(value, resource_context) for _, value in resources]
    return CompositeSnapshot(session.snapshot(), tuple((value, value.snapshot()) for value in reached), tag)


def restore_snapshot(
    session: Session, resource_context: ResourceContext | None, snapshot: CompositeSnapshot | Transaction
) -> None:
    """Bring `session` and the resources back to a snapshot; log slices keep what was appended since.

    Given what `tool_transaction` yields, it rolls that block back, which is over then: nothing of it is kept.

    Raises `RollbackFailed` when a resource cannot be restored, after restoring all the others. The snapshot knows its
    resources; `resource_context` says whether the files are reached through the handle of a call.
    """
    if isinstance(snapshot, Transaction):
        snapshot.abort()
        return
    reasons: list[str] = []
    for resource, state in reversed(snapshot.resources):
        try:
            _reached(resource, resource_context).restore(state)
        except BaseException as error:  # foreign code
            if is_interruption(error):
                raise
            reasons.append(f"{type(resource).__name__}.restore raised {type(error).__name__}: {said_by(error)}")
    session.restore(snapshot.session, preserve_logs=True)
    if reasons:
        raise RollbackFailed((), "; ".join(reasons))


def _reached(resource: Snapshotable[Any], resources: ResourceContext | None) -> Snapshotable[Any]:
    """The resource, or in a call over the same files the handle: the files themselves refuse to be used beside it."""
    if resources is None or not isinstance(resource, Filesystem):
        return resource
    here = resources.get_optional(Filesystem)
    return here if here is not None and here.write_lock is resource.write_lock else resource


@contextmanager
def tool_transaction(
    session: Session, resource_context: ResourceContext | None, tag: str | None = None
) -> Generator[Transaction]:
    """Run a block as one transaction over session, files and resources: it commits at the end, or rolls back if it raises.

    Inside the block `transaction.filesystem` is the handle on the files, and what `resource_context` gives for
    `Filesystem`; writes to `session` are part of it. In a workspace the block is recorded under `tag`, also when it was
    rolled back; inside a tool call it is a savepoint of that call. The block has the turn of a call that changes things:
    raises `WorkspaceBusy` when it does not come.
    """
    started_at, started = utc_now(), time.perf_counter()

    def entry(
        deltas: tuple[SliceDelta, ...], changes: tuple[FileChange, ...], outcome: Outcome = "committed"
    ) -> CommitEntry:
        return CommitEntry(
            transaction_id=transaction.id,
            session=session.name,
            call_id="",
            tool=tag or "transaction",
            prompt="",
            arguments="{}",
            outcome=outcome,
            rendered="",
            started_at=started_at,
            duration=timedelta(seconds=time.perf_counter() - started),
            decisions=(),
            deltas=deltas,
            changes=changes,
        )

    root = None if resource_context is None else resource_context.get_optional(Filesystem)
    turns = turns_to_take(session, root)
    turns.acquire(LEASE_SECONDS)
    try:
        transaction = Transaction(session, resource_context, root=root, writable=True)
        transaction.enter()
        try:
            try:
                with _handle_for(resource_context, transaction.filesystem):
                    yield transaction
                if transaction.state == "open":
                    transaction.note_reads()
                    transaction.revoke()
                    transaction.commit(entry)
            except BaseException:
                transaction.abort()
                raise
            finally:
                if transaction.state == "rolled back":
                    transaction.record_attempt(entry(transaction.logged(), transaction.change.files, "rolled back"))
        finally:
            transaction.leave()
    finally:
        turns.release()


def _handle_for(resources: ResourceContext | None, files: Filesystem | None) -> AbstractContextManager[None]:
    """Let `resources` give the transaction's own handle: the files themselves refuse to be used beside it."""
    return nullcontext() if resources is None or files is None else resources.standing_in({Filesystem: files})
