"""Say which transactions are active in this context, whose turn it is among them, who keeps them, and which limits they set."""

from __future__ import annotations

import threading
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Final, cast
from weakref import WeakKeyDictionary

from wink.filesystem import Filesystem, WriteLock
from wink.limits import BudgetTracker, Deadline, Heartbeat
from wink.session import Session

if TYPE_CHECKING:
    from wink.transactions._entry import Recorder
    from wink.transactions._transaction import Transaction

active: Final[ContextVar[Transaction | None]] = ContextVar("wink_transaction", default=None)
"""The innermost one."""


def current_transaction(context: Context | None = None) -> Transaction | None:
    """The innermost transaction that is active in this context, or in another one, which may be in use by a thread."""
    return active.get() if context is None else context.get(active)


def take_turn() -> None:
    """Wait until no other call changes files, as `Transaction.take_turn` says; does nothing outside of calls."""
    found = active.get()
    if found is not None:
        found.take_turn()


_turns: WeakKeyDictionary[Session, WriteLock] = WeakKeyDictionary()
_turns_lock = threading.Lock()


def turns_of(session: Session, root: Filesystem | None) -> WriteLock:
    """Whose turn it is to change things: that of the filesystem's calls, or of the session's where there are no files."""
    if root is not None:
        return root.write_lock
    with _turns_lock:
        turns = _turns.get(session)
        if turns is None:
            turns = _turns[session] = WriteLock(f"session {session.name!r}")
        return turns


def recorder_of(session: Session, root: Filesystem | None) -> Recorder | None:
    """Who keeps what calls of a session over these files do; None in memory."""
    if session.recorder is not None:
        return session.recorder
    return None if root is None else cast("Recorder | None", root.recorder)


def holds(turns: WriteLock) -> bool:
    """Whether a transaction that is active in this context already has this turn."""
    found = active.get()
    while found is not None:
        if turns_of(found.session, found.root) is turns:
            return True
        found = found.around
    return False


def turns_to_take(session: Session, root: Filesystem | None) -> WriteLock:
    """Whose turn a call that changes things has to wait for.

    Inside a call that has the turn already, calls come one at a time as well, and take turns of their own.
    """
    turns, around = turns_of(session, root), active.get()
    return around.inner_turns if around is not None and holds(turns) else turns


def limits_around() -> tuple[Deadline | None, tuple[BudgetTracker, ...]]:
    """The earliest deadline of the calls that are active in this context, and their budgets, outermost first."""
    deadline: Deadline | None = None
    trackers: list[BudgetTracker] = []
    found = active.get()
    while found is not None:
        if found.deadline is not None and (deadline is None or found.deadline.expires_at < deadline.expires_at):
            deadline = found.deadline
        if found.budget_tracker is not None and all(found.budget_tracker is not known for known in trackers):
            trackers.append(found.budget_tracker)
        found = found.around
    return deadline, tuple(reversed(trackers))


def heartbeats_around() -> tuple[Heartbeat, ...]:
    """The heartbeats of the calls that are active in this context, innermost first, each once."""
    hearts: list[Heartbeat] = []
    found = active.get()
    while found is not None:
        if found.heartbeat is not None and all(found.heartbeat is not known for known in hearts):
            hearts.append(found.heartbeat)
        found = found.around
    return tuple(hearts)


def outer_of(around: Transaction | None, session: Session, root: Filesystem | None) -> Transaction | None:
    """The next transaction around that one over this session and these files is a savepoint of."""
    while around is not None:
        if around.session is session:
            return around
        if root is not None and around.root is not None and root.write_lock is around.root.write_lock:
            return around
        around = around.around
    return None
