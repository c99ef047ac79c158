"""Take calls back, files and session state in one transaction, which is a call of its own that can be taken back too."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass, replace
from wink.errors import NothingToUndo, StateConflict, TransactionError, UndoConflict, UnknownCheckpoint
from wink.filesystem import (
    BETWEEN,
    CHANGED,
    COPIED_BYTES,
    GOES,
    OBJECT_GONE,
    FileChange,
    HostFilesystem,
    PuttingBack,
    Target,
    Versions,
    changed_by_others,
    is_git_object,
    obstacles,
    plan,
    preview,
)
from wink.limits import utc_now
from wink.record import CallFilter, Past, Record
from wink.session import Session
from wink.transactions import CommitEntry, current_transaction
from wink.workspace._storing import entry, store

if TYPE_CHECKING:
    import sqlite3

_SECONDS: Final = 30.0
_numbers: Final = itertools.count(1)
_NAMED: Final = 9
PERSONS: Final = ("undo-", "redo-", "restore-")
"""What the transactions begin with that are a person's, in whatever session they stand."""
"""So many names and calls are told in one line."""

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
        alone: bool = False,
        run: str = "",
        also: Callable[[sqlite3.Connection], object] | None = None,
    ) -> Reverted:
        """Take back `targets`, newest first, and record it as a call of `verb`, in `run`; raises `UndoConflict`.

        With `paths` only what was done to files there goes back, and no session state. With `everything` that decides what
        files have to become, and there need be no targets. `confirm` is told what will be done, and stops it by raising.
        With `alone` a file that a later call has moved elsewhere is in the way. `also` stores more together with it. The caller holds the lease, unless it is a dry run.
        """
        positions = {past.position for past in targets}
        first = min(positions, default=self._record.last_position() + 1)
        later: Callable[[], Sequence[tuple[int, FileChange]]] = partial(self._record.changes, first)
        if everything is None and 2 * len(positions) <= self._record.last_position() - first:
            # A record may hold very much else, and reading it takes longer than the undo itself.
            changes = self._record.changes_of(positions)
            # What is large is moved and not copied, wherever somebody wanted it.
            if not any(one.before is not None and one.before.size > COPIED_BYTES for _, one in changes):
                later = partial(self._record.queries.changes_around, {one.path for _, one in changes}, first)
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
            if alone:
                known = {*wanted, *dict(conflicts)}
                conflicts += [(path, CHANGED) for path in sorted(self._moved_on(versions, changes) - known)]
        else:
            wanted, conflicts, stays = everything(versions, changes)
            if not wanted and not conflicts and (paths or not targets):
                raise NothingToUndo("everything there is as it was" if paths else "everything is as it was")
        state = () if paths else targets
        try:
            self._record.check_reverts(state)
        except StateConflict as error:
            conflicts.append((error.type_name, error.reason))
        conflicts = conflicts or obstacles(versions, wanted) or self._objects_gone(versions, targets)
        if conflicts:
            raise UndoConflict(self._blamed(versions, conflicts, targets))
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
        done, kept = self._apply(verb, session, state, (arguments, run), versions, wanted, also)
        call = next((past.call for past in _newest_first(self._record) if past.transaction_id == done), None)
        changed = tuple(change for change in shown if change.path not in kept)
        return Reverted(call, calls, changed, types, (*kept, *stays), lost, forced)

    def _objects_gone(self, versions: Versions, targets: Sequence[Past]) -> list[tuple[str, str]]:
        """Objects of git's that an undo has left, and that are gone by now: what is done again would name them."""
        before, more = set[int](), {at for past in targets for at in past.reverts}
        while more:
            before |= more
            more = {at for past in self._record.past_of(among=more) for at in past.reverts} - before
        made = self._record.changes_of(before) if before else ()
        return [
            (change.path, OBJECT_GONE)
            for _, change in made
            if change.after is not None and is_git_object(change.path) and versions.present(change.path) is None
        ]

    def _blamed(
        self, versions: Versions, conflicts: Sequence[tuple[str, str]], targets: Sequence[Past]
    ) -> list[tuple[str, str]]:
        """The conflicts, naming the later calls that they come from, and somebody else who has changed the path after them."""
        mine, theirs = {past.position for past in targets}, dict[str, list[tuple[int, FileChange]]]()
        for path, reason in conflicts:
            made = versions.changes.get(path, ()) if reason in (CHANGED, GOES, BETWEEN) else ()
            own = [position for position, _ in made if position in mine] or [0]
            after = own[0] if reason == BETWEEN else own[-1]
            theirs[path] = [one for one in made if one[0] not in mine and one[0] > after]
        standing = {position for made in theirs.values() for position, _ in made} - self._record.undone()
        # What an undo has brought back is the work of the call before it.
        known = {past.position: past for past in self._record.past_of(among=standing) if not past.reverts}
        sessions = {past.session for past in targets}
        found: list[tuple[str, str]] = []
        for path, reason in conflicts:
            calls = [known[at] for at, _ in reversed(theirs[path]) if at in known]
            of = ["" if one.session in sessions else f" of session {one.session!r}" for one in calls]
            names = ", ".join(f"c{one.call}{its}" for one, its in zip(calls[:_NAMED], of, strict=False))
            names += f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
            if calls and reason != BETWEEN and changed_by_others(versions, theirs[path][-1:]):
                reason = f"{CHANGED}, and before that by {names}"
            elif calls:
                when, stay = "in between" if reason == BETWEEN else "since", "are" if len(calls) > 1 else "is"
                reason = f"was changed {when} by {names}, which {stay} to stay; `wink undo c{calls[0].call}` first"
            found.append((path, reason))
        return found

    def _moved_on(self, versions: Versions, changes: Sequence[tuple[int, FileChange]]) -> set[str]:
        """The paths of files that calls which stay have moved elsewhere since."""
        undone = self._record.undone()
        moved = [
            (path, at)
            for path, (position, left) in {one.path: (at, one.after) for at, one in changes}.items()
            for at, change in versions.changes[path]
            if at > position and at not in undone and left is not None and change.after is None
            if change.before is not None and versions.arrived(change.before, at)
        ]
        calls = self._record.past_of(among={at for _, at in moved}) if moved else ()
        theirs = {past.position for past in calls if not past.reverts}
        return {path for path, at in moved if at in theirs}

    def _apply(
        self,
        verb: str,
        session: str,
        targets: Sequence[Past],
        call_of: tuple[object, str],
        versions: Versions,
        wanted: dict[str, Target],
        also: Callable[[sqlite3.Connection], object] | None,
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
            call = entry(transaction_id, verb, session, call_of[0], changes, started, took, call_of[1])
            with ExitStack() as held:
                # Nobody may commit on top of what is about to be taken back, until the sessions know of it.
                for opened in self._sessions:
                    held.enter_context(opened.locked())
                store(part, transaction_id, self._record, lambda: self._put(call, targets, also))
        except BaseException as error:
            part.undo()
            if isinstance(error, StateConflict):
                raise UndoConflict([(error.type_name, error.reason)]) from error
            raise
        return transaction_id, tuple(work.kept)

    def _put(
        self, call: CommitEntry, targets: Sequence[Past], also: Callable[[sqlite3.Connection], object] | None
    ) -> None:
        self._record.revert(call, targets, also=also)
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


def choose_last(record: Record, n: int) -> tuple[Past, ...]:
    """The last `n` calls that stand and changed anything to be seen, newest first; a restore counts as a call."""
    undone = record.undone()
    found = (past for past in _newest_first(record) if past.position not in undone)
    return _last((past for past in found if _verb(past) not in ("undo", "redo") and _counts(record, past)), n, "")


def choose_of(record: Record, of: Mapping[str, str], n: int | None) -> tuple[Past, ...]:
    """What stands of the calls of one `session`, `agent` or `run`, newest first, or the last `n` of it."""
    whose = " ".join(f"{'by' if kind == 'agent' else 'in'} {kind} {name!r}" for kind, name in of.items())
    found = _standing(record, replace(CallFilter(), **of), whose)
    if not found:
        turns = record.queries.turns()[::-1]
        runs = *(f"r{row.number}" for row in record.runs.rows()), *(turn.run for turn in turns)
        known = {"session": record.sessions(), "agent": {turn.agent: 1 for turn in turns}, "run": runs}
        there = (f"the {kind}s here are {', '.join([*known[kind]][-_NAMED:]) or 'none'}" for kind in of)
        raise NothingToUndo(f"there is nothing to undo {whose}; {'; '.join(there)}")
    return found if n is None else _last(found, n, f" {whose}")


def choose_turn(record: Record) -> tuple[Past, ...]:
    """What stands of the calls of the last turn that has any, newest first."""
    for turn in record.queries.turns():
        if found := _standing(record, CallFilter(run=turn.run), f"in turn {turn.number}"):
            return found
    raise NothingToUndo("there is nothing to undo in any turn")


def choose_turns(record: Record, numbers: Collection[int]) -> tuple[Past, ...]:
    """What stands of the calls of these turns, newest first."""
    undone = record.undone()
    calls = [past for number in numbers for past in record.past_of(CallFilter(run=f"t{number}"))]
    found = [past for past in calls if past.position not in undone and _counts(record, past)]
    if not found:
        raise NothingToUndo("there is nothing to undo in these turns")
    return tuple(sorted(found, key=lambda past: past.position, reverse=True))


def _last(found: Iterable[Past], n: int, whose: str) -> tuple[Past, ...]:
    if n < 1:
        raise ValueError(f"cannot undo {n} calls; give a number from 1 on")
    chosen = tuple(itertools.islice(found, n))
    if len(chosen) < n:
        calls = "is only 1 call" if len(chosen) == 1 else f"are only {len(chosen)} calls"
        raise NothingToUndo(f"there {calls} to undo{whose}" if chosen else f"there is nothing to undo{whose}")
    return chosen


def _standing(record: Record, wanted: CallFilter, whose: str) -> tuple[Past, ...]:
    """What stands of the calls that fit and changed anything to be seen, newest first.

    Raises `NothingToUndo` where all that they changed may be somebody else's.
    """
    undone = record.undone()
    # A restore of some paths, or of no calls, notes none that it reverts, and is nobody's either.
    found = [one for one in reversed(record.past_of(wanted)) if not one.transaction_id.startswith(PERSONS)]
    sure = [past for past in found if _counts(record, past)]
    guesses = [past for past in found if past.effects == "read" and past.changes and past.position not in undone]
    if guesses and not sure:
        one = ", ".join(f"`wink undo c{past.call}`" for past in guesses[_NAMED - 1 :: -1])
        raise NothingToUndo(f"what changed {whose} may be somebody else's; {one} takes it back")
    return tuple(past for past in sure if past.position not in undone)


def _counts(record: Record, past: Past) -> bool:
    """Whether a call changed anything to be seen."""
    if past.call is None or past.effects == "read":
        return False
    return bool(past.changes) or not record.types_written(past) <= UNSEEN


def choose_call(record: Record, call: int, transaction: int, *, committed: bool) -> tuple[Past, ...]:
    """The transaction of one call, which may be an undo itself."""
    if not committed:
        raise NothingToUndo(f"c{call} changed nothing, it did not commit")
    if transaction in record.undone():
        raise NothingToUndo(f"c{call} is undone already")
    (past,) = record.past_of(among=(transaction,))
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
    return choose_after(record, known[name].position, f"checkpoint {name!r}", is_full=is_full)


def choose_after(record: Record, position: int, what: str, *, is_full: bool = False) -> tuple[Past, ...]:
    """Everything that was done since a position, newest first."""
    found = record.past(position + 1)
    if not found and not is_full:
        raise NothingToUndo(f"nothing was done since {what}")
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
