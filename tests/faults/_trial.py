"""Let one call suffer one fault in a process of its own, and judge what it left behind."""

from __future__ import annotations

import errno
import gc
import logging
import os
import pickle
import random
import shutil
import signal
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.states import journals

from wink.state import adopt, locate, unknown
from wink.workspace import Workspace
from wink_verify import verify

from . import _tries
from ._power import Disk, Event, events, surviving
from ._state import PROBE, Files, State, copy_tree, differences, files_of, told
from ._workload import Note, Operation, call, make_tree, open_workspace, perform, prepare
from .library import CHANGING, KILL, Fault, Injector

PATIENCE_SECONDS: Final = 30
"""A process that takes longer than this hangs."""

Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one point left: the state `before` or `after` the call, or `mixed`; and whatever else was wrong."""

    state: str
    wedged: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    recovered: tuple[str, ...] = ()


@dataclass(slots=True)
class Reference:
    """What an operation does when nothing fails."""

    before: State
    after: State
    trace: list[tuple[int, str]]
    changed: frozenset[str]
    touched: frozenset[str]
    kept: frozenset[str]
    template: str
    recoveries: list[int] = field(default_factory=list)


class Laboratory:
    """A place for trees, and the processes that work on them. To be used by one process under the injector."""

    def __init__(self, scratch: Path) -> None:
        self._scratch, self._injector = scratch, Injector()
        self._count = 0
        self._references: dict[Operation, Reference] = {}
        logging.disable(logging.CRITICAL)
        for name in ("fresh", "used"):
            _made(str(scratch / name), name)
        gc.freeze()

    # -- an operation

    def reference(self, operation: Operation) -> Reference:
        """What the operation does undisturbed, once without counting so that everything has been imported."""
        known = self._references.get(operation)
        if known is None:
            for _ in range(2):
                known = self._undisturbed(operation)
            self._references[operation] = known
        return known

    def _undisturbed(self, operation: Operation) -> Reference:
        template = str(self._scratch / operation.template)
        tree = self._place(template)
        before_files = files_of(tree)
        with Workspace.open(tree) as workspace:
            before = State(before_files, *told(workspace, workspace.session(), Note))
        shutil.rmtree(os.path.dirname(tree))
        tree = self._place(template)
        before = State(files_of(tree), *before.told)
        self._injector.open()
        with open_workspace(tree, operation) as workspace:
            done, said = perform(workspace, operation)
            assert done or not operation.act or "the check ended with status 3" in said, said
        self._injector.pause()
        trace = self._injector.trace
        after = self._look(tree, operation)
        with Workspace.open(tree) as workspace:
            touched = frozenset(change.path for row in workspace.calls() for change in row.changes)
        if operation.tool in ("back_to_a_snapshot", "nested_failing"):
            touched |= before.files.keys()  # what it has changed and brought back is no change that is told of
        kept = _tries.kept(tree)
        shutil.rmtree(os.path.dirname(tree))
        paths = before.files.keys() | after.files.keys()
        changed = frozenset(
            path
            for path in paths
            if path not in before.files
            or path not in after.files
            or before.files[path].body is None
            or before.files[path].content != after.files[path].content
        )
        return Reference(before, after, trace, changed, touched, kept, template)

    def _look(self, tree: str, operation: Operation) -> State:
        with open_workspace(tree, operation) as workspace:
            return State(files_of(tree), *told(workspace, workspace.session(), Note))

    def points(self, operation: Operation, fault: Fault) -> list[int]:
        """The calls of the operation that the fault can befall."""
        return [n for n, (kind, _) in enumerate(self.reference(operation).trace) if kind & _kinds(operation, fault)]

    def try_call(self, operation: Operation, fault: Fault, at: int) -> Verdict:
        """The fault befalls call number `at` of the operation."""
        reference = self.reference(operation)
        tree = self._place(reference.template)
        before = files_of(tree)
        report = self._in_child(lambda tell: self._suffer(tree, operation, fault, at, tell))
        return self._judge(operation, tree, before, report, fault)

    # -- a recovery

    def recoveries(self, operation: Operation, every: int) -> list[int]:
        """Calls of the operation at which a kill leaves the most to recover: to be undone, half of it, and to be kept.

        Looks at each call, or at one of `every`.
        """
        reference = self.reference(operation)
        if not reference.recoveries:
            found: dict[str, list[int]] = {"undone": [], "kept": []}
            for at in self.points(operation, KILL)[::every]:
                for outcome in self.try_call(operation, KILL, at).recovered[-1:]:
                    found[outcome].append(at)
            undone, kept = found["undone"], found["kept"]
            chosen = {*undone[-1:], *undone[len(undone) // 2 : len(undone) // 2 + 1], *kept[:1]}
            reference.recoveries = sorted(chosen)
        return reference.recoveries

    def recovery_points(self, operation: Operation, killed_at: int, fault: Fault) -> list[int]:
        """The calls of the recovery that the fault can befall."""
        tree, _ = self._killed(operation, killed_at)
        self._injector.open()
        with open_workspace(tree, operation) as workspace:
            if operation.begun:
                _tries.shown(workspace)
        self._injector.pause()
        shutil.rmtree(os.path.dirname(tree))
        return [n for n, (kind, _) in enumerate(self._injector.trace) if kind & _kinds(operation, fault)]

    def try_recovery(self, operation: Operation, killed_at: int, fault: Fault, at: int) -> Verdict:
        """The fault befalls call number `at` of the recovery of an operation that was killed."""
        tree, before = self._killed(operation, killed_at)
        report = self._in_child(lambda tell: self._suffer(tree, operation, fault, at, tell, calls=False))
        return self._judge(operation, tree, before, report, fault)

    def _killed(self, operation: Operation, at: int) -> tuple[str, Files]:
        tree = self._place(self.reference(operation).template)
        before = files_of(tree)
        self._in_child(lambda tell: self._suffer(tree, operation, KILL, at, tell))
        return tree, before

    # -- a cut of power

    def recording(self, operation: Operation) -> tuple[Disk, Files, list[Event]]:
        """The disk before an operation, and what the operation did to it."""
        tree = self._place(self.reference(operation).template)
        disk, before = Disk(tree), files_of(tree)
        with open(self._scratch / "log", "w+", encoding="utf-8") as log:
            self._injector.tell(log.fileno())
            self._injector.open()
            with open_workspace(tree, operation) as workspace:
                perform(workspace, operation)
                self._injector.mark()
            self._injector.pause()
            self._injector.tell(-1)
            log.seek(0)
            done = deepcopy(disk).completed(events(log.read()))
        shutil.rmtree(os.path.dirname(tree))
        return disk, before, done

    def try_cut(self, operation: Operation, recording: tuple[Disk, Files, list[Event]], at: int, seed: int) -> Verdict:
        """The power goes after `at` changes; `seed` decides what of them has reached the disk."""
        disk, before, done = recording
        disk = deepcopy(disk)
        for event, share in surviving(done[:at], random.Random(f"{at} {seed}")):
            disk.apply(event, share)
        above = self._place(None)
        disk.build(f"{above}/tree", self._injector.show_inode)
        _taken_over(f"{above}/tree")
        replied = any(event.what == "mark" for event in done[:at])
        verdict = self._judge(operation, f"{above}/tree", before, {"signal": 0}, KILL)
        self._injector.forget_inodes()
        reference = self.reference(operation)
        if replied and verdict.state == "before" and reference.before.told != reference.after.told:
            return Verdict("mixed", verdict.wedged, ("what had been replied to was lost",))
        return verdict

    # -- in the child

    def _suffer(
        self,
        tree: str,
        operation: Operation,
        fault: Fault,
        at: int,
        tell: Callable[[Told], None],
        *,
        calls: bool = True,
    ) -> None:
        injector = self._injector
        injector.watch(tree)
        injector.open(fault, at)
        workspace: Workspace | None = None
        seen: Told = {}
        try:
            workspace = open_workspace(tree, operation)
            if calls:
                success, text = perform(workspace, operation)
                seen |= {"success": success, "text": text}
            elif operation.begun:
                _tries.shown(workspace)
        except Exception as error:
            seen["raised"] = f"{type(error).__name__}: {error}"
        injector.pause()
        seen["fired"] = injector.fired
        if workspace is not None:
            if "success" in seen:
                seen["live"] = State(files_of(tree), *told(workspace, workspace.session(), Note))
            if fault.goes_on:
                injector.resume()
            else:
                seen["probe"] = _probed(workspace)
            try:
                workspace.close()
            except Exception as error:
                seen["close"] = f"{type(error).__name__}: {error}"
        injector.pause()
        tell(seen)

    def _in_child(self, work: Callable[[Callable[[Told], None]], None]) -> Told:
        """What a child told before it ended, and how it ended."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                signal.alarm(PATIENCE_SECONDS)
                os.close(reading)
                work(lambda seen: _write_all(writing, pickle.dumps(seen)))
            except BaseException:
                import traceback

                _write_all(writing, pickle.dumps({"crash": traceback.format_exc()}))
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading, "rb") as pipe:
            data = pipe.read()
        _, status = os.waitpid(child, 0)
        seen: Told = pickle.loads(data) if data else {}
        seen["signal"] = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return seen

    # -- afterwards

    def _place(self, template: str | None) -> str:
        self._count += 1
        above = self._scratch / f"{os.getpid()}-{self._count}"
        above.mkdir()
        (above / "outside").write_text("not to be touched")
        tree = str(above / "tree")
        # Here too: below it, nothing waits for the disk.
        self._injector.watch(tree)
        if template is None:
            return str(above)
        if os.path.exists(template):
            copy_tree(template, tree)
            _taken_over(tree)
        else:
            # What calls have done is known by inodes, which a copy does not have.
            _made(tree, os.path.basename(template))
        return tree

    def _judge(self, operation: Operation, tree: str, before: Files, report: Told, fault: Fault) -> Verdict:
        reference = self.reference(operation)
        wedged: list[str] = []
        mixed: list[str] = []
        recovered: tuple[str, ...] = ()
        if "crash" in report:
            wedged.append(report["crash"])
        if report["signal"] == signal.SIGALRM:
            wedged.append("hung")
        elif report["signal"] and not fault.kills:
            wedged.append(f"died of signal {report['signal']}")
        wedged += [f"{step}: {report[step]}" for step in ("probe", "close") if report.get(step)]
        state = "mixed"
        lenient = fault.error == errno.EACCES
        try:
            is_pending = _tries.is_pending(tree)
            with open_workspace(tree, operation) as workspace:
                recovered = tuple(done.outcome for done in workspace.recovered)  # type: ignore[attr-defined]
                recovered = recovered or (("kept",) if is_pending else ())
                now = State(files_of(tree), *told(workspace, workspace.session(), Note))
                state, reasons = _compared(reference, before, now, fault, moves=operation.moving)
                mixed += reasons
                mixed += _contradictions(reference, now, state, report, lenient=lenient)
                if operation.begun:
                    said = ""
                    if state != "after" or operation.act not in _tries.UNDOING:
                        said = perform(workspace, operation)[1]
                    wedged += _compared_again(reference, tree, workspace, said)
                problem = _probed(workspace)
                if problem:
                    wedged.append(f"next write: {problem}")
                if operation.act == "fold":
                    # What is in the history, or is not yet, can be taken back like before.
                    workspace.fold()
                    workspace.undo(next(row.position for row in workspace.calls() if row.tool == "many"), dry_run=True)
                wedged += _left(tree, {row.transaction_id for row in workspace.calls() if row.committed})
                verdict = verify(workspace)
                if not verdict.fits:
                    wedged.append(f"verify: entry {verdict.position}: {verdict.problem}")
        except Exception as error:
            wedged.append(f"opening raised {type(error).__name__}: {error}")
        above = Path(tree).parent
        if sorted(os.listdir(above)) != ["outside", "tree"] or (above / "outside").read_text() != "not to be touched":
            mixed.append("something outside was changed")
        shutil.rmtree(above)
        return Verdict("mixed" if mixed else state, tuple(wedged), tuple(mixed), recovered)


