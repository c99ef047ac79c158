"""Run a program, or an isolated function, as part of a tool call: kept if it ends as it should, dropped otherwise."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from wink.dataclass import dataclass, replace
from wink.errors import HandleRevoked, MergeConflict, MergeRefused, SandboxUnavailable
from wink.filesystem import FileChange, FileTransaction
from wink.transactions import Transaction, current_transaction
from wink.trust import allowed
from wink_sandbox._guard import Guard, usual_guard
from wink_sandbox._lay import FOREIGN
from wink_sandbox._merge import Notes
from wink_sandbox._rules import steering
from wink_sandbox._sandbox import Sandbox
from wink_sandbox.programs import ENVIRONMENT, SCRATCH, Command, Ended, Limits, OnOutput, Profile, Stop

if TYPE_CHECKING:
    from wink.cli import Verdict
    from wink.tools import IsolatedEnd
    from wink_sandbox.network import People

_HIDES: Final = "is hidden by a rule, or holds what is, and cannot be moved or deleted"
_USUAL: Final = "isolated functions have no network but what `OverlayIsolation(network=…)` is given"
_LINES: Final = 20
_OVERFLOW: Final = b"Value too large for defined data type"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program in a call: how it ended, whether its `changes` were kept, and what of them was not.

    `hidden` names some of the paths that rules hid from it.
    """

    ended: Ended
    kept: bool
    guard: str
    changes: tuple[FileChange, ...]
    notes: Notes = ()
    hidden: str = ""


def run_in_call(
    command: Command,
    sandbox: Sandbox,
    *,
    accepted: Collection[int] = (0,),
    guard: Guard | None = None,
    on_output: OnOutput | None = None,
    beat: Callable[[], object] | None = None,
) -> Outcome:
    """Run a program over the files of the tool call that is active in this context.

    An exit status in `accepted` makes what it changed a part of the call's transaction: the workspace is locked only for
    that moment, and the executor commits it, or takes it back, like any other change. Raises `SandboxUnavailable`,
    `ProgramNotStarted`, `MergeConflict` and `MergeRefused`; then, as after any other end, nothing is changed.
    """
    transaction = current_transaction()
    part = None if transaction is None or transaction.root is None else transaction.file_part_of(transaction.root)
    if transaction is None or part is None:
        raise SandboxUnavailable("overlay", ("programs are run by tools of a prompt that is bound to files",))
    chosen = guard or usual_guard(part)
    sandbox, stop = _hiding(sandbox, transaction), Stop()
    transaction.when_revoked(stop)
    try:
        with chosen.open(part, sandbox) as guarded:
            ended = _noted(
                transaction,
                command,
                chosen.name,
                lambda: guarded.run(command, stop=stop, on_output=on_output, beat=beat),
            )
            if ended.reason == "cancelled":
                raise HandleRevoked("the call ended while its program ran; nothing was changed")
            kept = ended.status in accepted
            if kept:
                transaction.take_turn()
                changes = guarded.changes()
                _check_hidden(sandbox, changes)
                try:
                    guarded.keep()
                except MergeConflict as error:
                    raise _with_callers(error, transaction.recorder, part) from error
            else:
                changes = guarded.changes()
            told = steering(changes, part.tree.store.root or "") if kept else ()
            transaction.ran_under(chosen.name, chosen.unseen)
            hidden = "" if sandbox.hiding is None else str(sandbox.hiding)
            notes = (*told, *guarded.notes(), *_hints(ended))
            return Outcome(ended, kept, chosen.name, changes, notes, hidden)
    finally:
        stop.close()


def _noted(transaction: Transaction, command: Command, guard: str, run: Callable[[], Ended]) -> Ended:
    """Run a program, and note with the call that it ran."""
    from wink_sandbox.programs import note_program  # which needs the record

    began, ended = time.monotonic(), None
    try:
        ended = run()
        return ended
    finally:
        outermost = transaction.outermost
        note_program(
            outermost.recorder,
            outermost.session.name,
            transaction=outermost.id,
            call_id=transaction.call_id,
            tool=transaction.governed[0],
            argv=command.argv,
            status=None if ended is None else ended.status,
            reason="not started" if ended is None else ended.reason,
            seconds=time.monotonic() - began if ended is None else ended.duration,
            guard=guard,
        )


