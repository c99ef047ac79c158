"""Each kind of thing at each name below a known state, before each command: what no combination may do."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from tests.state.checkouts import Checkouts
from tests.state.commands import COMMANDS, Command
from tests.state.kinds import FOR_ROOT, KINDS
from tests.state.restoring import Original, remove
from tests.state.world import SPARE, Ended, Forker, World, complaint, make_known

SOMETIMES = (
    "record.db-journal", "record.db-wal", "record.db-shm", "run-1.lock", "run-2.lock", "wal/tx", "staged/tx.1",
    "conflicts", "copies/1", "copies/1/lock", "copies/0/index.json.new", "tries/default/try.json.new",
    "tries/third", "tries/third/upper", "programs/spare", "programs/spare/lock", "programs/spare/upper", "scratch/web",
    "store.git/hooks", "store.git/shallow", "store.git/packed-refs", "store.git/objects/info/alternates",
    "store.git/objects/ab", "store.git/config.lock", "history.bundle", "results/0123456789abcdef.txt", "held/approval-9",
    "aside-20260101T000000Z", "unheard-of",
)  # fmt: skip
"""Names that wink uses at times, and that are not there after an ordinary day; the last is nobody's."""

KNOWN_LEAVES: Mapping[str, tuple[str, ...]] = {
    "store.git/objects/pack": (".idx", ".pack"), "copies/0/upper": ("a.txt", "wink.toml"),
}  # fmt: skip
"""Directories of which a few files stand for all: one with each of these ends."""


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

    def __iadd__(self, other: Self) -> Self:
        """What came of both."""
        self.cases += other.cases
        self.statuses += other.statuses
        self.failures += other.failures
        self.names |= other.names
        self.kinds |= other.kinds
        self.commands |= other.commands
        self.left_out += other.left_out
        return self


class Attacked:
    """A known state, of root or of another user, that is attacked and put back to what it was.

    Things are planted by hand, or are checked out by git from a branch that has them.
    """

    def __init__(self, user: int | None = None, *, by: str = "hand") -> None:
        self.forker = Forker(user)
        self.world = World(self.forker, user)
        self._git = Checkouts(self.world) if by == "git" else None
        try:
            make_known(self.world)
            if self._git is not None:
                self._git.begin()
            self.name = self.world.state().name
            self._original = Original(self.world.work, self.world.base / SPARE)
            self._record = self._original.inode(f".wink/{self.name}/record.db")
            self.names = self._names()
            self.kinds = tuple(KINDS if self._git is None else self._git.kinds)
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

    def unusual(self) -> list[str]:
        """What commands do otherwise than at the beginning, when nothing is planted: what was put back must be as it was."""
        found: list[str] = []
        for command in COMMANDS:
            self.fresh()
            done, usual = command.run(self.world), self.usual[command.name]
            if done.status != usual.status or (command.says is not None and not command.says(done, usual)):
                found.append(f"{command.name}: {done}, not {usual}")
        return found

    def run(self, cases: Sequence[Case]) -> Report:
        """Cases that are beside each other, of the same name and kind, share what was planted until a command changes it."""
        report = Report()
        planted: tuple[str, str] | None = None
        is_as_planted = False
        for case in cases:
            if planted != case[:2] or not (is_as_planted or self._original.restore_around()):
                self.fresh()
                planted = None
                if not self.plant(case.name, case.kind):
                    report.left_out[case.kind] += 1
                    continue
                planted = case[:2]
            mark = self._mark(case.name)
            done = case.command.run(self.world)
            problems = list(self._problems(case, done))
            report.failures += [f"{case.name} | {case.kind} | {case.command.name}: {one}" for one in problems]
            is_as_planted = not case.command.changes and mark == self._mark(case.name)
            if problems:
                planted = None
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
        """The workspace with its known state, as nobody has touched it."""
        outside = self.world.base / "outside"
        for one in (*outside.glob("double-*"), outside / "absent"):
            remove(str(one))
        self._original.restore()
        # By its inode the record is known as the one in which approvals were given.
        assert self._original.inode(f".wink/{self.name}/record.db") == self._record
        self.world.seal()

    def plant(self, name: str, kind: str) -> bool:
        """Whether this makes sense, and stands there now."""
        place, outside = self.world.state() / name, self.world.base / "outside"
        if kind == "closed" and self.world.user is None:
            return False  # to root all doors are open
        if self._git is not None:
            self._original.keep_beside(place)
            is_planted = self._git.plant(kind, place, outside)
        else:
            is_planted = KINDS[kind](place, outside)
            if kind not in FOR_ROOT and self.world.user is not None:
                for one in (place, *outside.glob("double-*")):
                    if os.path.lexists(one):
                        self.world.own(one)
        if kind == "closed" and is_planted:
            place.chmod(0)
        self._original.plant(os.path.relpath(place, self.world.work))
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
                files = [min(one for one in files if one.endswith(end)) for end in KNOWN_LEAVES[inside]]
            for one in (*names, *files):
                if not one.startswith("seal-") or inside != ".":
                    found.append(os.path.normpath(f"{inside}/{one}"))
        return (*sorted(found), *(one for one in SOMETIMES if one not in found))


def in_part(attacked: Attacked, part: int, parts: int) -> Iterable[tuple[str, str]]:
    """Every so many of the names and kinds, to meet each command."""
    return [(name, kind) for name in attacked.names for kind in attacked.kinds][part::parts]