def _kinds(operation: Operation, fault: Fault) -> int:
    """The kinds of calls that a fault befalls; on tries those that change files, since a text that cannot be read is said not to merge."""
    return fault.kinds & CHANGING if operation.begun else fault.kinds


def _made(root: str, template: str) -> None:
    os.mkdir(root)
    make_tree(Path(root))
    if template != "fresh":
        with Workspace.open(root) as workspace:
            prepare(workspace, template)


def _probed(workspace: Workspace) -> str:
    """What keeps the next write from working, if anything."""
    try:
        reply = call(workspace, PROBE)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if reply.success else reply.text


def _compared(reference: Reference, before: Files, now: State, fault: Fault, *, moves: bool) -> tuple[str, list[str]]:
    """Whether this is the state before or after, and if neither, what differs from the nearer one."""
    # What was deleted where it could not be renamed comes back as a copy, also when it was an inner call that failed.
    copied = reference.touched if fault.error == errno.EACCES else frozenset[str]()
    shared = {entry.inode for path, entry in reference.after.files.items() if path in copied}
    names = frozenset(path for path, entry in reference.after.files.items() if entry.inode in shared)
    if reference.template.endswith("/fresh"):
        # Making the state changes the root's own time, and a kill may come before that has been put right.
        before = before | {".": before["."]._replace(modified_ns=now.files["."].modified_ns)}
    told = [
        state.told if fault.kills else _without_changes(state) for state in (now, reference.before, reference.after)
    ]
    if told[0] == told[2] and told[0] != told[1]:
        state, expected = "after", reference.after.files
        found = differences(expected, now.files, exact=False, new_inodes=names if moves else frozenset())
        kept = {path: entry for path, entry in before.items() if path not in reference.changed}
        there = {path: entry for path, entry in now.files.items() if path in kept}
        found += differences(kept, there, new_inodes=copied)
    else:
        state = "before"
        found = differences(before, now.files, new_inodes=copied)
        if told[0] != told[1]:
            found.append(f"session: {now.told}")
    return ("mixed" if found else state), [f"as {state}, but {difference}" for difference in found]


