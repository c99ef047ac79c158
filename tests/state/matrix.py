"""Each kind of thing at each name below a known state, before each command: what no combination may do."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.state.commands import COMMANDS, Command
from tests.state.kinds import FOR_ROOT, KINDS
from tests.state.world import Ended, Forker, World, complaint, make_known

SOMETIMES = (
    "record.db-journal", "record.db-wal", "record.db-shm", "run-1.lock", "run-2.lock", "wal/tx", "staged/tx.1",
    "conflicts", "copies", "copies/0", "copies/0/lock", "copies/0/upper", "copies/0/index.json", "tries/default/try.json.new",
    "tries/third", "tries/third/upper", "programs/spare", "programs/spare/lock", "programs/spare/upper", "scratch/web",
    "store.git/hooks", "store.git/shallow", "store.git/packed-refs", "store.git/objects/info/alternates",
    "store.git/objects/ab", "store.git/config.lock", "history.bundle", "results/0123456789abcdef.txt", "held/approval-1",
    "aside-20260101T000000Z", "unheard-of",
)  # fmt: skip
"""Names that wink uses at times, and that are not there after an ordinary day; the last is nobody's."""

KNOWN_LEAVES = ("store.git/objects/pack",)
"""Directories of which the first few files stand for all."""


class Case(NamedTuple):
    """One thing in one place, before one command."""

    name: str
    kind: str
    command: Command


@dataclass
class Report:
    """What came of cases."""

    cases: int = 0
    statuses: Counter[int | None] = field(default_factory=Counter[int | None])
    failures: list[str] = field(default_factory=list[str])
    names: set[str] = field(default_factory=set[str])
    kinds: set[str] = field(default_factory=set[str])
    commands: set[str] = field(default_factory=set[str])
    left_out: Counter[str] = field(default_factory=Counter[str])


class Attacked:
    """A known state, and copies of it that are attacked, of root or of another user."""

    def __init__(self, user: int | None = None) -> None:
        self.forker = Forker(user)
        self.world = World(self.forker, user)
        try:
            make_known(self.world)
            self.names = self._names()
            self._template = self.world.base / "template"
            self.world.work.rename(self._template)
            self.usual: dict[str, Ended] = {}
            for command in COMMANDS:
                self.fresh()
                self.usual[command.name] = command.run(self.world)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove all of it."""
        self.world.__exit__()
        self.forker.close()

    def run(self, cases: Sequence[Case]) -> Report:
        """Cases that are beside each other, of the same name and kind, share a workspace until a command changes it."""
        report = Report()
        before: tuple[str, str] | None = None
        for case in cases:
            if before != case[:2]:
                self.fresh()
                if not self._plant(case.name, case.kind):
                    report.left_out[case.kind] += 1
                    before = None
                    continue
            before = None if case.command.changes else case[:2]
            mark = self._mark(case.name)
            done = case.command.run(self.world)
            for problem in self._problems(case, done):
                report.failures.append(f"{case.name} | {case.kind} | {case.command.name}: {problem}")
                before = None
            if mark != self._mark(case.name):
                before = None  # a command took it away
            report.cases += 1
            report.statuses[done.status] += 1
            report.names.add(case.name)
            report.kinds.add(case.kind)
            report.commands.add(case.command.name)
        return report

    def _problems(self, case: Case, done: Ended) -> Iterator[str]:
        yield from self.world.harm(done)
        usual, command = self.usual[case.command.name], case.command
        if done.status == usual.status:
            if done.status == 0 and command.says is not None and not command.says(done, usual):
                yield f"it says that all is well, and does not say the usual: {done.out[:300]!r} {done.err[:300]!r}"
        elif done.status is not None:
            wrong = complaint(done)
            if wrong is not None:
                yield wrong
        if command.name in ("serve", "call read") and self.name in done.out:
            yield "a model is told where the state lies"

    def fresh(self) -> None:
        """A copy of the workspace whose state is known like the first one."""
        work = self.world.work
        if os.path.lexists(work):
            shutil.rmtree(work)
        outside = self.world.base / "outside"
        for one in outside.glob("double-*"):
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        if (outside / "absent").exists():
            (outside / "absent").unlink()
        subprocess.run(["cp", "-a", "--", self._template, work], check=True)
        self.world.ok("trust", "--state", "--yes")
        self.name = self.world.state().name
        self.world.seal()

    def _plant(self, name: str, kind: str) -> bool:
        place, outside = self.world.state() / name, self.world.base / "outside"
        if kind == "closed" and self.world.user is None:
            return False  # to root all doors are open
        is_planted = KINDS[kind](place, outside)
        if kind not in FOR_ROOT and self.world.user is not None:
            for one in (place, *outside.glob("double-*")):
                if os.path.lexists(one):
                    self.world.own(one)
        if kind == "closed" and is_planted:
            place.chmod(0)
        self.world.seal()
        return is_planted

    def _mark(self, name: str) -> object:
        try:
            found = os.lstat(self.world.work / ".wink" / self.name / name)
        except OSError:
            return None
        return found.st_ino, found.st_mode, found.st_nlink

    def _names(self) -> tuple[str, ...]:
        state, found = self.world.state(), list[str]()
        for above, names, files in os.walk(state):
            inside = os.path.relpath(above, state)
            if inside in KNOWN_LEAVES:
                files = [min(one for one in files if one.endswith(end)) for end in (".idx", ".pack")]
            for one in (*names, *files):
                if not one.startswith("seal-") or inside != ".":
                    found.append(os.path.normpath(f"{inside}/{one}"))
        return (*sorted(found), *(one for one in SOMETIMES if one not in found))


def all_cases(names: Sequence[str], kinds: Mapping[str, object] = KINDS) -> Iterator[Case]:
    """The whole matrix."""
    return (Case(name, kind, command) for name in names for kind in kinds for command in COMMANDS)
