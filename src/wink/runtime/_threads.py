"""Run handlers on threads that can be left behind, and use again those that were not."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from concurrent.futures import Future

BUSY: Final = "wink-handler"
"""The name of a thread that runs a handler; of one that waits for the next it is another."""

_IDLE: Final = "wink-idle"
_IDLE_SECONDS: Final = 10.0
_MOST_IDLE: Final = 8

_idle: list[_Worker] = []


def in_thread(call: Callable[[], Any]) -> Future[Any]:
    """Start `call` on a thread of its own, which sees this context's variables and never keeps the program alive."""
    from concurrent.futures import Future  # brings `logging` along

    ended: Future[Any] = Future()
    context = contextvars.copy_context()

    def job(worker: _Worker) -> None:
        # Whoever waits may give up waiting, and must not be able to cancel what has begun.
        ended.set_running_or_notify_cancel()
        try:
            value = context.run(call)
        except StopIteration as error:  # no future takes one
            worker.rest()
            ended.set_exception(RuntimeError(f"the handler raised StopIteration: {error}"))
        except BaseException as error:  # foreign code; raised again where it is waited for
            worker.rest()
            ended.set_exception(error)
        else:
            # Before whoever waits is told: its next call may come at once, and is to find this thread free.
            worker.rest()
            ended.set_result(value)

    try:
        worker = _idle.pop()
    except IndexError:
        _Worker(job).start()
    else:
        worker.work(job)
    return ended


class _Worker(threading.Thread):
    """A thread that does one job after another: starting a thread costs more than most handlers take."""

    def __init__(self, job: Callable[[_Worker], None]) -> None:
        super().__init__(name=BUSY, daemon=True)
        self._job: Callable[[_Worker], None] | None = job
        self._rests = False
        self._given = threading.Lock()
        self._given.acquire()

    def work(self, job: Callable[[_Worker], None]) -> None:
        """Give the thread, which has been taken from the idle ones, something to do."""
        self.name = BUSY
        self._job = job
        self._given.release()

    def rest(self) -> None:
        """Be free for the next job, if it is wanted; called at the end of a job."""
        if len(_idle) < _MOST_IDLE:
            self.name, self._rests = _IDLE, True
            _idle.append(self)

    def run(self) -> None:
        """Do jobs until none comes for a while."""
        while True:
            job, self._job, self._rests = self._job, None, False
            assert job is not None, "a thread is woken with a job"
            job(self)
            del job  # it holds what the handler was given
            if not self._rests:
                return
            if not self._given.acquire(timeout=_IDLE_SECONDS):
                try:
                    _idle.remove(self)
                except ValueError:
                    self._given.acquire()  # somebody has taken it in the last moment
                else:
                    return


# Of the threads only the one that forks is there in the child.
os.register_at_fork(after_in_child=_idle.clear)
