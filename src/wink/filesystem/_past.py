"""Come back to what files were before, whatever keeps that: the store itself, or what its transactions replaced."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from wink.errors import UndoConflict
from wink.filesystem._change import FileChange, backwards

if TYPE_CHECKING:
    from wink.filesystem._store import ChangeSet, MarkingChangeSet, MarkingStore
    from wink.filesystem._transaction import FileTransaction
    from wink.filesystem._tree import Tree
    from wink.filesystem.undo import Committed, Places, Versions


class Past(Protocol):
    """The way back of one tree. A moment is a mark, or a position in the change set of the transaction that asks; None is now."""

    def mark(self) -> object:
        """What is committed now; can be come back to as long as somebody holds it."""
        ...

    def restore(self, transaction: FileTransaction, to: object, /) -> tuple[str, ...]:
        """Make everything as it was at a moment, as changes of the transaction; raises `UndoConflict`, with nothing changed.

        Gives the paths of what was there and does not come back.
        """
        ...

    def check(self, transaction: FileTransaction, to: int, /) -> None:
        """Raise `UndoConflict` if undoing the transaction's change set down to a position would put aside what somebody else saved."""
        ...

    def between(self, change_set: ChangeSet | None, since: object, until: object) -> tuple[FileChange, ...]:
        """The net change of each path from one moment to another."""
        ...

    def commit_of(self, mark: object) -> str | None:
        """The commit that shows what was committed at a mark, in hexadecimal; None where nothing keeps commits."""
        ...


class StorePast:
    """The past of a store that keeps it itself."""

    __slots__ = ("_store", "mark")

    def __init__(self, store: MarkingStore) -> None:
        self._store, self.mark = store, store.mark

    def restore(self, transaction: FileTransaction, to: object) -> tuple[str, ...]:
        """Let the change set do it."""
        with transaction.changing(".") as change_set:
            cast("MarkingChangeSet", change_set).rewind(to)
        return ()

    def check(self, transaction: FileTransaction, to: int) -> None:
        """Nobody else can save anything here."""

    def between(self, change_set: ChangeSet | None, since: object, until: object) -> tuple[FileChange, ...]:
        """Ask the change set, or where there is none one that is empty."""
        return (self._store.begin("compare") if change_set is None else change_set).between(since, until)

    def commit_of(self, mark: object) -> None:
        """There are none."""


class History(Protocol):
    """What was committed to a tree on the disk, in order."""

    def mark(self) -> object:
        """The moment after all that has been committed."""
        ...

    def changes(self, since: object, until: object = None) -> Sequence[tuple[int, FileChange]]:
        """What was committed from one mark to a later one, oldest first, each with the position of its transaction.

        Raises `SnapshotMismatch` for a mark of which that is not known any more.
        """
        ...

    def is_before(self, one: object, other: object) -> bool:
        """Whether one mark is not after another."""
        ...

    def commit_of(self, mark: object) -> str | None:
        """See `Past`."""
        ...


