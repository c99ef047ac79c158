"""How long calls take here and now, so that kills come while they are at work."""

from __future__ import annotations

import time
from collections.abc import Iterable
from random import Random

from .steps import Step, calls_of


class Pace:
    """Learnt from turns, for programs and for other calls."""

    def __init__(self, drawn: Random) -> None:
        self._drawn, self._seconds = drawn, {True: 0.1, False: 0.01}

    def learn(self, turn: Iterable[Step], took: float) -> None:
        """Take in how many seconds a turn took."""
        kinds = {tool == "run_command" for tool, _ in calls_of(turn)}
        ratio = min(max(took / self._expected(turn), 0.3), 3)
        for kind in kinds:
            self._seconds[kind] *= 1 + 0.2 * (ratio - 1) / len(kinds)

    def wait_within(self, turn: Iterable[Step]) -> None:
        """Wait for a part of what a turn takes, seldom a little more."""
        time.sleep(self._drawn.uniform(0, 1.1 * self._expected(turn)))

    def wait_within_calls(self, count: int) -> None:
        """The same for something that takes as long as so many calls."""
        time.sleep(self._drawn.uniform(0, count * self._seconds[False]))

    def _expected(self, turn: Iterable[Step]) -> float:
        return sum(self._seconds[tool == "run_command"] for tool, _ in calls_of(turn))
