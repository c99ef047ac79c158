"""Take and restore the state of a session and its resources by hand, outside the executor."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from wink.filesystem import Filesystem
from wink.limits import utc_now
from wink.resources import ResourceContext, Snapshotable
from wink.session import Session, Snapshot
from wink.transactions import CommitEntry, Transaction


@dataclass(frozen=True, slots=True)
class CompositeSnapshot:
    """The state of a session and of the resources that can be restored, at one moment. `tag` is the caller's own."""

    session: Snapshot
    resources: tuple[tuple[Snapshotable[Any], Any], ...]
    tag: str | None = None


def create_snapshot(
    session: Session, resource_context: ResourceContext | None, tag: str | None = None
) -> CompositeSnapshot:
    """The state of `session` and of every snapshotable resource that has been built."""
    resources = () if resource_context is None else resource_context.snapshotables()
    return CompositeSnapshot(session.snapshot(), tuple((value, value.snapshot()) for _, value in resources), tag)


def restore_snapshot(session: Session, resource_context: ResourceContext | None, snapshot: CompositeSnapshot) -> None:
    """Bring `session` and the resources back to a snapshot; log slices keep what was appended since.

    `resource_context` is part of the signature that programs know; the snapshot itself knows its resources.
    """
    del resource_context
    session.restore(snapshot.session, preserve_logs=True)
    for resource, state in reversed(snapshot.resources):
        resource.restore(state)


@contextmanager
def tool_transaction(
    session: Session, resource_context: ResourceContext | None, tag: str | None = None
) -> Generator[Transaction]:
    """Run a block as one transaction over session, files and resources: it commits at the end, or rolls back if it raises.

    Inside the block `transaction.filesystem` is the handle on the files, and writes to `session` are part of it. In a
    workspace the block is recorded under `tag`; inside a tool call it is a savepoint of that call.
    """
    started_at, started = utc_now(), time.perf_counter()
    root = None if resource_context is None else resource_context.get_optional(Filesystem)
    transaction = Transaction(session, resource_context, root=root, writable=True)
    transaction.enter()
    try:
        try:
            yield transaction
            transaction.note_reads()
        except BaseException:
            transaction.abort()
            raise
        transaction.revoke()
        transaction.commit(
            lambda deltas, changes: CommitEntry(
                transaction_id=transaction.id,
                session=session.name,
                call_id="",
                tool=tag or "transaction",
                prompt="",
                arguments="{}",
                outcome="committed",
                rendered="",
                started_at=started_at,
                duration=timedelta(seconds=time.perf_counter() - started),
                decisions=(),
                deltas=deltas,
                changes=changes,
            )
        )
    finally:
        transaction.leave()
