"""Fold what a workspace's record has, when it is worth it, free what then lies in the history, and keep the record small."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
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
"""Calls of which the texts are worth being moved."""
BESIDE: Final = 4096
"""Calls of one process after which another one folds beside them: a thread would make each of them wait for the interpreter."""
YOUNGEST: Final = 16
"""The last transactions are left alone by a fold beside calls: somebody is looking at what they did."""
WORTH: Final = 8
"""Changing calls of one process that are worth a fold when it ends."""
SOME: Final = 512
"""So many transactions at most a process folds while somebody waits for it; when as many are left as it ends, another process takes them."""
FEW: Final = 64
"""Calls of one process of which the texts are moved when it ends."""
TIDIED_AT_ONCE: Final = 2048
"""Of so many calls at most texts are moved while somebody waits for the end."""
_CROWDED: Final = 64
"""Transactions in staging that are, whoever left them there."""


class Folding:
    """Decides when to fold one workspace; may be used from any thread."""

    def __init__(self, state: str, files: HostFilesystem, record: Record, *, durable: bool) -> None:
        self._state, self._files, self._record, self._durable = state, files, record, durable
        self._count = self._calls = self._since = 0
        self._archive: Archive | None = None
        self._thread: threading.Thread | None = None
        self.afterwards: Callable[[], object] | None = None
        """Called after a fold that began by itself, beside the calls or behind the last one: it gives up what is too old."""
        self.elsewhere: Callable[[], bool] | None = None
        """Lets another process `catch_up`, and waits for it; gives whether it could."""

    def note(self, changed: bool = True) -> None:
        """A call was stored; every few thousand of them a process begins that folds them, and a thread waits for it."""
        self._calls += 1
        self._since += 1
        self._count += changed
        if self._since >= BESIDE and (self._thread is None or not self._thread.is_alive()):
            self._since = 0
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
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None

    def end(self) -> None:
        """Fold and tidy behind the last call: more readily where this process has made many of them."""
        self.wait()
        if self.is_worth_it():
            self.quietly()
            if self._record.folds.waiting() >= SOME:  # processes that were killed left them, or this one made many
                self._beside()
        self.tidy(most=TIDIED_AT_ONCE, enough=FEW if self._calls >= FEW else None)

    def is_worth_it(self) -> bool:
        """Whether enough has come together since the last fold."""
        if self._count == 0:
            return False
        if self._count >= WORTH:
            return True
        return len(self._staged()) >= _CROWDED

    def fold(self, *, most: int | None = None, leave: int = 0) -> int:
        """Take in all transactions, the oldest first, or `most` of them, and all but the last `leave`; gives how many.

        Those are meant that are there now: calls beside it could go on for ever. Raises `HistoryDamaged` and `CommitFailed`,
        with nothing lost. Does nothing while another process folds.
        """
        until = self._record.folds.newest()
        pending = self._pending(most, leave, until)
        from wink.history._store import NAME, Store

        names = self._unpointed()
        if not pending and not ((names or self._staged()) and os.path.lexists(os.path.join(self._state, NAME))):
            return 0

        folded: set[str] = set()
        # Made only for something to put into it.
        with Store(self._state, make=bool(pending), durable=self._durable) as store:
            if not store.lock():
                return 0
            if pending and self._record.folds.last()[0] >= pending[0].position:
                pending = self._pending(most, leave, until)  # somebody has just folded
            while pending and self._take_in(store, pending):
                folded.update(one.transaction_id for one in pending)
                pending = self._pending(None if most is None else most - len(folded), leave, until)
            self._free(store, folded)
            self._point(store)
            if folded:
                from wink.history._tidy import tidy_packs

                tidy_packs(store)
        self._count = 0
        return len(folded)

    def commit_at(self, position: int) -> str | None:
        """The commit of the last transaction up to a position that changed files; what is not folded yet is folded first."""
        self.wait()
        if not self._files.read_only:
            self.fold()
        return self._record.folds.boundary(position)

    def _unpointed(self) -> dict[str, str]:
        """The checkpoints without a reference, whose transactions are all folded, each with its commit."""
        folds, listed = self._record.folds, {one.name for one in self._record.listed()}
        found = [one for one in self._record.checkpoints() if one.name not in listed and not self._is_pointed(one.name)]
        pending = folds.pending(1) if found else ()
        known = [one for one in found if not pending or one.position < pending[0].position]
        commits = {one.name: folds.boundary(one.position) for one in known}
        return {name: commit for name, commit in commits.items() if commit is not None}

    def _is_pointed(self, name: str) -> bool:
        from wink.history._names import reference
        from wink.history._store import NAME

        return os.path.lexists(os.path.join(self._state, NAME, reference("checkpoints", name)))

    def _point(self, store: Store) -> None:
        """Let git know checkpoints by their names, as long as it has their commits."""
        from wink.history._names import reference

        for name, commit in self._unpointed().items():
            if store.holds_text(commit):
                store.point(reference("checkpoints", name), bytes.fromhex(commit))

    def _pending(self, most: int | None, leave: int, until: int) -> tuple[Unfolded, ...]:
        most = AT_ONCE if most is None else min(most, AT_ONCE)
        found = self._record.folds.pending(most + leave)
        return tuple(one for one in found[: max(len(found) - leave, 0)] if one.position <= until)

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
            # First, so that whoever is killed in between leaves no name of what is not there.
            self._unpoint(store, position, boundary)
            drop(store, heads, roots, [bytes.fromhex(blob) for blob in folds.blobs()])
            folds.dropped()
            from wink.history._tidy import tidy_packs

            tidy_packs(store, always=True)

    def _unpoint(self, store: Store, position: int, oldest: str | None) -> None:
        """Let git forget the checkpoints whose commits are given up with those before the `oldest` that stays."""
        from wink.history._names import reference

        listed = {one.name for one in self._record.listed()}
        for one in self._record.checkpoints():
            is_given_up = one.position < position and self._record.folds.boundary(one.position) != oldest
            if is_given_up and one.name not in listed:
                store.unpoint(reference("checkpoints", one.name))

    def quietly(self, *, most: int | None = SOME, leave: int = 0) -> None:
        """Fold without failing: what cannot be folded now stays where it is, and is as good there."""
        try:
            self.fold(most=most, leave=leave)
        except (WinkError, OSError, ValueError) as error:
            _logger.warning("calls could not be folded into the history: %s", error)

    def tidy(self, *, most: int | None = None, enough: int | None = None) -> None:
        """Move the texts of calls that wait for it, where they are `enough`, and give up what is too old; never fails."""
        try:
            if self._record.imported is not None or self._record.texts.waiting() < (
                EVERY if enough is None else enough
            ):
                return
            self._record.texts.pack(most=most)
            if self.afterwards is not None:
                self.afterwards()
            self._record.forgetting.compact()
            self._record.pack_results()
        except (WinkError, OSError, ValueError) as error:
            _logger.warning("the record could not be made smaller: %s", error)

    def catch_up(self) -> None:
        """Fold what others have left, but for the last calls, and keep the record small; never fails."""
        self.quietly(most=None, leave=YOUNGEST)
        self.tidy()

    def _beside(self) -> None:
        count = self._count
        try:
            if self.elsewhere is not None and self.elsewhere():
                self._count -= count
        except (WinkError, OSError, ValueError) as error:
            _logger.warning("calls could not be folded by another process: %s", error)
