"""Fold what a workspace's record has, when it is worth it, and free what then lies in the history."""

from __future__ import annotations

import logging
import os
import threading
from functools import partial
from typing import BinaryIO, Final

from wink.errors import WinkError
from wink.filesystem import FileChange, HostFilesystem
from wink.record import Record

_logger: Final = logging.getLogger("wink.history")

AT_ONCE: Final = 256
"""Transactions a fold takes in; more are several folds, so that little is lost when one is interrupted."""
EVERY: Final = 256
"""Changing calls of one process after which it folds beside them."""
YOUNGEST: Final = 16
"""The last transactions are left alone by a fold beside calls: somebody is looking at what they did."""
WORTH: Final = 8
"""Changing calls of one process that are worth a fold when it ends."""
_CROWDED: Final = 64
"""Files in staging that are, whoever left them there."""


class Folding:
    """Decides when to fold one workspace; may be used from any thread."""

    def __init__(self, state: str, files: HostFilesystem, record: Record, *, durable: bool) -> None:
        self._state, self._files, self._record, self._durable = state, files, record, durable
        self._count = 0
        self._thread: threading.Thread | None = None

    def note(self) -> None:
        """A call has committed changes; every few hundred of them a fold begins, in a thread of its own."""
        self._count += 1
        if self._count % EVERY == 0 and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._beside, name="wink fold", daemon=True)
            self._thread.start()

    def open(self, staged: str) -> BinaryIO | None:
        """A pre-image that is in the history, by its name in staging; see `Archive.open`."""
        from wink.history._archive import Archive

        return Archive(self._state, self._record).open(staged)

    def wait(self) -> None:
        """Wait for a fold that is under way."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def is_worth_it(self) -> bool:
        """Whether enough has come together since the last fold."""
        if self._count == 0:
            return False
        if self._count >= WORTH:
            return True
        try:
            return len(os.listdir(os.path.join(self._state, "staged"))) >= _CROWDED
        except OSError:
            return False

    def fold(self, *, most: int | None = None, leave: int = 0) -> int:
        """Take in all transactions, the oldest first, or `most` of them, and all but the last `leave`; gives how many.

        Raises `HistoryDamaged` and `CommitFailed`, with nothing lost. Does nothing while another process folds.
        """
        if not self._record.folds.pending(leave + 1)[leave:]:
            return 0
        from wink.filesystem import Versions
        from wink.history._fold import fold
        from wink.history._store import Store
        from wink.history._tidy import merge_packs

        done = 0
        with Store(self._state, make=True, durable=self._durable) as store:
            if not store.lock():
                return 0
            while most is None or done < most:
                # Asked again: the lock was free because somebody has just folded.
                pending = self._record.folds.pending(AT_ONCE + leave)
                pending = pending[: min(len(pending) - leave, AT_ONCE, AT_ONCE if most is None else most - done)]
                if not pending:
                    break
                first, last = pending[0].position, pending[-1].position
                found = self._record.changes(first)
                versions = Versions(self._files.places, partial(iter, found))
                changes: dict[int, list[FileChange]] = {}
                for position, change in found:
                    if position > last:
                        break
                    changes.setdefault(position, []).append(change)
                folded = fold(store, self._record.folds, pending, changes, versions, self._files.places.open_preimage)
                self._files.discard_preimages(*folded.free)
                done += folded.count
                if not folded.count:
                    break
            merge_packs(store)
        self._count = 0
        return done

    def quietly(self, *, most: int, leave: int = 0) -> None:
        """Fold without failing: what cannot be folded now stays where it is, and is as good there."""
        try:
            self.fold(most=most, leave=leave)
        except (WinkError, OSError, ValueError) as error:
            _logger.warning("calls could not be folded into the history: %s", error)

    def _beside(self) -> None:
        self.quietly(most=4 * EVERY, leave=YOUNGEST)
