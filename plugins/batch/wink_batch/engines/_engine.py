"""Where attempts run: what a driver needs of an engine, and the engine that is this process alone."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Protocol

from wink_batch._attempt import Attempt, Key
from wink_batch._meter import MeterLike
from wink_batch._outcome import Outcome, lost
from wink_batch._supervise import close_nursery, run_attempt

Run = Callable[[Attempt, "MeterLike | None", Callable[[], int]], Outcome]


class Engine(Protocol):
    """Runs attempts somewhere else, many at once. Whatever becomes of one, it comes back exactly once from `wait`."""

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        ...

    def slots(self) -> int:
        """How many attempts it should have, those that wait for a place among them; may change while it runs."""
        ...

    def submit(self, attempt: Attempt) -> None:
        """Have an attempt run; raises `EngineFailed`."""
        ...

    def wait(self, seconds: float) -> list[tuple[Key, Outcome]]:
        """The attempts that have come back, waiting at most so long for the first; raises `EngineFailed`."""
        ...

    def stop(self) -> None:
        """Tell all attempts to end; they come back as stopped."""
        ...

    def close(self) -> None:
        """End everything at once, and let go of it; can be called twice."""
        ...


class LocalEngine:
    """Threads of this process, each with a process for the attempt that it runs. Needs nothing but wink."""

    def __init__(self, parallel: int = 0, *, meter: MeterLike | None = None, run: Run = run_attempt) -> None:
        self._parallel = parallel or os.cpu_count() or 1
        self._meter, self._run = meter, run
        self._todo: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Key, Outcome]] = queue.SimpleQueue()
        self._stopping = 0
        self._threads = [
            threading.Thread(target=self._work, name=f"wink-batch-{number}", daemon=True)
            for number in range(self._parallel)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def name(self) -> str:
        """What it is."""
        return f"this machine, {self._parallel} at once"

    def slots(self) -> int:
        """One for each thread: whatever waits can be begun elsewhere, or not at all."""
        return self._parallel

    def submit(self, attempt: Attempt) -> None:
        """Have an attempt run when a thread is free."""
        self._todo.put(attempt)

    def wait(self, seconds: float) -> list[tuple[Key, Outcome]]:
        """The attempts that have come back."""
        try:
            found = [self._done.get(timeout=seconds)]
        except queue.Empty:
            return []
        while True:
            try:
                found.append(self._done.get_nowait())
            except queue.Empty:
                return found

    def stop(self) -> None:
        """Tell all attempts to end."""
        self._stopping = max(1, self._stopping)

    def close(self) -> None:
        """End the threads, and with them at once what they run."""
        self._stopping = 2
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            thread.join(60)

    def _work(self) -> None:
        try:
            while (attempt := self._todo.get()) is not None:
                if self._stopping:
                    self._done.put((attempt.key, Outcome("stopped", "interrupted", "it had not begun")))
                    continue
                try:
                    outcome = self._run(attempt, self._meter, lambda: self._stopping)
                except BaseException as error:  # foreign code; the driver must not wait for ever
                    outcome = lost("error", f"{type(error).__name__}: {error}")
                self._done.put((attempt.key, outcome))
        finally:
            close_nursery()
