"""A directory on which two processes make calls, and from which every reply and the whole tree are compared."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .process import Process, Wrong
from .steps import Step
from .told import Replies
from .trees import Tree, difference, tree_of


@dataclass
class Tally:
    """What happened, counted."""

    counts: Counter[str] = field(default_factory=Counter[str])
    tools: Counter[str] = field(default_factory=Counter[str])
    failures: Counter[str] = field(default_factory=Counter[str])
    seconds: float = 0.0
    state_bytes: int = 0
    version_bytes: int = 0
    last_bytes: int = 0


class Workplace:
    """The directory `root`, which is alone in the one above it, and its processes: one that is killed, and another."""

    mine: Process
    theirs: Process

    def __init__(self, root: str) -> None:
        self.root, self.tally, self.replies = root, Tally(), Replies()

    def begin(self) -> None:
        """Start the processes."""
        self.mine = Process(self.root)
        self.theirs = Process(self.root)

    def judge(self, turn: Sequence[Step], replies: Sequence[tuple[bool, str]], session: str) -> None:
        """Count the replies to a turn; raises `Wrong` where one is not what its step has to get."""
        expected = [(step, call) for step in turn for call in step.calls]
        if len(replies) != len(expected):
            raise Wrong(f"{len(expected)} calls got {len(replies)} replies")
        for (step, (tool, arguments)), (success, text) in zip(expected, replies, strict=True):
            must_fail = bool(step.kind) and (tool, arguments) == step.calls[-1]
            self.tally.tools[tool] += 1
            self.tally.counts["calls"] += 1
            self.replies.answered[session, not must_fail] += 1
            if must_fail:
                self.tally.failures[step.kind] += 1
            if success == must_fail:
                said = "succeeded" if must_fail else "failed"
                raise Wrong(f"{tool} {said} {step.kind}\n{arguments[:300]}\n{text[:600]}")

    def look(self, expected: Tree, when: str) -> None:
        """Raise `Wrong` unless the whole tree is as expected, and nothing is beside it."""
        self.tally.counts["trees compared"] += 1
        found = tree_of(self.root)
        if found != expected:
            raise Wrong(f"the tree is wrong {when}:\n{difference(expected, found)}")
        above, name = os.path.split(self.root)
        if os.listdir(above) != [name]:
            raise Wrong(f"something was written outside {when}: {os.listdir(above)}")

    def kill(self, before_the_next: Callable[[], object] = lambda: None) -> None:
        """Kill the one process, and start another in its place."""
        self.tally.counts["kills"] += 1
        self.tally.counts["kills before the answer"] += self.mine.kill()
        before_the_next()
        self.mine = Process(self.root)
        self.tally.counts["calls taken back after a kill"] += self.mine.recovered

    def close(self) -> None:
        """Let the processes end by themselves."""
        self.mine.close()
        self.theirs.close()

    def abandon(self) -> None:
        """End the processes, where something was wrong."""
        for process in (self.mine, self.theirs):
            process.kill()

    def state_bytes(self) -> int:
        """What wink's own directory takes on the disk."""
        return sum(
            os.lstat(os.path.join(above, name)).st_blocks * 512
            for above, _, names in os.walk(os.path.join(self.root, ".wink"))
            for name in (*names, ".")
        )
