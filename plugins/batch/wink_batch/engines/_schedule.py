"""Decide which attempt is begun next, and what an outcome means for its task. Knows no clock, no process and no file.

Rules of this module:

* An attempt is under way at most once, and an outcome counts only while its attempt is: what comes twice, or late, is
  nothing.
* An attempt is begun again at most `retries` times after it failed in passing; being stopped costs no try.
* A task is over when all its attempts are, and never again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from wink_batch._attempt import Key

Meaning = Literal["again", "over", "task over", "stopped", "nothing"]


@dataclass(slots=True)
class _Task:
    left: int
    """Attempts that are not over."""


class Schedule:
    """What is left to do of a batch. `failures` are the tries that were used up before, `over` the attempts that are."""

    def __init__(
        self,
        tasks: Iterable[str],
        *,
        attempts: int = 1,
        retries: int = 0,
        failures: Mapping[tuple[str, int], int] | None = None,
        over: Iterable[tuple[str, int]] = (),
        finished: Iterable[str] = (),
    ) -> None:
        self._retries = retries
        self._failed = dict(failures or {})
        self._running: dict[tuple[str, int], Key] = {}
        self._stopped: list[tuple[str, int]] = []
        self._tasks: dict[str, _Task] = {}
        self._waiting: deque[tuple[str, int]] = deque()
        self.complete: list[str] = []
        """Tasks whose attempts were all over before, and that are not finished."""
        done, gone = set(over), set(finished)
        for task in tasks:
            if task in gone:
                continue
            numbers = [number for number in range(1, attempts + 1) if (task, number) not in done]
            if not numbers:
                self.complete.append(task)
                continue
            self._tasks[task] = _Task(len(numbers))
            self._waiting += ((task, number) for number in numbers)

    def next(self) -> Key | None:
        """The next attempt to begin, which is under way from now on; None when all are under way or over."""
        if not self._waiting:
            return None
        task, number = one = self._waiting.popleft()
        key = Key(task, number, self._failed.get(one, 0) + 1)
        self._running[one] = key
        return key

    def ended(self, key: Key, *, passing: bool = False, stopped: bool = False) -> Meaning:
        """What it means that an attempt has come back: with `passing` it failed in a way that may not come again."""
        one = key.task, key.number
        if self._running.get(one) != key:
            return "nothing"
        del self._running[one]
        if stopped:
            self._stopped.append(one)
            return "stopped"
        if passing:
            self._failed[one] = self._failed.get(one, 0) + 1
            if self._failed[one] <= self._retries:
                self._waiting.append(one)
                return "again"
        task = self._tasks[key.task]
        task.left -= 1
        if task.left:
            return "over"
        del self._tasks[key.task]
        return "task over"

    @property
    def running(self) -> tuple[Key, ...]:
        """The attempts that are under way."""
        return tuple(self._running.values())

    @property
    def waiting(self) -> int:
        """How many attempts are to be begun."""
        return len(self._waiting)

    @property
    def is_over(self) -> bool:
        """Whether nothing is under way and nothing left to begin."""
        return not self._waiting and not self._running
