"""Fold what a workspace's record has, free what then lies in the history, and give up what is too old: a `History` of `wink.workspace`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from wink.filesystem import FileChange, HostFilesystem
from wink.record import Record, Unfolded

if TYPE_CHECKING:
    from git import Repo

    from wink.workspace import Everything
    from wink_history._archive import Archive
    from wink_history._scan import Progress
    from wink_history._store import Store

AT_ONCE: Final = 256
"""Transactions a fold takes in; more are several folds, so that little is lost when one is interrupted."""


class Folding:
    """Takes the calls of one workspace into its history, and reads them back; may be used from any thread."""

    def __init__(self, state: str, files: HostFilesystem, record: Record, *, durable: bool) -> None:
        self._state, self._files, self._record, self._durable = state, files, record, durable
        self._archive: Archive | None = None

    def open(self, staged: str) -> BinaryIO | None:
        """A pre-image that is in the history, by its name in staging; see `Archive.open`."""
        return self.archive().open(staged)

    def archive(self) -> Archive:
        """What reads the history."""
        from wink_history._archive import Archive

        if self._archive is None:
            self._archive = Archive(self._state, self._record)
        return self._archive

    def store(self) -> Store:
        """The history, made if need be, to be locked and closed by whoever asked."""
        from wink_history._store import Store

        return Store(self._state, make=True, durable=self._durable)

    def close(self) -> None:
        """Close what was opened to read the history."""
        if self._archive is not None:
            self._archive.close()

    def fold(self, *, most: int | None = None, leave: int = 0) -> int:
        """Take in all transactions, the oldest first, or `most` of them, and all but the last `leave`; gives how many.

        Those are meant that are there now: calls beside it could go on for ever. Raises `HistoryDamaged` and `CommitFailed`,
        with nothing lost. Does nothing while another process folds.
        """
        until = self._record.folds.newest()
        pending = self._pending(most, leave, until)
        from wink_history._store import NAME, Store

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
                from wink_history._tidy import tidy_packs

                tidy_packs(store)
        return len(folded)

    def checkpoint(
        self,
        name: str,
        *,
        ignored_bytes: int | None,
        turn: Callable[[], AbstractContextManager[object]],
        progress: Progress | None,
        move: bool = False,
    ) -> tuple[tuple[str, str], ...]:
        """Take in all files under a name; gives those that could not be, each with the reason. Raises `CheckpointExists` and `WorkspaceBusy`."""
        from wink_history._full import checkpoint

        return checkpoint(self, self._files, self._record, name, ignored_bytes, turn, progress, move).not_restorable

    def forget(self, name: str) -> None:
        """Let git no longer know a checkpoint by this name."""
        from wink_history._names import reference

        if self._is_pointed(name):
            with self.store() as store:
                for kind in ("checkpoints", "listings"):
                    store.unpoint(reference(kind, name))

    def everything(self, name: str, places: Sequence[str]) -> Everything:
        """What restoring a checkpoint of everything means, at `places` only if there are any."""
        from wink_history._full import everything_of

        return everything_of(self, self._record, name, places)

    def repository(self) -> Repo | None:
        """The history for GitPython, None while nothing has been folded."""
        from wink_history._repository import repository

        return repository(self._state)

    def _unpointed(self) -> dict[str, str]:
        """The checkpoints without a reference, whose transactions are all folded, each with its commit."""
        folds, listed = self._record.folds, {one.name for one in self._record.listed()}
        found = [one for one in self._record.checkpoints() if one.name not in listed and not self._is_pointed(one.name)]
        pending = folds.pending(1) if found else ()
        known = [one for one in found if not pending or one.position < pending[0].position]
        commits = {one.name: folds.boundary(one.position) for one in known}
        return {name: commit for name, commit in commits.items() if commit is not None}

    def _is_pointed(self, name: str) -> bool:
        from wink_history._names import reference
        from wink_history._store import NAME

        return os.path.lexists(os.path.join(self._state, NAME, reference("checkpoints", name)))

    def _point(self, store: Store) -> None:
        """Let git know checkpoints by their names, as long as it has their commits."""
        from wink_history._names import reference

        for name, commit in self._unpointed().items():
            if store.holds_text(commit):
                store.point(reference("checkpoints", name), bytes.fromhex(commit))

    def _pending(self, most: int | None, leave: int, until: int) -> tuple[Unfolded, ...]:
        most = AT_ONCE if most is None else min(most, AT_ONCE)
        found = self._record.folds.pending(most + leave)
        return tuple(one for one in found[: max(len(found) - leave, 0)] if one.position <= until)

    def _take_in(self, store: Store, pending: Sequence[Unfolded]) -> bool:
        from wink.filesystem import Versions
        from wink_history._fold import fold

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
        folds = self._record.folds
        _, head, aside = folds.last()
        if head is None:
            return
        from wink_history._dropping import drop, oldest_beside
        from wink_history._store import Store

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
            from wink_history._tidy import tidy_packs

            tidy_packs(store, always=True)

    def _unpoint(self, store: Store, position: int, oldest: str | None) -> None:
        """Let git forget the checkpoints whose commits are given up with those before the `oldest` that stays."""
        from wink_history._names import reference

        listed = {one.name for one in self._record.listed()}
        for one in self._record.checkpoints():
            is_given_up = one.position < position and self._record.folds.boundary(one.position) != oldest
            if is_given_up and one.name not in listed:
                store.unpoint(reference("checkpoints", one.name))
