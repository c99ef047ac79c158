"""End the transactions of dead processes, by the record, or where that is no help by what a person decides."""

from __future__ import annotations

from typing import Final, Literal

from wink.errors import RecordError, RollbackFailed, WorkspaceNeedsRecovery
from wink.filesystem import HostFilesystem, Recovered
from wink.record import Record
from wink.state import strange

Otherwise = Literal["keep", "undo"]
"""What to do with a transaction that recovery cannot end by itself."""


_BELONGING: Final = frozenset({"staged", "store.git", "results", "held", "history.bundle"})
"""What the record tells about: it is of use only together with it."""


class _Decided:
    """Stands in for the record while a recovery is forced."""

    def __init__(self, record: Record | None, otherwise: Otherwise) -> None:
        self._record, self._otherwise = record, otherwise

    def committed(self, transaction_id: str) -> bool:
        """What the record says, where it says anything; a rollback that failed is not tried again with `keep`."""
        if self._otherwise == "keep":
            return True
        try:
            return self._record is not None and self._record.committed(transaction_id)
        except (WorkspaceNeedsRecovery, RecordError):
            return False


def recover(
    files: HostFilesystem, record: Record | None, timeout: float, otherwise: Otherwise | None
) -> tuple[Recovered, ...]:
    """Take the lease, which recovers; then, if something is left and `otherwise` is given, do as it says.

    Without a record everything is left to `otherwise`.
    """
    try:
        if record is not None:
            record.settle()
            return _recovered(files, timeout)
        if otherwise is None:
            raise ValueError("without a record somebody has to decide")
    except (RollbackFailed, WorkspaceNeedsRecovery, RecordError):
        if otherwise is None:
            raise
    before, files.recorder = files.recorder, _Decided(record, otherwise)
    try:
        return _recovered(files, timeout)
    finally:
        files.recorder = before


def put_aside(files: HostFilesystem, state: str) -> str:
    """Move a record that cannot be used, and what only it can tell about, to a directory of its own in the state; its path.

    The caller has made sure that it cannot be used, and that no call was left half done. Raises `WorkspaceBusy`.
    """
    import os

    from wink.limits import utc_now
    from wink.workspace._undo import take_lease

    others = strange(state)
    with take_lease(files):
        place = os.path.join(state, f"aside-{utc_now():%Y%m%dT%H%M%SZ}")
        os.mkdir(place, 0o700)
        for name in sorted(os.listdir(state)):
            if name in _BELONGING or name in others or name.startswith(("record.db", "run-")):
                os.rename(os.path.join(state, name), os.path.join(place, name))
    return place


def _recovered(files: HostFilesystem, timeout: float) -> tuple[Recovered, ...]:
    files.turns.acquire(timeout)
    try:
        return tuple(files.recovered)
    finally:
        files.turns.release()
