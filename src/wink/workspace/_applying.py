"""Change a workspace's files as a call of its own, outside of any run."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from wink.filesystem import FileChange, FileTransaction
from wink.limits import utc_now
from wink.workspace._names import session_name
from wink.workspace._storing import entry, store
from wink.workspace._undo import take_lease

if TYPE_CHECKING:
    from wink.transactions import CommitEntry
    from wink.workspace._workspace import Workspace

_numbers: Final = itertools.count(1)


def apply(
    workspace: Workspace,
    tool: str,
    arguments: object,
    work: Callable[[FileTransaction], object],
    *,
    session: str = "default",
    told: Callable[[CommitEntry], CommitEntry | None] | None = None,
) -> tuple[int | None, tuple[FileChange, ...]]:
    """Let `work` change files in one transaction, which is recorded as a call of `tool` and can be undone like one.

    `work` runs with the workspace's turn; if it raises, nothing has happened. Gives the call's number and what it changed;
    a `work` that changes nothing leaves no call. `told` says more of the call, of one that changes nothing too: it is given
    what would be stored, and gives what is, or None for nothing. Raises `WorkspaceBusy` and `CommitFailed`.
    """
    session_name(session)
    files, record = workspace.filesystem, workspace.record
    with take_lease(files):
        transaction_id = f"{tool}-{time.time_ns():016x}-{os.getpid():x}-{next(_numbers):x}"
        started, clock = utc_now(), time.perf_counter()
        part = files.begin(writable=True, transaction_id=transaction_id)
        try:
            work(part)
            part.revoke()
            changes = part.changes()
            took = timedelta(seconds=time.perf_counter() - clock)
            call = entry(transaction_id, tool, session, arguments, changes, started, took) if changes or told else None
            if call is not None and told is not None:
                call = told(call)
            if call is None:
                part.undo()
                return None, ()
            part.prepare()
            store(part, transaction_id, record, lambda: record.commit(call))
        except BaseException:
            part.undo()
            raise
    done = next((row.position for row in record.calls(None, 5) if row.transaction_id == transaction_id), None)
    return done, changes
