"""Processes for the evaluations of one section: a fresh one for each, started ahead where that is wanted."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from concurrent.futures import Future

from wink_asteval._library import library_directory
from wink_asteval._process import Worker
from wink_asteval._starting import start


class Workers:
    """Gives each evaluation a process of its own; none is ever used twice.

    With `prestart`, one that has nothing to do yet is kept for the next evaluation. It ends with `close`, when this is
    forgotten, or with the program.
    """

    def __init__(self, *, prestart: bool = False) -> None:
        self._library = library_directory()
        self._prestart = prestart
        self._lock = threading.Lock()
        self._spares: list[Future[subprocess.Popen[bytes]]] = []
        self._owner = os.getpid()
        weakref.finalize(self, _close_all, self._spares, self._owner)

    def take(self) -> Worker:
        """A process that has not evaluated anything."""
        if os.getpid() != self._owner:  # a fork: what is kept belongs to the process that started it
            self._owner, self._lock, self._spares = os.getpid(), threading.Lock(), []
        with self._lock:
            spare = self._spares.pop() if self._spares else None
        if spare is not None:
            worker = Worker(spare.result())
            if worker.is_alive:
                return worker
            worker.close()
        return Worker(start(self._library).result())

    def prepare(self) -> None:
        """Start the next process, if one is to be kept."""
        if not self._prestart:
            return
        with self._lock:
            if not self._spares:
                self._spares.append(start(self._library))

    def close(self) -> None:
        """End what is kept."""
        with self._lock:
            _close_all(self._spares, self._owner)


def _close_all(spares: list[Future[subprocess.Popen[bytes]]], owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork ends, not the process that started them
    while spares:
        Worker(spares.pop().result()).close()
