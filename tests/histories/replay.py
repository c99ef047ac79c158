"""Replay versions through wink's tools, with failures, kills and ways back in between, and compare the tree each time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from .changes import Plan
from .pace import Pace
from .process import Wrong
from .steps import Step, after, calls_of, failing, in_order, of_a_file, over_unread
from .told import compare_the_log
from .trees import Tree, difference, lay_out, size, tree_of
from .workplace import Tally, Workplace

MINE, THEIRS, STRANGERS = "mine", "theirs", "strangers"
"""Sessions: of the two processes that work, and one in which nothing has ever been read."""


class Known(NamedTuple):
    """A state that was reached, and the steps that have led to it from the one before."""

    tree: Tree
    steps: tuple[Step, ...]


class Replay:
    """One workspace, from its first version to its last and back; `root` is an empty directory in one of its own."""

    def __init__(self, root: str, seed: int) -> None:
        self._at, self._drawn = Workplace(root), Random(seed)
        self._known: list[Known] = []
        self._pace = Pace(self._drawn)

    def run(self, versions: Iterable[Tree]) -> Tally:
        """All of it; raises `Wrong` where anything differs."""
        began = time.monotonic()
        coming = iter(versions)
        self._begin(next(coming))
        try:
            self._at.mine.do("checkpoint", "start")
            for tree in coming:
                self._count(tree)
                self._version(Plan(self._tree, tree))
                self._at.look(tree, "after the version")
            self._at.close()  # who is done with their work looks at what it takes
            self.tally.state_bytes = self._at.state_bytes()
            self._at.begin()
            self.tally.last_bytes = size(self._tree)
            self._compare_the_log()
            self._back_and_forth()
            self._compare_the_log()
        except BaseException:
            self._at.abandon()
            raise
        self._at.close()
        self.tally.seconds = time.monotonic() - began
        return self.tally

    @property
    def tally(self) -> Tally:
        """What has happened."""
        return self._at.tally

    @property
    def _tree(self) -> Tree:
        return self._known[-1].tree

    def _begin(self, tree: Tree) -> None:
        """Unpack the first version, as somebody does who has not heard of wink."""
        self._count(tree)
        lay_out(tree, self._at.root)
        self._known.append(Known(tree, ()))
        self._at.begin()

    def _count(self, tree: Tree) -> None:
        self.tally.counts["versions"] += 1
        self.tally.version_bytes += size(tree)

    # -- a version

    def _version(self, plan: Plan) -> None:
        self._one_after_another([*in_order(self._tree, plan.first, self._drawn)])
        contents = [of_a_file(self._tree, group) for group in plan.contents]
        self._drawn.shuffle(contents)
        while contents:
            if len(contents) > 5 and self._chance(0.1):
                some = [contents.pop() for _ in range(self._drawn.randint(4, min(len(contents), 10)))]
                self._side_by_side(_flat(some[::2]), _flat(some[1::2]))
            else:
                some = [contents.pop() for _ in range(min(self._drawn.choice((1, 2, 3, 6)), len(contents)))]
                self._one_after_another(_flat(some))
        self._one_after_another([*in_order(self._tree, plan.last, self._drawn)])

    def _one_after_another(self, steps: Sequence[Step]) -> None:
        """Make steps, some to a turn, with all that can come in between."""
        waiting = list(steps)
        while waiting:
            turn = [waiting.pop(0) for _ in range(min(self._drawn.choice((1, 2, 3, 5)), len(waiting)))]
            if self._chance(0.2):
                turn.insert(self._drawn.randint(0, len(turn)), failing(self._tree, self._drawn))
            if self._chance(0.05):
                self._strange()
            if self._chance(0.06):
                waiting = [*self._killed(turn), *waiting]
            else:
                self._turn(turn)
            if self._chance(0.05):
                self._there_and_back()

    def _turn(self, turn: Sequence[Step]) -> None:
        began = time.monotonic()
        replies = self._at.mine.do("turn", MINE, calls_of(turn))
        self._pace.learn(turn, time.monotonic() - began)
        self._at.judge(turn, replies, MINE)
        self._enter(turn)
        self._at.look(self._tree, f"after {[step.tool for step in turn]}")

    def _enter(self, steps: Iterable[Step]) -> None:
        """Remember what steps have led to."""
        for step in steps:
            if step.changes:
                self._known.append(Known(after(self._tree, (step,)), (step,)))
                self.tally.counts["changes"] += 1

    # -- what comes in between

    def _strange(self) -> None:
        """The other process writes over what it has not read."""
        step = over_unread(self._tree, self._drawn)
        self._at.judge([step], self._at.theirs.do("turn", STRANGERS, step.calls), STRANGERS)

    def _killed(self, turn: Sequence[Step]) -> list[Step]:
        """Kill the process in the middle of a turn; what is left to do."""
        self._at.mine.ask("turn", MINE, calls_of(turn))
        self._pace.wait_within(turn)
        self._at.kill()
        return self._survived(turn, ())

    def _side_by_side(self, mine: list[Step], theirs: list[Step]) -> None:
        """Two processes work at once, on files of their own; now and then one of them is killed."""
        self.tally.counts["turns of two processes at once"] += 1
        if self._chance(0.3):
            mine.insert(self._drawn.randint(0, len(mine)), failing(self._tree, self._drawn))
        self._at.mine.ask("turn", MINE, calls_of(mine))
        self._at.theirs.ask("turn", THEIRS, calls_of(theirs))
        if self._chance(0.25):
            self._pace.wait_within((*mine, *theirs))
            self._at.kill(lambda: self._at.judge(theirs, self._at.theirs.answer(), THEIRS))
            self._one_after_another(self._survived(mine, theirs))
        else:
            self._at.judge(mine, self._at.mine.answer(), MINE)
            self._at.judge(theirs, self._at.theirs.answer(), THEIRS)
            self._enter_together((*mine, *theirs))
            self._at.look(self._tree, "after two processes at once")

    def _survived(self, turn: Sequence[Step], beside: Sequence[Step]) -> list[Step]:
        """Find how far a turn has come whose process was killed; what is left to do of it."""
        found, tree = tree_of(self._at.root), after(self._tree, beside)
        for end in range(len(turn) + 1):
            if after(tree, turn[:end]) == found:
                break
        else:
            raise Wrong(f"a kill left neither what was before nor after a call:\n{difference(tree, found)}")
        done, left = turn[:end], [step for step in turn[end:] if step.changes]
        for step in turn:
            # Reads and failures leave no trace to tell whether they came to their end.
            self._at.replies.unsure[MINE, True] += len(step.reads)
            if not step.changes:
                self._at.replies.unsure[MINE, not step.kind] += 1
        self._at.replies.answered[MINE, True] += sum(1 for step in done if step.changes)
        if beside:
            self._enter_together((*done, *beside))
        else:
            self._enter(done)
        return left

    def _enter_together(self, steps: Sequence[Step]) -> None:
        """Remember what two processes have led to, in an order that nobody knows."""
        made = tuple(step for step in steps if step.changes)
        self._known.append(Known(after(self._tree, made), made))
        self.tally.counts["changes"] += len(made)

    # -- back and forth

    def _there_and_back(self) -> None:
        """Take back some of what was done last; then bring it back, or do it again."""
        count = min(self._drawn.choice((1, 1, 2, 3, 8)), len(self._known) - 1)
        if not count:
            return
        gone = self._known[-count:]
        self._undo(count, is_killed=self._chance(0.2))
        if self._chance(0.6):
            self._redo(gone, is_killed=self._chance(0.2))
        else:
            self.tally.counts["undos after which the same is done again"] += 1
            self._turn(_flat([known.steps for known in gone]))

    def _undo(self, count: int, *, is_killed: bool = False) -> None:
        calls = sum(len(known.steps) for known in self._known[-count:])
        target = self._known[-count - 1].tree
        self._go(target, "undo", calls, is_killed=is_killed)
        del self._known[-count:]

    def _redo(self, gone: Sequence[Known], *, is_killed: bool = False) -> None:
        self._go(gone[-1].tree, "redo", is_killed=is_killed)
        self._known += gone

    def _go(self, target: Tree, name: str, *arguments: object, is_killed: bool) -> None:
        """Undo or redo; a process that is killed at it has done it, or it is asked for again."""
        self.tally.counts[f"{name}s"] += 1
        if is_killed:
            self._at.mine.ask(name, *arguments)
            self._pace.wait_within_calls(3)
            self._at.kill()
            self.tally.counts["kills in undo or redo"] += 1
            found = tree_of(self._at.root)
            if found == target:
                return
            if found != self._tree:
                raise Wrong(f"a kill in {name} left neither before nor after:\n{difference(self._tree, found)}")
        self._at.mine.do(name, *arguments)
        self._at.look(target, f"after {name} {arguments}")

    def _back_and_forth(self) -> None:
        """Undo everything, in parts, to the first version; bring it all back; and restore the first version at once."""
        parts: list[list[Known]] = []
        while len(self._known) > 1:
            count = min(self._drawn.choice((1, 3, 10, 40, 150, len(self._known) // 8)) or 1, len(self._known) - 1)
            parts.append(self._known[-count:])
            self._undo(count)
        first = self._tree
        for part in reversed(parts):
            self._redo(part)
        self._at.mine.do("restore", "start")
        del self._known[1:]
        self._at.look(first, "after the first version was restored")

    # -- comparing

    def _compare_the_log(self) -> None:
        standing = sum(len(known.steps) for known in self._known)
        counts = self.tally.counts
        known = Counter(ok=standing, undone=counts["changes"] - standing, undo=counts["undos"], redo=counts["redos"])
        counts["calls in the log"] = compare_the_log(self._at.root, self._at.replies, known)

    def _chance(self, share: float) -> bool:
        return self._drawn.random() < share


def _flat(groups: Iterable[Sequence[Step]]) -> list[Step]:
    return [step for group in groups for step in group]