def _compared_again(reference: Reference, tree: str, workspace: Workspace, said: str) -> list[str]:
    """Where an operation on a try that was done once more has come to another end."""
    now = State(files_of(tree), *told(workspace, workspace.session(), Note))
    found = differences(reference.after.files, now.files, exact=False)
    if now.told != reference.after.told:
        found.append(f"session {now.told}")
    return [f"done again, {said!r}: {one}" for one in found] + [
        f"left {one}" for one in _tries.left(workspace, reference.kept)
    ]


def _without_changes(state: State) -> tuple[Any, ...]:
    # Where the disk refuses a look at a file, the call's description says less or more.
    return state.notes, state.stamps, tuple(call[:2] for call in state.calls), state.tries


def _contradictions(reference: Reference, now: State, state: str, report: Told, *, lenient: bool) -> list[str]:
    """Where the process that lived on said or saw something else than what is there now."""
    found: list[str] = []
    in_doubt = "recover" in report.get("text", "")
    is_unrecorded = lenient and not reference.touched  # where nothing can be stored, calls leave no record
    if "success" not in report or in_doubt or is_unrecorded:
        return found
    expected = "after" if report["success"] else "before"
    if state not in (expected, "mixed") and reference.before.told != reference.after.told:
        found.append(f"the reply was {report['text']!r}, the state is the one {state}")
    live: State = report["live"]
    found += [f"seen live: {difference}" for difference in differences(live.files, now.files)]
    if live.told != now.told:
        found.append(f"seen live: session {live.told}, now {now.told}")
    return found


def _left(tree: str, committed: set[str]) -> list[str]:
    """What nobody will ever clean up."""
    found = [f"left wal/{name}" for name in journals(tree)]
    for name in ("staged", "conflicts"):
        directory = f"{locate(tree)}/{name}"
        for left in os.listdir(directory) if os.path.isdir(directory) else ():
            if name != "staged" or left.rpartition(".")[0] not in committed:
                found.append(f"left {name}/{left}")
    return found


def _taken_over(tree: str) -> None:
    """What is copied, or built anew, has other inodes than after a fault; say that it is ours all the same."""
    for found in unknown(tree):
        adopt(tree, found)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
