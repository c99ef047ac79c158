"""Store what a part has changed among the files as a call of its own, and know whether it was stored."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from wink.errors import WorkspaceNeedsRecovery
from wink.filesystem import FileChange, FileTransaction, quoted_path
from wink.record import Record
from wink.transactions import CommitEntry


def store(part: FileTransaction, transaction_id: str, record: Record, put: Callable[[], None]) -> None:
    """Let `put` store a prepared part, and publish it; whoever gets an exception may undo the part in any case.

    What was stored in spite of an interruption stands, and where nobody knows the files are left to recovery: undoing does
    nothing then.
    """
    try:
        put()
    except BaseException as error:
        try:
            if isinstance(error, WorkspaceNeedsRecovery):
                raise
            stands = record.committed(transaction_id)
        except WorkspaceNeedsRecovery:
            part.leave()
            raise
        if stands:
            _publish(part)
        raise
    _publish(part)


def entry(
    transaction_id: str,
    tool: str,
    session: str,
    arguments: object,
    changes: tuple[FileChange, ...],
    started: datetime,
    took: timedelta,
    run: str = "",
) -> CommitEntry:
    """The call as the record keeps it."""
    paths = ", ".join(quoted_path(change.path) for change in changes) or "no file"
    return CommitEntry(
        transaction_id=transaction_id,
        session=session,
        call_id=transaction_id,
        tool=tool,
        prompt="",
        arguments=json.dumps(arguments),
        outcome="committed",
        rendered=f"{tool}: {paths}",
        started_at=started,
        duration=took,
        decisions=(),
        deltas=(),
        changes=changes,
        run=run,
    )


def _publish(part: FileTransaction) -> None:
    try:
        part.publish()
    except Exception:  # the record has it, and recovery will find what is left of the journal
        logging.getLogger("wink.workspace").exception(
            "transaction %s stands, but is not tidied up", part.transaction_id
        )