class DiskPast:
    """The past of a tree on the disk, by its history and what its transactions have kept of what they replaced."""

    __slots__ = ("_history", "_tree")

    def __init__(self, tree: Tree, history: History) -> None:
        self._tree, self._history = tree, history

    def mark(self) -> object:
        """The last position in the history."""
        return self._history.mark()

    def restore(self, transaction: FileTransaction, to: object) -> tuple[str, ...]:
        """Put back what has changed since; what somebody else has changed stays, or is in the way. Gives what does not come back."""
        from wink.filesystem.undo import PuttingBack, obstacles, plan

        with transaction.changing(".") as change_set:
            changes = self._changes(change_set, to, None)
            versions = self._versions(lambda: changes)
            targets, conflicts = plan(versions, changes)
            conflicts = conflicts or obstacles(versions, targets)
            if conflicts:
                raise UndoConflict(conflicts)
            PuttingBack(transaction, versions, targets).run()
        gone = ((one.path, one.before) for _, one in changes)
        return tuple(sorted({path for path, before in gone if before is not None and before.kind == "other"}))

    def check(self, transaction: FileTransaction, to: int) -> None:
        """See that everything that changed since is as the transaction left it."""
        from wink.filesystem.undo import changed_by_others

        with transaction.changing(".") as change_set:
            changes = self._changes(change_set, to, None)
            conflicts = changed_by_others(self._versions(lambda: changes), changes)
            if conflicts:
                raise UndoConflict(conflicts)

    def between(self, change_set: ChangeSet | None, since: object, until: object) -> tuple[FileChange, ...]:
        """Add up what was committed and what the change set has changed."""
        from wink.filesystem.undo import net_changes

        if isinstance(since, int) and (until is None or isinstance(until, int)):
            return () if change_set is None else change_set.between(since, until)
        forward = self._is_before(since, until)
        earlier, later = (since, until) if forward else (until, since)
        changes = self._changes(change_set, earlier, later)
        # Versions that are not wanted themselves may lead to those that are.
        versions = self._versions(lambda: self._changes(change_set, earlier, None))
        net = net_changes(versions, changes, until_now=later is None)
        return net if forward else backwards(net)

    def commit_of(self, mark: object) -> str | None:
        """Ask the history."""
        return self._history.commit_of(mark)

    def _changes(self, change_set: ChangeSet | None, earlier: object, later: object) -> list[tuple[int, FileChange]]:
        if isinstance(earlier, int):
            return [] if change_set is None else [(1, change) for change in change_set.between(earlier, later)]
        own = later is None or isinstance(later, int)
        found = list(self._history.changes(earlier, None if own else later))
        if own and change_set is not None:
            position = found[-1][0] + 1 if found else 1
            found += [(position, change) for change in change_set.between(0, later)]
        return found

    def _is_before(self, one: object, other: object) -> bool:
        if other is None:
            return True
        if isinstance(one, int) or isinstance(other, int):
            return isinstance(other, int) and (not isinstance(one, int) or one <= other)
        return self._history.is_before(one, other)

    def _versions(self, committed: Committed) -> Versions:
        from wink.filesystem.undo import Versions

        return Versions(cast("Places", self._tree.store), committed)


def past_of(tree: Tree) -> Past:
    """The way back; raises `OSError` for a tree whose store has none."""
    if tree.past is None:
        from errno import ENOTSUP

        raise OSError(ENOTSUP, "this filesystem cannot take snapshots", tree.store.root)
    return tree.past


class FilesystemSnapshot(NamedTuple):
    """A state that the filesystem which took it can come back to, as long as the snapshot is kept.

    `created_ns` is in nanoseconds since the epoch; `number` counts the snapshots of one filesystem; `mark` is what the
    filesystem knows the moment by.
    """

    tree: Tree
    number: int
    created_ns: int
    tag: str | None
    mark: object

    @property
    def root(self) -> str:
        """Where the files are, for people."""
        return self.tree.store.root

    @property
    def snapshot_id(self) -> str:
        """A name for messages and logs."""
        return f"{self.created_ns:x}-{self.number}"

    @property
    def created_at(self) -> datetime:
        """When it was taken, in UTC."""
        return datetime.fromtimestamp(self.created_ns / 1e9, UTC)

    @property
    def commit(self) -> str | None:
        """The commit in wink's history that shows this state, made if need be, of the paths that calls have touched by then.

        Only a workspace has one, for moments between calls; None elsewhere, and before the first call that changed files.
        Raises `HistoryDamaged`, and `SnapshotMismatch` when the record is not there any more.
        """
        past = self.tree.past
        return None if past is None or isinstance(self.mark, Position) else past.commit_of(self.mark)

    def __repr__(self) -> str:
        return f"FilesystemSnapshot({self.snapshot_id!r}, root={self.root!r}, tag={self.tag!r})"


class Position:
    """A moment in the changes of one transaction, which are a stack; `cuts` are the positions that it was cut down to."""

    __slots__ = ("__weakref__", "_first", "at", "cuts")

    def __init__(self, cuts: list[int], at: int) -> None:
        self.cuts, self.at, self._first = cuts, at, len(cuts)

    @property
    def is_lost(self) -> bool:
        """Whether what had been changed up to here was taken back since."""
        return any(cut < self.at for cut in self.cuts[self._first :])