def people_in_call(
    tell: Callable[[str], object], *, hint: str, remembered: set[tuple[str, int]] | None = None
) -> People:
    """Who is asked about hosts that a program of the active call wants: whoever answers the requests of the workspace.

    `tell` gets a line for each, from another thread. The person who is asked about calls is asked too, where a program can wait for
    them, as at an MCP client or an editor. With no record that keeps requests, or with no such person and no terminal that belongs to this
    process, nobody is asked. `hint` and `remembered` are those of `People`.
    """
    from wink_sandbox.network import People, has_terminal, person_of  # which few calls need

    transaction = current_transaction()
    recorder = None if transaction is None else transaction.outermost.recorder
    tool = "" if transaction is None else transaction.governed[0]
    missing = "nothing keeps requests here" if recorder is None else "" if has_terminal() else "there is no terminal"
    return People(
        None if recorder is None else recorder.approvals,
        "" if transaction is None else transaction.session.name,
        f"a program of {tool or 'a call'}",
        tell,
        hint,
        run="" if transaction is None else transaction.outermost.run,
        call_id="" if transaction is None else transaction.outermost.call_id,
        refusal=missing and f"nobody can be asked: {missing}",
        remembered=set() if remembered is None else remembered,
        person=next(filter(None, map(person_of, _answering(transaction))), None),
    )


def _answering(transaction: Transaction | None) -> Iterator[object]:
    """Who answers for a call, and for those around it."""
    while transaction is not None:
        yield transaction.governed[2]
        transaction = transaction.around


class OverlayIsolation:
    """`wink.tools.Isolation` by the guard that this host can do: an overlay, or else a copy.

    A process sees the workspace at its own path, reads the system and where Python's modules are, and has a home and a `/tmp` of its
    own, and no network unless it is given one, or some hosts of it.
    """

    def __init__(self, *, network: bool | tuple[str, ...] = False, limits: Limits | None = None) -> None:
        self._network = network
        self._limits = limits or Limits(wall_seconds=None)

    def run(
        self,
        argv: Sequence[str],
        request: bytes,
        *,
        readable: Sequence[str],
        on_output: Callable[[bytes], object],
        beat: Callable[[], object],
    ) -> IsolatedEnd:
        """Run it within the call that is active; see `Isolation.run`."""
        from wink.tools import (
            IsolatedEnd,
        )  # every command that loads this plugin imports this module, and none needs it

        profile = Profile(self._network, tuple(readable), home=os.path.expanduser("~"), limits=self._limits)
        command = Command(tuple(argv), env=allowed(os.environ, ENVIRONMENT), stdin=request)

        def take(stream: Literal["stdout", "stderr"], data: bytes) -> None:
            if stream == "stdout":
                on_output(data)

        outcome = run_in_call(command, Sandbox(profile, scratch=SCRATCH), on_output=take, beat=beat)
        ended, traffic = outcome.ended, outcome.ended.traffic
        told = [f"rules hid from it: {outcome.hidden}"] if outcome.hidden else []
        lines = () if traffic is None else tuple(traffic.lines())
        told += [f"network: {line}" for line in lines[:_LINES]]
        told += [f"network: {len(lines) - _LINES} more"] if len(lines) > _LINES else []
        return IsolatedEnd(outcome.kept, ended.status, ended.reason, ended.stderr.text(), told)

    def explained(
        self, tool: str, effects: str, workspace: str, about: str, subjects: Sequence[str], look_up: bool
    ) -> tuple[tuple[Verdict, ...], ...]:
        """What functions of a tool see, change and reach, for `wink explain`."""
        from wink_sandbox.commands import CalledPrograms, Reach

        reach = Reach(self._network)
        programs = CalledPrograms(workspace, tool, effects=effects, reach=reach, origin="", usual=_USUAL)
        return programs.explained(about, subjects, look_up, lambda path: programs.shown(sys.path, "", path))


def _hiding(sandbox: Sandbox, transaction: Transaction) -> Sandbox:
    """The same, with what rules hide from the tool that is called, those of the calls around it too."""
    tool, policies, _ = transaction.governed
    around = transaction.around
    while around is not None:
        policies, around = (*policies, *around.governed[1]), around.around
    if not policies:
        return sandbox
    from wink_sandbox.hiding import hiding_by  # which calls that no policy governs do not need

    return replace(sandbox, hiding=hiding_by(policies, tool))


def _check_hidden(sandbox: Sandbox, changes: Sequence[FileChange]) -> None:
    """Raise `MergeRefused` where a program has moved or deleted what it was not to see, as it can on a copy."""
    if sandbox.hiding is None:
        return
    # A directory that is one still holds what it held.
    paths = (change.path for change in changes if change.after is None or change.after.kind != "directory")
    if touched := sandbox.hiding.touched(paths):
        raise MergeRefused([(path, _HIDES) for path in touched])


def _with_callers(error: MergeConflict, recorder: object, part: FileTransaction) -> MergeConflict:
    """The same, with the calls that were in the way, as far as the record knows them."""
    from wink.record import Record

    root = part.tree.store.root
    calls = recorder.writers(root, error.paths) if isinstance(recorder, Record) else {}
    return MergeConflict(error.paths, calls)


def _hints(ended: Ended) -> Notes:
    """What an error message means that makes sense only to whoever knows how programs are run."""
    if _OVERFLOW in ended.stderr.head or _OVERFLOW in ended.stderr.tail:
        return (("", "'Value too large for defined data type' here means: the file " + FOREIGN),)
    return ()
