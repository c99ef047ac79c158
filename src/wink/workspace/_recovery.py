"""End the transactions of dead processes, by the record, or where that is no help by what a person decides."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final, Literal

from wink.errors import JournalNotOurs, RecordError, RollbackFailed, WorkspaceNeedsRecovery
from wink.filesystem import HostFilesystem, Recovered
from wink.record import Record
from wink.state import strange

Otherwise = Literal["keep", "undo"]
"""What to do with a transaction that recovery cannot end by itself."""


_BELONGING: Final = frozenset({"staged", "store.git", "results", "held", "history.bundle"})
"""What the record tells about: it is of use only together with it."""

_OF_RECORD: Final = ("record.db", "run-")


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
    from wink.workspace._undo import take_lease

    with take_lease(files):
        names = sorted(os.listdir(state))
        return _moved(state, [one for one in names if one in _BELONGING or one.startswith(_OF_RECORD)])


def put_strange_aside(state: str) -> tuple[tuple[str, ...], str]:
    """Move what wink never made, but for what stands in the record's place, to a directory of its own: names, and its path.

    No lease is taken, as that may be one of them.
    """
    names = tuple(one for one in strange(state) if not one.startswith(_OF_RECORD))
    return names, _moved(state, names) if names else ""


def put_journals_aside(recover: Callable[[], object], state: str) -> tuple[tuple[str, ...], str]:
    """The same for what lies among the journals and is none: `recover` stumbles over each, and ends the others."""
    names: list[str] = []
    place = ""
    while True:
        try:
            recover()
        except JournalNotOurs as error:
            place = place or _made_aside(state)
            os.rename(f"{state}/wal/{error.transaction_id}", f"{place}/{error.transaction_id}")
            names.append(error.transaction_id)
        else:
            return tuple(names), place


def _moved(state: str, names: Iterable[str]) -> str:
    place = _made_aside(state)
    for name in names:
        os.rename(f"{state}/{name}", f"{place}/{name}")
    return place


def _made_aside(state: str) -> str:
    from itertools import count

    from wink.limits import utc_now

    name = f"{state}/aside-{utc_now():%Y%m%dT%H%M%SZ}"
    for number in count():
        try:
            os.mkdir(place := f"{name}-{number}" if number else name, 0o700)
        except FileExistsError:
            continue  # of the same second
        return place
    raise AssertionError  # they do not end


def _recovered(files: HostFilesystem, timeout: float) -> tuple[Recovered, ...]:
    files.write_lock.acquire(timeout)
    try:
        return tuple(files.recovered)
    finally:
        files.write_lock.release()
