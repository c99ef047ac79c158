"""End a server in time, whatever its calls do: with what is running taken back, and without a traceback."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, Protocol


class Abortable(Protocol):
    """What can be taken back, as a transaction can."""

    def abort(self) -> object:
        """Take it back."""
        ...


SECONDS: Final = 1.3
"""How long ending in good order may take; then what is open is taken back, and the process ends."""

LAST: Final = 0.15
"""How long taking back may hold up the end after that; whoever opens the workspace next takes back the rest."""

INTERRUPTED: Final = 130


class Stopping:
    """The end of one server: asked for once, by whoever comes first, and kept to."""

    def __init__(self, open_transactions: Callable[[], Iterable[Abortable]]) -> None:
        self.status = 0
        self._open_transactions = open_transactions
        self._is_asked = False
        self._over = threading.Event()
        self._tell: Callable[[], object] | None = None
        # A signal's handler may come between any two steps of the main thread, so it must take no lock and start no
        # thread: it leaves a note, which this queue allows.
        self._notes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.watching = threading.Thread(target=self._see_to_it, name="wink-stopping", daemon=True)
        self.watching.start()

    def when_asked(self, tell: Callable[[], object]) -> None:
        """Call `tell` when the server is to end, on any thread; at once if that is so already."""
        self._tell = tell
        if self._is_asked:
            tell()

    def ask(self, status: int = 0) -> None:
        """Have the server end with this exit status; may be called from any thread and from a signal's handler."""
        if self._is_asked:
            return
        self._is_asked, self.status = True, status
        self.watch()
        tell = self._tell
        if tell is not None:
            with suppress(RuntimeError):  # its loop has been closed
                tell()

    def watch(self) -> None:
        """See to it that the server, which is about to end, does so in time."""
        self._notes.put(None)

    def over(self) -> None:
        """The server has ended in good order."""
        self._over.set()
        self._notes.put(None)

    @contextmanager
    def on_signals(self) -> Generator[None]:
        """Take SIGINT and SIGTERM as the wish to end; only the main thread hears of them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def end(number: int, frame: FrameType | None) -> None:
            del frame
            self.ask(INTERRUPTED if number == signal.SIGINT else 0)

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _see_to_it(self) -> None:
        self._notes.get()
        if self._over.wait(SECONDS):
            return
        # The loop hangs in foreign code. What the calls have changed can be taken back without it.
        undoing = threading.Thread(target=self._take_back, name="wink-taking-back", daemon=True)
        undoing.start()
        undoing.join(LAST)
        end_now(self.status)

    def _take_back(self) -> None:
        for transaction in self._open_transactions():
            with suppress(Exception):  # the next one to open the workspace will find the journal
                transaction.abort()


def end_now(status: int) -> None:
    """End the process without waiting for threads that were left behind in handlers."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)
