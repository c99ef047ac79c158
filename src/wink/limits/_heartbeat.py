"""Signs of life from work that takes long."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple


class ProgressReport(NamedTuple):
    """How far a call is: a line about it, and how much is `done` of a `total`, each `None` where nobody knows."""

    message: str = ""
    done: float | None = None
    total: float | None = None


class Heartbeat:
    """Whoever works beats; whoever watches asks how long ago that was, or is called at each beat.

    `clock` counts seconds and never goes backwards.

    >>> times = iter([10.0, 12.0, 13.5])
    >>> heart = Heartbeat(clock=lambda: next(times))
    >>> heart.beat()
    >>> heart.elapsed()
    1.5
    """

    __slots__ = ("_callbacks", "_clock", "_last", "_lock", "progress")

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._lock = threading.Lock()
        self._callbacks: tuple[Callable[[], object], ...] = ()
        self.progress: ProgressReport | None = None
        """What the last beat said of how far the work is; `None` where it said nothing."""

    def beat(self, progress: ProgressReport | None = None) -> None:
        """Say that the work goes on, and how far it is. A callback that raises is logged and does not disturb the work."""
        self._last = self._clock()
        self.progress = progress
        for callback in self._callbacks:
            try:
                callback()
            except Exception:  # foreign code
                import logging

                logging.getLogger("wink.limits").exception("a heartbeat's callback %r failed", callback)

    def elapsed(self) -> float:
        """Seconds since the last beat, or since the heartbeat was made."""
        return self._clock() - self._last

    def add_callback(self, callback: Callable[[], object]) -> None:
        """Call `callback` at each beat, on the thread that beats, after those that were added before."""
        with self._lock:
            self._callbacks = (*self._callbacks, callback)

    def remove_callback(self, callback: Callable[[], object]) -> bool:
        """Call `callback` no more; False if it was not there."""
        with self._lock:
            kept = list(self._callbacks)
            if callback not in kept:
                return False
            kept.remove(callback)
            self._callbacks = tuple(kept)
            return True
