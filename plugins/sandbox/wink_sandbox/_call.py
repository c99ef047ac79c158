"""Run a program, or an isolated function, as part of a tool call: kept if it ends as it should, dropped otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final, Literal

from wink.dataclass import dataclass
from wink.errors import HandleRevoked, MergeConflict, SandboxUnavailable
from wink.filesystem import FileChange, FileTransaction
from wink.transactions import current_transaction
from wink.trust import allowed
from wink_sandbox._guard import Guard, usual_guard
from wink_sandbox._lay import FOREIGN
from wink_sandbox._merge import Notes
from wink_sandbox._rules import steering
from wink_sandbox._sandbox import Sandbox
from wink_sandbox.programs import ENVIRONMENT, SCRATCH, Command, Ended, Limits, OnOutput, Profile, Stop

if TYPE_CHECKING:
    from wink.tools import IsolatedEnd

_OVERFLOW: Final = b"Value too large for defined data type"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program in a call: how it ended, whether its `changes` were kept, and what of them was not."""

    ended: Ended
    kept: bool
    guard: str
    changes: tuple[FileChange, ...]
    notes: Notes = ()


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
    stop = Stop()
    transaction.when_revoked(stop)
    try:
        with chosen.open(part, sandbox) as guarded:
            ended = guarded.run(command, stop=stop, on_output=on_output, beat=beat)
            if ended.reason == "cancelled":
                raise HandleRevoked("the call ended while its program ran; nothing was changed")
            kept = ended.status in accepted
            if kept:
                transaction.take_turn()
                changes = guarded.changes()
                try:
                    guarded.keep()
                except MergeConflict as error:
                    raise _with_callers(error, transaction.recorder, part) from error
            else:
                changes = guarded.changes()
            told = steering(changes, part.tree.store.root or "") if kept else ()
            transaction.ran_under(chosen.name, chosen.unseen)
            return Outcome(ended, kept, chosen.name, changes, (*told, *guarded.notes(), *_hints(ended)))
    finally:
        stop.close()


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
        return IsolatedEnd(outcome.kept, outcome.ended.status, outcome.ended.reason, outcome.ended.stderr.text())


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
