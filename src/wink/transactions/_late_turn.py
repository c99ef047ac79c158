"""Let a call that runs programs wait for its turn only when it comes to change files."""

from __future__ import annotations

import threading
from collections.abc import Callable

from wink.errors import HandleRevoked
from wink.filesystem import WriteLock


class LateTurn:
    """A turn that is taken when it is first needed, by whatever thread the call works on, and given back at its end.

    `seconds` says how long may be waited for it; `taken` runs with the turn held, before anything is changed.
    """

    __slots__ = ("_ended", "_held", "_lock", "_seconds", "_taken", "_taking", "_turns")

    def __init__(self, turns: WriteLock, seconds: Callable[[], float], taken: Callable[[], None]) -> None:
        self._turns, self._seconds, self._taken = turns, seconds, taken
        self._taking = threading.Lock()
        self._lock = threading.Lock()
        self._held = self._ended = False

    def take(self) -> None:
        """Wait for the turn, once; raises `WorkspaceBusy`, and `HandleRevoked` when the call ended meanwhile."""
        if self._held:
            return
        with self._taking:
            if self._held:
                return
            self._turns.acquire(self._seconds())
            with self._lock:
                if not self._ended:
                    self._held = True
            if not self._held:
                self._turns.release()
                raise HandleRevoked("the call ended while it waited for its turn; nothing was changed")
            self._taken()

    def end(self) -> None:
        """Give the turn back, if it was taken; nothing can take it afterwards."""
        with self._lock:
            held, self._held, self._ended = self._held, False, True
        if held:
            self._turns.release()
