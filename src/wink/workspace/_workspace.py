"""Open a directory as a workspace: its files, its named sessions and the record of its calls, held together."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from wink.errors import TransactionError, WorkspaceClosed
from wink.filesystem import MAX_FILE_BYTES, HostFilesystem, workspace_path
from wink.filesystem.disk import has_journals
from wink.record import KEEP, CallView, Checkpoint, Durability, Keep, Masking, Record
from wink.session import Session
from wink.state import is_gone
from wink.workspace._direct import DirectChanges
from wink.workspace._elsewhere import fold_elsewhere
from wink.workspace._names import session_name
from wink.workspace._root import state_place, why_not_kept, workspace_root
from wink.workspace._upkeep import Upkeep

if TYPE_CHECKING:
    from git import Repo

    from wink.filesystem import FileChange, Recovered
    from wink.workspace._collect import Collected
    from wink.workspace._recovery import Otherwise
    from wink.workspace._rewind import Rewound
    from wink.workspace._undo import Reverted, Reverting

_logger: Final = logging.getLogger("wink.workspace")

_GONE: Final = (
    "what wink kept of %r was deleted, and with it all that could be undone: `git clean -x` does that, and the checkout of "
    "something that tracks .wink as a file or a link; it begins anew"
)


class Workspace:
    """One directory that an agent works on, with everything that wink knows about it.

    Opening creates nothing: the state directory appears when the first thing has to be stored. What a killed process left
    half done is finished or taken back when the workspace is opened, or, while another process works, when that has
    ended and the next call begins.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root, Workspace.open(root) as workspace:
    ...     session = workspace.session("review")
    ...     session is workspace.session("review"), workspace.calls()
    (True, ())
    """

    __slots__ = (
        "_closed",
        "_files",
        "_keep",
        "_lock",
        "_record",
        "_recovered",
        "_sessions",
        "_upkeep",
        "root",
        "state",
    )

    def __init__(self, root: str, state: str, files: HostFilesystem, record: Record, upkeep: Upkeep) -> None:
        self.root, self.state = root, state
        self._files, self._record, self._upkeep = files, record, upkeep
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._recovered: tuple[Recovered, ...] = ()
        self._keep: Callable[[], Keep] = Keep
        self._closed = False

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        *,
        state: str | os.PathLike[str] | None = None,
        durability: Durability = "process",
        masking: Masking | None = None,
        max_file_bytes: int = MAX_FILE_BYTES,
        keep: Keep | Callable[[], Keep] = KEEP,
    ) -> Workspace:
        """Open the directory `root`; `state` is where to keep what wink stores, by default a directory in `<root>/.wink`.

        Its name cannot be guessed, and it is known again by a key in the user's own directory (`XDG_STATE_HOME`): what
        somebody else has put into `.wink` is never opened. Where the state cannot be kept, the workspace can only be
        read; its calls then leave no record.

        Of calls only what `keep` allows is kept: by itself, beside the calls and when the workspace is closed, older ones are
        given up, as by `gc`. A function is called when that is looked at.

        Secrets that `masking` finds are not written to the record, by default those that `Masking()` does.

        No write makes a file of more than `max_file_bytes`.

        `durability` says what a committed call survives: the end of the process, or with `"power"` that of the machine.
        Raises `WorkspaceRootError`, `StateNotKnown` for a state that is not this user's, or is a copy, `RecordTooNew` and
        `RecordCorrupt`, each before anything was touched.
        """
        path = workspace_root(root)
        place = state_place(path, state)
        if state is None and is_gone(path, place):
            _logger.warning(_GONE, path)
        record = Record(place, durability=durability, masking=masking or Masking())
        record.check()
        files = HostFilesystem(
            path,
            state=place,
            durability=durability,
            read_only=why_not_kept(place) is not None or record.imported is not None,
            max_file_bytes=max_file_bytes,
        )
        upkeep = Upkeep(place, files, record, durable=durability == "power")
        files.recorder, files.archive, record.watcher = record, upkeep.open, upkeep.note
        workspace = cls(path, place, files, record, upkeep)
        workspace._keep = (lambda: keep) if isinstance(keep, Keep) else keep
        upkeep.afterwards = workspace._give_up
        upkeep.elsewhere = lambda: fold_elsewhere(path, place, durability, workspace._keep())
        direct = DirectChanges(record, workspace._opened, workspace.session, upkeep.commit_at)
        files.record_directly(direct, direct)
        if has_journals(place):
            try:
                workspace.recover(timeout=0)
            except (TransactionError, OSError) as error:
                # Another process is at work, or it cannot be fixed now. Reading is possible all the same, and whoever
                # wants to write is told why that is not.
                _logger.info("recovery of %r has to wait: %s", path, error)
        return workspace

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Workspace({self.root!r})"

    @property
    def filesystem(self) -> HostFilesystem:
        """The workspace's files; give it to a prompt, whose tools then get one fenced handle a call.

        What a program changes through it directly is recorded as a call too, of `filesystem`, and can be undone like one.
        """
        return self._files

    @property
    def recovered(self) -> tuple[Recovered, ...]:
        """What has been done since opening about transactions that killed processes had left, one report each."""
        return self._recovered

    def recover(self, timeout: float = 30.0, *, otherwise: Otherwise | None = None) -> tuple[Recovered, ...]:
        """Finish what the record says was committed and take back the rest, waiting for the lease up to `timeout` seconds.

        This happens by itself before any call changes something; here it can be asked for. Gives what was done. What cannot
        be decided or cannot be taken back raises `WorkspaceNeedsRecovery` or `RollbackFailed`, unless `otherwise` says what
        to do then: `"keep"` leaves the files as they are, `"undo"` takes back what the record does not know. Raises
        `WorkspaceBusy`.
        """
        from wink.workspace._recovery import recover

        done = recover(self._files, self._record, timeout, otherwise)
        self._recovered += done
        return done

    @property
    def masking(self) -> Masking:
        """By what secrets are found, which the record does not have; for whoever shows something else."""
        return self._record.masking

    @property
    def record(self) -> Record:
        """What calls did here."""
        return self._record

    def session(self, name: str = "default") -> Session:
        """The session of this name, the same object each time, with the state that earlier processes left in it.

        Raises `SessionNameError` and `WorkspaceClosed`.
        """
        name = session_name(name)
        with self._lock:
            if self._closed:
                raise WorkspaceClosed(self.root)
            session = self._sessions.get(name)
            if session is None:
                session = self._make_session(name)
                self._record.adopt(session)
                self._sessions[name] = session
                return session
        self._record.refresh(session)
        return session

    def _lease_unless(self, dry_run: bool) -> AbstractContextManager[object]:
        from wink.workspace._undo import check_outside, take_lease

        check_outside()
        # Nothing was ever stored: looking must not leave a trace.
        return nullcontext() if dry_run or not self._record.sessions() else take_lease(self._files)

    def _reverting(self) -> Reverting:
        from wink.workspace._undo import Reverting

        return Reverting(self._files, self._record, self._opened())

    def _opened(self) -> tuple[Session, ...]:
        with self._lock:
            return tuple(self._sessions.values())

    def _make_session(self, name: str) -> Session:
        stored = self._record.identity(name)
        if stored is None:
            return Session(name=name)
        from uuid import UUID

        return Session(session_id=UUID(stored[0]), created_at=stored[1], name=name)

    def sessions(self) -> tuple[str, ...]:
        """The names of all sessions that have made a call here, oldest first, then of those that are open."""
        return tuple(dict.fromkeys((*self._record.sessions(), *self._sessions)))

    def calls(self, session: str | None = None, limit: int | None = None) -> tuple[CallView, ...]:
        """The last `limit` calls of one session or of all, newest first; those that were rolled back too."""
        return self._record.calls(None if session is None else session_name(session), limit)

    def call(self, position: int) -> CallView:
        """One call by its position, the number that `wink log` shows; raises `UnknownCall`."""
        from wink.workspace._history import call_at

        return call_at(self._record, position)

    def diff(
        self,
        first: int | None = None,
        last: int | None = None,
        *,
        since: int | None = None,
        session: str | None = None,
        run: int | None = None,
        turn: int | None = None,
    ) -> tuple[FileChange, ...]:
        """What calls changed, with content to show where it is text of up to 16 MiB and still known.

        With `first`, what that call did, or had done before it was rolled back; with `last` too, the difference between
        before `first` and after `last`. Without them, how the paths that wink changed since the call `since`, or ever, differ
        now from what they were before, whoever wrote what is there now. With `session`, or `run` by its number, or a `turn` of
        an attached agent, 0 for the last that changed anything, what the calls of that one changed: from what its first call
        found at each path to what its last left there. Raises `UnknownCall`, `UnknownSession` and `UnknownRun`.
        """
        from wink.workspace._history import diff, diff_of_some

        if session is not None:
            return diff_of_some(self._files, self._record, session=session_name(session))
        if run is not None or turn is not None:
            return diff_of_some(self._files, self._record, run=run, turn=turn)
        return diff(self._files, self._record, first, last, since=since)

    def undo(
        self,
        call: int | None = None,
        *,
        n: int | None = None,
        session: str | None = None,
        agent: str | None = None,
        run: str | None = None,
        turn: int | Collection[int] | None = None,
        dry_run: bool = False,
        confirm: Callable[[Reverted], object] | None = None,
        force: bool = False,
    ) -> Reverted:
        """Take back one call by its number, or the last `n` that changed anything, 1 by default, as one call that can be undone too.

        With `session`, attached `agent` or `run`, such as `r1`, all calls of that one, or the last `n` of them, whatever others
        have done elsewhere since; with `turn` those of one turn of an attached agent, or of several, or with 0 of the last turn that has any.

        Files, session state and what the session knows of files go back together. Later calls stay; where they, or a person,
        wrote to the same file or item since, nothing is changed and `UndoConflict` names what is in the way; with `force` files
        go back all the same, and `redo` brings what was there back. `dry_run` only
        tells. `confirm` is told what is about to be done, when nobody else can change it any more; where it raises, nothing
        is. Raises `NothingToUndo`, `UnknownCall` and `WorkspaceBusy`.
        """
        from wink.workspace._undo import choose_call, choose_last, choose_of, choose_turn, choose_turns, verb_for

        named = ("session", session), ("agent", agent), ("run", f"t{turn}" if turn and isinstance(turn, int) else run)
        of = {kind: name for kind, name in named if name is not None}
        with self._lease_unless(dry_run):
            if call is not None:
                found = self.call(call)
                targets = choose_call(self._record, call, found.transaction, committed=found.committed)
            elif of:
                targets = choose_of(self._record, of, n)
            elif turn is not None and not isinstance(turn, int):
                targets = choose_turns(self._record, turn)
            else:
                targets = choose_turn(self._record) if turn == 0 else choose_last(self._record, 1 if n is None else n)
            arguments = {"calls": [f"c{past.call}" for past in targets]}
            return self._reverting().revert(
                verb_for(targets),
                targets,
                arguments,
                dry_run=dry_run,
                confirm=confirm,
                force=force,
                alone=bool(of) or turn is not None,
            )

    def redo(
        self, *, session: str | None = None, dry_run: bool = False, confirm: Callable[[Reverted], object] | None = None
    ) -> Reverted:
        """Take back the last undo that stands, with `session` the last in that one; raises like `undo`."""
        from wink.workspace._undo import choose_undo

        with self._lease_unless(dry_run):
            targets = choose_undo(self._record, None if session is None else session_name(session))
            arguments = {"calls": [f"c{targets[0].call}"]}
            return self._reverting().revert("redo", targets, arguments, dry_run=dry_run, confirm=confirm)

    def rewind(
        self,
        run: int,
        to: int,
        *,
        fork: bool = False,
        dry_run: bool = False,
        confirm: Callable[[Reverted], object] | None = None,
    ) -> Rewound:
        """Take a run back to the end of its turn `to`, 0 for before its first: files, session state and conversation.

        The run goes on from there when it is resumed; with `fork` a copy of it does, and the run itself keeps its turns. What
        later turns did goes as with `undo`, in one call that can be undone too. Raises like `undo`, `NothingToUndo` where no
        turn comes after that one, `UnknownRun`, `RunBusy` while a process works on it, and `RunStateError` where what the
        turns held is kept only masked.
        """
        from wink.workspace._rewind import rewind

        with self._lease_unless(dry_run):
            return rewind(self._record, self._reverting(), run, to, fork=fork, dry_run=dry_run, confirm=confirm)

    def checkpoint(
        self,
        name: str,
        *,
        full: bool = False,
        move: bool = False,
        ignored_bytes: int | None = None,
        progress: Callable[[int, str], object] | None = None,
    ) -> tuple[tuple[str, str], ...]:
        """Give the state that calls have left, of files and sessions, a name; costs the same at any size.

        With `full` everything that is in the workspace is taken in, whoever made it, so that `restore` brings that back
        too; this takes time with the number of files. Of what git ignores up to `ignored_bytes` are taken in, 64 MiB, the
        smallest files first. Gives the paths that could not be, each with the reason. `progress` is told how many paths
        have been looked at, and the last of them. With `move` a checkpoint of that name stands for this state from now on.

        Raises `CheckpointExists`, `WorkspaceBusy`, and `SessionNameError` for what cannot be a name.
        """
        from wink.workspace._undo import take_lease

        name = session_name(name, "checkpoint")
        if full:
            self._upkeep.wait()
            turn = partial(take_lease, self._files)
            return self._upkeep.history().checkpoint(
                name, ignored_bytes=ignored_bytes, turn=turn, progress=progress, move=move
            )
        with take_lease(self._files):
            if move:
                self._upkeep.forget(name)
            self._record.checkpoint(name, move=move)
        self._upkeep.wait()
        self._upkeep.quietly()
        return ()

    def delete_checkpoint(self, name: str) -> None:
        """Forget a checkpoint; what was done stays, and `gc` may give up what only this kept. Raises `UnknownCheckpoint` and `WorkspaceBusy`."""
        from wink.workspace._undo import take_lease

        with take_lease(self._files):
            if any(one.name == name for one in self.checkpoints()):
                self._upkeep.forget(name)
            self._record.delete_checkpoint(name)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints, oldest first."""
        return self._record.checkpoints()

    def restore(
        self, to: str | int, *paths: str, dry_run: bool = False, confirm: Callable[[Reverted], object] | None = None
    ) -> Reverted:
        """Take back everything since a checkpoint, or since the call of a number, as one call that can be undone.

        Raises like `undo`. With `paths` only the files there, or beneath them, go back, and session state stays. What people
        changed stays, unless the checkpoint is a full one: then what they changed or deleted comes back too, and only what
        they have made since stays. Raises `UnknownCheckpoint`, `UnknownCall`, and `HistoryDamaged` where a full checkpoint
        cannot be read.
        """
        from wink.workspace._undo import choose_after, choose_since

        places = [str(workspace_path(path)) for path in paths]
        with self._lease_unless(dry_run):
            everything = None
            if isinstance(to, int):
                targets, what = choose_after(self._record, self.call(to).transaction, f"c{to}"), {"call": f"c{to}"}
            else:
                is_full = any(one.name == to for one in self._record.listed())
                targets, what = choose_since(self._record, to, is_full=is_full), {"checkpoint": to}
                if is_full:
                    everything = self._upkeep.history().everything(to, places)
            arguments = {**what, **({"paths": list(paths)} if paths else {})}
            return self._reverting().revert(
                "restore", targets, arguments, dry_run=dry_run, paths=places, everything=everything, confirm=confirm
            )

    def gc(
        self,
        *,
        calls: int | None = None,
        age: timedelta | None = None,
        most_bytes: int | None = None,
        dry_run: bool = False,
    ) -> Collected:
        """Give up the oldest calls, until at most so many, none older than `age`, and bytes are left.

        They cannot be undone or shown whole any more, and leave the history and the record, but for the last 1,000, which stay
        in the record; this alone cannot be taken back. What is needed to restore a checkpoint, or to go on with a run, is
        kept, however old it is. What is free in the record goes back to the disk. Raises `WorkspaceBusy`, and `HistoryDamaged`
        where the history cannot be read.
        """
        from wink.limits import utc_now
        from wink.workspace._collect import collect

        with self._lease_unless(dry_run):
            limits = {"calls": calls, "most_bytes": most_bytes}
            if any(limit is not None and limit < 0 for limit in limits.values()):
                raise ValueError(f"limits cannot be negative: {limits}")
            if not dry_run and self._record.sessions():
                self._record.runs.collect(age)
                self._record.texts.pack()
            done = collect(
                self._files,
                self._record,
                self._upkeep,
                utc_now(),
                calls=calls,
                age=age,
                most_bytes=most_bytes,
                dry_run=dry_run,
            )
            if not dry_run:
                self._record.forgetting.compact(always=True)
            return done

    def _give_up(self) -> None:
        """Hold the bounds, unless somebody is at work just now: then the next one does."""
        from wink.errors import WorkspaceBusy
        from wink.limits import utc_now
        from wink.workspace._collect import collect, is_due

        keep = self._keep()
        if self._files.read_only or not is_due(self._files, self._record, utc_now(), keep):
            return
        try:
            self._files.write_lock.acquire(0)
        except WorkspaceBusy:
            return
        try:
            age = timedelta(days=keep.days)
            limits = {"calls": keep.calls, "age": age, "most_bytes": keep.bytes}
            collect(self._files, self._record, self._upkeep, utc_now(), dry_run=False, **limits)  # type: ignore[arg-type]
        finally:
            self._files.write_lock.release()

    def fold(self) -> int:
        """Take all calls into the history, wink's own git repository in `<state>/store.git`; gives how many there were.

        Those are taken in that are there when it is called. This happens by itself when a workspace is closed, and every few
        thousand calls in a process of its own. What is in the history can be taken
        back like before, and `wink history log -p` shows it. Raises `HistoryDamaged`.
        """
        self._upkeep.wait()
        return self._upkeep.fold()

    def history(self) -> Repo | None:
        """All calls that changed files, as a bare repository for GitPython; None while there are none. Raises `HistoryDamaged`.

        Calls since the last `fold` are taken in first. Each is a commit, HEAD the last one, and a checkpoint the reference
        `refs/wink/checkpoints/NAME`. Reading it is safe at any time; writing to it is for wink alone.
        """
        if not self._files.read_only:
            self.fold()
        return self._upkeep.history().repository()

    def undone(self) -> frozenset[int]:
        """The transactions that are taken back at present, by `CallView.transaction`."""
        return self._record.undone()

    def close(self) -> None:
        """Close record and files; sessions of this workspace cannot be used afterwards. Closing twice does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._upkeep.end()
        self._upkeep.close()
        self._record.close()
        self._files.close()
