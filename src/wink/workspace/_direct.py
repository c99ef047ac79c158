"""Record what programs change in a workspace's files outside of calls, and let snapshots be positions in the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from wink.errors import SnapshotMismatch
from wink.filesystem import FileChange, FilePart, FilesystemSnapshot
from wink.limits import utc_now
from wink.record import Record
from wink.session import Session
from wink.workspace._storing import entry, store
from wink.workspace._undo import STAMPS

TOOL: Final = "filesystem"
"""What stands in the log for a change that no call has made."""

_OPERATIONS: Final = {
    # what it is inside         how it is told, and its first arguments
    "write_bytes":             ("write", ("path",)),
    "_pour":                   ("write", ("path",)),
    "append_bytes":            ("append", ("path",)),
    "_append":                 ("append", ("path",)),
    "edit":                    ("edit", ("path",)),
    "delete":                  ("delete", ("path",)),
    "mkdir":                   ("mkdir", ("path",)),
    "move":                    ("move", ("path", "target")),
    "copy":                    ("copy", ("path", "target")),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moment:
    """The state after the transaction at `position`, whose id tells whether it is still the same record."""

    position: int
    transaction_id: str


class DirectChanges:
    """What a workspace's filesystem asks of the record when it is used directly.

    `sessions` gives the sessions that are open, `session` the one by a name.
    """

    def __init__(
        self, record: Record, sessions: Callable[[], Sequence[Session]], session: Callable[[str], Session]
    ) -> None:
        self._record, self._sessions, self._session = record, sessions, session

    # -- snapshots

    def mark(self) -> Moment:
        """After the last transaction."""
        return Moment(*self._record.transaction_at())

    def changes(self, since: object, until: object = None) -> Sequence[tuple[int, FileChange]]:
        """What was committed between two moments, by whatever process."""
        assert isinstance(since, Moment)
        assert until is None or isinstance(until, Moment)
        for moment in (since, until):
            if moment is not None and moment.position and not self._is_known(moment):
                raise SnapshotMismatch(moment.transaction_id, "is of a record that is not there any more")
        return self._record.changes(since.position + 1, None if until is None else until.position)

    def _is_known(self, moment: Moment) -> bool:
        return self._record.transaction_at(moment.position)[1] == moment.transaction_id

    def is_before(self, one: object, other: object) -> bool:
        """By position."""
        return isinstance(one, Moment) and isinstance(other, Moment) and one.position <= other.position

    # -- changes

    def commit(self, part: FilePart, operation: str, arguments: tuple[object, ...]) -> None:
        """Store what was changed as a call of `filesystem`; it belongs to no session more than to another."""
        transaction_id = part.transaction_id or ""
        snapshot = arguments[0] if arguments else None
        session, now = self._session(self._name()), utc_now()
        if not isinstance(snapshot, FilesystemSnapshot):
            said = _said(operation, arguments)
            call = entry(transaction_id, TOOL, session.name, said, part.changes(), now, timedelta(0))
            return store(part, transaction_id, self._record, lambda: self._record.commit(call))
        since = snapshot.mark
        assert isinstance(since, Moment)
        said = {"operation": operation, "snapshot": snapshot.tag or snapshot.snapshot_id}
        call = entry(transaction_id, TOOL, session.name, said, part.changes(), now, timedelta(0))

        def restored() -> None:
            # What sessions know of the files goes back with them.
            opened = self._sessions()
            with ExitStack() as held:
                for one in opened:
                    held.enter_context(one.locked())
                past = self._record.past(since.position + 1)[::-1]
                self._record.revert(call, past, only=STAMPS)
                for one in opened:
                    one.reload()

        return store(part, transaction_id, self._record, restored)

    def _name(self) -> str:
        opened = self._sessions()
        return opened[0].name if opened else next(iter(self._record.sessions()), "default")


def _said(operation: str, arguments: tuple[object, ...]) -> dict[str, object]:
    """The operation and its paths; the content is in the files."""
    known = _OPERATIONS.get(operation)
    if known is not None:
        return {"operation": known[0], **dict(zip(known[1], arguments, strict=False))}
    paths = [argument for argument in arguments if isinstance(argument, str)]
    return {"operation": operation.strip("_"), **({"paths": paths} if paths else {})}
