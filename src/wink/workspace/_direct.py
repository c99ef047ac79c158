"""Record what programs change in a workspace's files outside of calls, and let snapshots be positions in the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Final

from wink.dataclass import dataclass
from wink.errors import SnapshotMismatch
from wink.filesystem import FileChange, FilesystemSnapshot, FileTransaction
from wink.limits import utc_now
from wink.record import Record
from wink.session import Session
from wink.workspace._storing import entry, store
from wink.workspace._undo import STAMPS

TOOL: Final = "filesystem"
"""What stands in the log for a change that no call has made."""

_ARGUMENTS: Final = {
    **dict.fromkeys(("write", "append", "edit", "delete", "mkdir"), ("path",)),
    **dict.fromkeys(("move", "copy", "symlink"), ("path", "target")),
}
"""What is recorded of an operation's first arguments, and under which names."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The state after the transaction at `position`, whose id tells whether it is still the same record."""

    position: int
    transaction_id: str


class DirectChanges:
    """What a workspace's filesystem asks of the record when it is used directly.

    `sessions` gives the sessions that are open, `session` the one by a name, `commit_at` the commit at a position.
    """

    def __init__(
        self,
        record: Record,
        sessions: Callable[[], Sequence[Session]],
        session: Callable[[str], Session],
        commit_at: Callable[[int], str | None],
    ) -> None:
        self._record, self._sessions, self._session, self._commit_at = record, sessions, session, commit_at

    # -- snapshots

    def mark(self) -> Moment:
        """After the last transaction."""
        return Moment(*self._record.transaction_at())

    def changes(self, since: object, until: object = None) -> Sequence[tuple[int, FileChange]]:
        """What was committed between two moments, by whatever process."""
        assert isinstance(since, Moment)
        assert until is None or isinstance(until, Moment)
        for moment in (since, until):
            if moment is not None:
                self._check(moment)
        return self._record.changes(since.position + 1, None if until is None else until.position)

    def _check(self, moment: Moment) -> None:
        if moment.position and self._record.transaction_at(moment.position)[1] != moment.transaction_id:
            raise SnapshotMismatch(moment.transaction_id, "is of a record that is not there any more")

    def is_before(self, one: object, other: object) -> bool:
        """By position."""
        return isinstance(one, Moment) and isinstance(other, Moment) and one.position <= other.position

    def commit_of(self, mark: object) -> str | None:
        """What the history has at its position."""
        assert isinstance(mark, Moment)
        self._check(mark)
        return self._commit_at(mark.position)

    # -- changes

    def commit(self, part: FileTransaction, verb: str, arguments: tuple[object, ...]) -> None:
        """Store what was changed as a call of `filesystem`; it belongs to no session more than to another."""
        transaction_id = part.transaction_id or ""
        snapshot = arguments[0] if arguments else None
        session, now = self._session(self._name()), utc_now()
        if not isinstance(snapshot, FilesystemSnapshot):
            said = _said(verb, arguments)
            call = entry(transaction_id, TOOL, session.name, said, part.changes(), now, timedelta(0))
            return store(part, transaction_id, self._record, lambda: self._record.commit(call))
        since = snapshot.mark
        assert isinstance(since, Moment)
        said = {"operation": verb, "snapshot": snapshot.tag or snapshot.snapshot_id}
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


def _said(verb: str, arguments: tuple[object, ...]) -> dict[str, object]:
    """The operation and its paths; the content is in the files."""
    names = _ARGUMENTS.get(verb)
    if names is not None:
        return {"operation": verb, **dict(zip(names, arguments, strict=False))}
    paths = [argument for argument in arguments if isinstance(argument, str)]
    return {"operation": verb, **({"paths": paths} if paths else {})}
