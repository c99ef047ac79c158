"""Work through a batch: begin attempts, take them in, begin those again that were lost, until all is over or may not go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from wink.limits import utc_now
from wink_batch._attempt import Attempt, Key
from wink_batch._journal import Journal
from wink_batch._meter import over
from wink_batch._outcome import Outcome
from wink_batch._results import Row
from wink_batch.engines._engine import Engine
from wink_batch.engines._schedule import Schedule

TURN: Final = 0.5

Ending = Literal["over", "interrupted", "time", "budget"]
"""How a driver's work ended: everything is over, or somebody, or a limit of the batch, ended it before."""
"""Why a batch ended: nothing is left to do, somebody stopped it, or its time or its money is used up."""


class Watcher(Protocol):
    """Is told how a batch comes along, on the driver's thread."""

    def began(self, key: Key) -> None:
        """An attempt was handed to the engine."""
        ...

    def came_back(self, key: Key, outcome: Outcome, meaning: str) -> None:
        """An attempt came back; `meaning` is what becomes of it."""
        ...

    def finished(self, row: Row) -> None:
        """A task is over."""
        ...

    def turn(self, running: int, waiting: int) -> None:
        """Some time has passed."""
        ...


class Sink(Protocol):
    """Where else the records of tasks go."""

    def add(self, row: Row) -> None:
        """A task is over."""
        ...

    def turn(self) -> None:
        """Write what should not wait any longer."""
        ...

    def close(self) -> None:
        """Write all that is left."""
        ...


@dataclass(slots=True)
class Driver:
    """Works through one batch once; `interrupt` may be called at any time, from a signal's handler too."""

    journal: Journal
    engine: Engine
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    watchers: tuple[Watcher, ...] = ()
    sinks: tuple[Sink, ...] = ()
    clock: Callable[[], float] = time.monotonic
    _interrupted: bool = False
    _ending: Ending = "over"
    _told: bool = False

    def interrupt(self) -> None:
        """Begin nothing more, and have what runs end."""
        self._interrupted = True

    def run(self) -> Ending:
        """Work until everything is over, or why it had to end before; raises `EngineFailed`."""
        journal, plan = self.journal, self.journal.plan
        schedule = Schedule(
            journal.tasks,
            attempts=plan.attempts,
            retries=plan.retries,
            failures=journal.failures(),
            over=journal.over(),
            finished=journal.results,
        )
        for task in schedule.complete:  # their attempts were over when an earlier driver was killed
            self._finish(task)
        began = self.clock()
        while not schedule.is_over:
            self._look(began)
            if not self._told:
                self._begin(schedule)
            elif not schedule.running:
                break
            for key, outcome in self.engine.wait(TURN):
                self._take(schedule, key, outcome)
            for watcher in self.watchers:
                watcher.turn(len(schedule.running), schedule.waiting)
            for sink in self.sinks:
                sink.turn()
        if self._ending == "over" and len(journal.results) < len(journal.tasks):
            return "budget"  # the meter has told the last of them to stop, before the journal knew
        return self._ending

    def _look(self, began: float) -> None:
        """Tell everything to end when somebody wants that, or a limit of the batch is reached."""
        if self._told:
            return
        limits = self.journal.plan.batch_limits
        if self._interrupted:
            self._ending = "interrupted"
        elif limits.seconds is not None and self.clock() - began >= limits.seconds:
            self._ending = "time"
        elif over(limits, self.journal.spent):
            self._ending = "budget"
        else:
            return
        self._told = True
        self.engine.stop()

    def _begin(self, schedule: Schedule) -> None:
        room = self.engine.slots() - len(schedule.running)
        while room > 0 and (key := schedule.next()) is not None:
            attempt = Attempt(key, self.journal.tasks[key.task], self.journal.plan, self.env)
            self.engine.submit(attempt)
            for watcher in self.watchers:
                watcher.began(key)
            room -= 1

    def _take(self, schedule: Schedule, key: Key, outcome: Outcome) -> None:
        if key not in schedule.running:
            return  # it came twice
        if outcome.cause == "budget":
            # What the whole batch may use is used up: it is nothing that the task did.
            outcome = replace(outcome, status="stopped")
        if not outcome.started_at:
            outcome = replace(outcome, started_at=utc_now().isoformat(timespec="milliseconds"))
        # Kept before it counts: who is killed here begins it again, and nothing is lost or doubled.
        self.journal.came_back(key, outcome)
        meaning = schedule.ended(key, passing=outcome.is_passing, stopped=outcome.status == "stopped")
        for watcher in self.watchers:
            watcher.came_back(key, outcome, meaning)
        if meaning == "task over":
            self._finish(key.task)

    def _finish(self, task: str) -> None:
        row: dict[str, Any] = self.journal.finish(task)
        for sink in self.sinks:
            sink.add(row)
        for watcher in self.watchers:
            watcher.finished(row)
