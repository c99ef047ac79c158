"""Fold what a workspace's record has, when it is worth it, and free what then lies in the history."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from wink.errors import WinkError
from wink.filesystem import FileChange, HostFilesystem
from wink.record import Record, Unfolded

if TYPE_CHECKING:
    from wink.history._archive import Archive
    from wink.history._store import Store

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
"""Transactions in staging that are, whoever left them there."""


class Folding:
    """Decides when to fold one workspace; may be used from any thread."""

    def __init__(self, state: str, files: HostFilesystem, record: Record, *, durable: bool) -> None:
        self._state, self._files, self._record, self._durable = state, files, record, durable
        self._count = 0
        self._archive: Archive | None = None
        self._thread: threading.Thread | None = None

    def note(self) -> None:
        """A call has committed changes; every few hundred of them a fold begins, in a thread of its own."""
        self._count += 1
        if self._count % EVERY == 0 and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._beside, name="wink fold", daemon=True)
            self._thread.start()

    def open(self, staged: str) -> BinaryIO | None:
        """A pre-image that is in the history, by its name in staging; see `Archive.open`."""
        return self.archive().open(staged)

    def archive(self) -> Archive:
        """What reads the history."""
        from wink.history._archive import Archive

        if self._archive is None:
            self._archive = Archive(self._state, self._record)
        return self._archive

    def store(self) -> Store:
        """The history, made if need be, to be locked and closed by whoever asked."""
        from wink.history._store import Store

        return Store(self._state, make=True, durable=self._durable)

    def close(self) -> None:
        """Close what was opened to read the history."""
        if self._archive is not None:
            self._archive.close()

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
        return len(self._staged()) >= _CROWDED

    def fold(self, *, most: int | None = None, leave: int = 0) -> int:
        """Take in all transactions, the oldest first, or `most` of them, and all but the last `leave`; gives how many.

        Raises `HistoryDamaged` and `CommitFailed`, with nothing lost. Does nothing while another process folds.
        """
        pending = self._pending(most, leave)
        from wink.history._store import NAME, Store

        if not pending and not (self._staged() and os.path.lexists(os.path.join(self._state, NAME))):
            return 0

        folded: set[str] = set()
        # Made only for something to put into it.
        with Store(self._state, make=bool(pending), durable=self._durable) as store:
            if not store.lock():
                return 0
            if pending and self._record.folds.last()[0] >= pending[0].position:
                pending = self._pending(most, leave)  # somebody has just folded
            while pending and self._take_in(store, pending):
                folded.update(one.transaction_id for one in pending)
                pending = self._pending(None if most is None else most - len(folded), leave)
            self._free(store, folded)
            if folded:
                from wink.history._tidy import merge_packs

                merge_packs(store)
        self._count = 0
        return len(folded)

    def _pending(self, most: int | None, leave: int) -> tuple[Unfolded, ...]:
        most = AT_ONCE if most is None else min(most, AT_ONCE)
        found = self._record.folds.pending(most + leave)
        return found[: max(len(found) - leave, 0)]

    def _take_in(self, store: Store, pending: Sequence[Unfolded]) -> bool:
        from wink.filesystem import Versions
        from wink.history._fold import fold

        found = self._record.changes(pending[0].position)
        changes: dict[int, list[FileChange]] = {}
        for position, change in found:
            if position > pending[-1].position:
                break
            changes.setdefault(position, []).append(change)
        places = self._files.places

        def find() -> Versions:
            return Versions(places, partial(self._record.changes, pending[0].position))

        return fold(store, self._record.folds, pending, changes, find, places)

    def _free(self, store: Store, folded: set[str]) -> None:
        """Drop from staging what is in the history, also what an interrupted fold has left there."""
        folds = self._record.folds
        kept = {name: folds.kept_by(name) for name in self._staged()}
        # What was folded just now has been written or looked at just now.
        free = [
            name
            for name, blobs in kept.items()
            if blobs is not None and (name in folded or all(store.holds_text(blob) for blob in blobs))
        ]
        self._files.discard_preimages(*free)

    def _staged(self) -> set[str]:
        """The ids of the transactions that have something in staging."""
        try:
            return {name.rpartition(".")[0] for name in os.listdir(os.path.join(self._state, "staged"))}
        except OSError:
            return set()

    def drop(self, position: int, keep: Iterable[str]) -> None:
        """Give up what the history has of the transactions up to a position, but for the pre-images to `keep`.

        The caller holds the workspace's lease. Raises `HistoryDamaged` and `CommitFailed`; it can be repeated.
        """
        self.wait()
        self.fold()
        folds = self._record.folds
        _, head, aside = folds.last()
        if head is None:
            return
        from wink.history._dropping import drop, oldest_beside
        from wink.history._store import Store

        self.close()
        with Store(self._state, durable=self._durable) as store:
            if not store.lock():
                return
            folds.drop(position, keep)
            boundary = folds.boundary(position)
            heads = [(bytes.fromhex(head), None if boundary is None else bytes.fromhex(boundary))]
            if aside is not None:
                last = bytes.fromhex(aside)
                heads.append((last, oldest_beside(store, last, position)))
            listed = self._record.listed()
            roots = [bytes.fromhex(oid) for one in listed for oid in (one.commit, one.listing)]
            drop(store, heads, roots, [bytes.fromhex(blob) for blob in folds.blobs()])
            folds.dropped()

    def quietly(self, *, most: int, leave: int = 0) -> None:
        """Fold without failing: what cannot be folded now stays where it is, and is as good there."""
        try:
            self.fold(most=most, leave=leave)
        except (WinkError, OSError, ValueError) as error:
            _logger.warning("calls could not be folded into the history: %s", error)

    def _beside(self) -> None:
        self.quietly(most=4 * EVERY, leave=YOUNGEST)
