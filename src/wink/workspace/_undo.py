"""Take calls back, files and session state in one transaction, which is a call of its own that can be taken back too."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from typing import Final

from wink.dataclass import dataclass
from wink.errors import NothingToUndo, StateConflict, TransactionError, UndoConflict, UnknownCheckpoint
from wink.filesystem import (
    BETWEEN,
    CHANGED,
    COPIED_BYTES,
    GOES,
    FileChange,
    HostFilesystem,
    PuttingBack,
    Target,
    Versions,
    changed_by_others,
    obstacles,
    plan,
    preview,
)
from wink.limits import utc_now
from wink.record import CallFilter, CallView, Past, Record
from wink.session import Session
from wink.transactions import CommitEntry, current_transaction
from wink.workspace._storing import entry, store

_SECONDS: Final = 30.0
_numbers: Final = itertools.count(1)
_FEW: Final = 50

Everything = Callable[
    [Versions, Sequence[tuple[int, FileChange]]], tuple[dict[str, Target], list[tuple[str, str]], tuple[str, ...]]
]
"""Gives what has to become of each path, what stands in the way, and which paths stay, after these changes by calls."""


@dataclass(frozen=True, slots=True)
class Reverted:
    """What was taken back, or with `dry_run` would be.

    `call` is the number of the new call that did it, None for a dry run; `calls` are the numbers of those that were taken
    back. `changes` say what it did to files, `types` to which types of session state, as `module:Qualname`. `kept` are
    paths that calls had made and that stay: directories that somebody else put something into, files that somebody else
    wrote to. `lost` are sockets, FIFOs and devices that calls had taken away, and that do not come back. `forced` are paths
    that somebody else had changed since, and that went back all the same: what was there is kept by the new call.
    """

    call: int | None
    calls: tuple[int, ...]
    changes: tuple[FileChange, ...]
    types: tuple[str, ...]
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()


class Reverting:
    """Takes back transactions of one workspace."""

    def __init__(self, files: HostFilesystem, record: Record, sessions: Sequence[Session]) -> None:
        self._files, self._record, self._sessions = files, record, sessions

    def revert(
        self,
        verb: str,
        targets: Sequence[Past],
        arguments: object,
        *,
        dry_run: bool,
        paths: Sequence[str] = (),
        everything: Everything | None = None,
        confirm: Callable[[Reverted], object] | None = None,
        force: bool = False,
    ) -> Reverted:
        """Take back `targets`, newest first, and record it as a call of `verb`; raises `UndoConflict`.

        With `paths` only what was done to files there goes back, and no session state. With `everything` that decides what
        files have to become, and there need be no targets. `confirm` is told what will be done, and stops it by raising.
        The caller holds the lease, unless it is a dry run.
        """
        positions = {past.position for past in targets}
        first = min(positions, default=self._record.last_position() + 1)
        later: Callable[[], Sequence[tuple[int, FileChange]]] = partial(self._record.changes, first)
        if everything is None and len(positions) <= _FEW:
            # A record may hold very much else, and reading it takes longer than the undo itself.
            changes = [change for position in sorted(positions) for change in self._record.changes(position, position)]
            touched = {change.path for _, change in changes}
            # What is large is moved and not copied, wherever somebody wanted it.
            if len(touched) <= _FEW and not any(
                one.before is not None and one.before.size > COPIED_BYTES for _, one in changes
            ):
                later = partial(self._record.queries.changes_around, touched, first)
        else:
            changes = [change for change in later() if change[0] in positions]
        versions = Versions(self._files.places, later)
        if paths:
            changes = [change for change in changes if any(_is_in(change[1].path, path) for path in paths)]
            if not changes and everything is None:
                raise NothingToUndo("no call has changed anything there since")
        stays: tuple[str, ...] = ()
        if everything is None:
            wanted, conflicts = plan(versions, changes, force=force)
        else:
            wanted, conflicts, stays = everything(versions, changes)
            if not wanted and not conflicts and (paths or not targets):
                raise NothingToUndo("everything there is as it was" if paths else "everything is as it was")
        state = () if paths else targets
        try:
            self._record.check_reverts(state)
        except StateConflict as error:
            conflicts.append((error.type_name, error.reason))
        conflicts = conflicts or obstacles(versions, wanted)
        if conflicts:
            raise UndoConflict([self._blamed(versions, one, positions) for one in conflicts])
        calls = tuple(sorted(past.call for past in targets if past.call is not None))
        types = tuple(sorted({name for past in state for name in self._record.types_written(past)}))
        shown = preview(versions, wanted)
        gone = ((one.path, one.before) for _, one in changes)
        lost = tuple(sorted({path for path, before in gone if before is not None and before.kind == "other"}))
        others = changed_by_others(versions, changes) if force else []
        forced = tuple(sorted(path for path, _ in others if path in wanted))
        planned = Reverted(None, calls, shown, types, stays, lost, forced)
        if dry_run:
            return planned
        if confirm is not None:
            confirm(planned)
        session = targets[0].session if targets else "default"
        done, kept = self._apply(verb, session, state, arguments, versions, wanted)
        call = next((past.call for past in self._record.past(first) if past.transaction_id == done), None)
        changed = tuple(change for change in shown if change.path not in kept)
        return Reverted(call, calls, changed, types, (*kept, *stays), lost, forced)

    def _blamed(self, versions: Versions, conflict: tuple[str, str], targets: Container[int]) -> tuple[str, str]:
        """A conflict, naming the later call that it comes from, unless somebody else has changed the path after that."""
        path, reason = conflict
        if reason not in (CHANGED, GOES, BETWEEN):
            return conflict
        made = versions.changes.get(path, ())
        last = max((position for position, _ in made if position in targets), default=0)
        others = [one for one in made if one[0] not in targets and (one[0] > last) == (reason != BETWEEN)]
        if not others or (reason != BETWEEN and changed_by_others(versions, others[-1:])):
            return conflict
        undone = self._record.undone()
        later = (self._record.past(position, position)[0] for position, _ in reversed(others) if position not in undone)
        # What an undo has brought back is the work of the call before it.
        call = next((past.call for past in later if past.call is not None and not past.reverts), None)
        if call is None:
            return conflict
        when = "in between" if reason == BETWEEN else "since"
        return path, f"was changed {when} by c{call}, which is to stay; `wink undo c{call}` first"

    def _apply(
        self,
        verb: str,
        session: str,
        targets: Sequence[Past],
        arguments: object,
        versions: Versions,
        wanted: dict[str, Target],
    ) -> tuple[str, tuple[str, ...]]:
        transaction_id = f"{verb}-{time.time_ns():016x}-{os.getpid():x}-{next(_numbers):x}"
        started, clock = utc_now(), time.perf_counter()
        part = self._files.begin(writable=True, transaction_id=transaction_id)
        work = PuttingBack(part, versions, wanted)
        try:
            changes = work.run()
            part.revoke()
            part.prepare()
            took = timedelta(seconds=time.perf_counter() - clock)
            call = entry(transaction_id, verb, session, arguments, changes, started, took)
            with ExitStack() as held:
                # Nobody may commit on top of what is about to be taken back, until the sessions know of it.
                for opened in self._sessions:
                    held.enter_context(opened.locked())
                store(part, transaction_id, self._record, lambda: self._put(call, targets))
        except BaseException as error:
            part.undo()
            if isinstance(error, StateConflict):
                raise UndoConflict([(error.type_name, error.reason)]) from error
            raise
        return transaction_id, tuple(work.kept)

    def _put(self, call: CommitEntry, targets: Sequence[Past]) -> None:
        self._record.revert(call, targets)
        for opened in self._sessions:
            opened.reload()


def take_lease(files: HostFilesystem) -> ExitStack:
    """Wait until nobody else changes anything; to be used in a `with` block."""
    check_outside()
    held = ExitStack()
    files.write_lock.acquire(_SECONDS)
    held.callback(files.write_lock.release)
    return held


def check_outside() -> None:
    """Raise `TransactionError` inside a call."""
    if current_transaction() is not None:
        raise TransactionError("calls cannot be taken back from inside a call; do it when the call has ended")


def choose_last(record: Record, n: int, session: str | None = None) -> tuple[Past, ...]:
    """The last `n` calls, of one session or of all, that stand and changed anything to be seen, newest first.

    A restore counts as a call.
    """
    if n < 1:
        raise ValueError(f"cannot undo {n} calls; give a number from 1 on")
    undone = record.undone()
    found: list[Past] = []
    for past in _newest_first(record):
        if session not in (None, past.session) or past.call is None or past.effects == "read":
            continue
        if past.position in undone or _verb(past) in ("undo", "redo"):
            continue
        if past.changes or not record.types_written(past) <= UNSEEN:
            found.append(past)
            if len(found) == n:
                return tuple(found)
    calls = "is only 1 call" if len(found) == 1 else f"are only {len(found)} calls"
    where = "" if session is None else f" in session {session!r}"
    raise NothingToUndo(f"there {calls} to undo{where}" if found else f"there is nothing to undo{where}")


def choose_turn(record: Record, turn: int) -> tuple[Past, ...]:
    """What stands of the calls of one turn, newest first; of turn 0 those of the last one that has any."""
    numbers = [one.number for one in record.queries.turns()] if turn == 0 else [turn]
    undone = record.undone()
    for number in numbers:
        calls = record.queries.page(CallFilter(run=f"t{number}", changed=True), limit=None, brief=True, width=0)
        sure = {call.transaction for call in calls if call.committed and call.effects != "read"}
        positions = sure - undone
        guesses = [call for call in calls if call.effects == "read" and call.transaction not in undone]
        if guesses and not positions and (turn or not sure):
            one = ", ".join(f"`wink undo c{call.position}`" for call in reversed(guesses))
            raise NothingToUndo(f"what changed in turn {number} may be somebody else's; {one} takes it back")
        if positions:
            return tuple(record.past(position, position)[0] for position in sorted(positions, reverse=True))
    raise NothingToUndo("there is nothing to undo in " + (f"turn {turn}" if turn else "any turn"))


def choose_call(record: Record, call: int, transaction: int, *, committed: bool) -> tuple[Past, ...]:
    """The transaction of one call, which may be an undo itself."""
    if not committed:
        raise NothingToUndo(f"c{call} changed nothing, it did not commit")
    if transaction in record.undone():
        raise NothingToUndo(f"c{call} is undone already")
    (past,) = record.past(transaction, transaction)
    if not past.changes and past.inverse is None:
        raise NothingToUndo(f"c{call} changed neither files nor session state")
    return (past,)


def choose_since(record: Record, name: str, *, is_full: bool = False) -> tuple[Past, ...]:
    """Everything that was done since a checkpoint, newest first; raises `UnknownCheckpoint`.

    For one of everything that may be nothing: there is more than calls to take back.
    """
    known = {checkpoint.name: checkpoint for checkpoint in record.checkpoints()}
    if name not in known:
        raise UnknownCheckpoint(name, tuple(known))
    found = record.past(known[name].position + 1)
    if not found and not is_full:
        raise NothingToUndo(f"nothing was done since checkpoint {name!r}")
    return found[::-1]


def choose_after(record: Record, call: CallView) -> tuple[Past, ...]:
    """Everything that was done since a call, newest first."""
    found = record.past(call.transaction + 1)
    if not found:
        raise NothingToUndo(f"nothing was done since c{call.position}")
    return found[::-1]


def choose_undo(record: Record, session: str | None = None) -> tuple[Past, ...]:
    """The last undo that stands, of calls of one session or of all."""
    undone = record.undone()
    for past in _newest_first(record):
        if _verb(past) == "undo" and past.position not in undone and session in (None, past.session):
            return (past,)
    raise NothingToUndo("there is nothing to redo" + ("" if session is None else f" in session {session!r}"))


def verb_for(targets: Sequence[Past]) -> str:
    """Taking back an undo is a redo."""
    return "redo" if all(_verb(past) == "undo" for past in targets) else "undo"


STAMPS: Final = frozenset(("wink.filesystem._stamps:Stamp",))
"""What sessions know of files."""

UNSEEN: Final = STAMPS | {"wink.policies._state:PolicyState"}
"""Session state that changes with calls that only read: undoing those by counting would surprise people."""


def _newest_first(record: Record) -> Iterator[Past]:
    """All transactions; what is asked for is almost always among the last."""
    end, count = record.last_position(), 64
    while end > 0:
        first = max(end - count + 1, 1)
        yield from reversed(record.past(first, end))
        end, count = first - 1, count * 8


def _is_in(path: str, place: str) -> bool:
    return not place or path == place or path.startswith(place + "/")


def _verb(past: Past) -> str:
    return past.transaction_id.partition("-")[0] if past.reverts else ""
