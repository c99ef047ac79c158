"""Come back to what files were before, whatever keeps that: the store itself, or what its transactions replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from wink.errors import SnapshotMismatch, UndoConflict
from wink.filesystem._change import FileChange, backwards
from wink.filesystem._snapshot import FilesystemSnapshot, Position

if TYPE_CHECKING:
    from wink.filesystem._access import Tree
    from wink.filesystem._part import FilePart
    from wink.filesystem._store import Frame, MarkingFrame, MarkingStore
    from wink.filesystem._versions import Committed, Places, Versions


class Past(Protocol):
    """The way back of one tree. A moment is a mark, or a position in the frame of the part that asks; None is now."""

    def mark(self) -> object:
        """What is committed now; can be come back to as long as somebody holds it."""
        ...

    def restore(self, part: FilePart, to: object) -> None:
        """Make everything as it was at a moment, as changes of the part; raises `UndoConflict`, with nothing changed."""
        ...

    def check(self, part: FilePart, to: int) -> None:
        """Raise `UndoConflict` if undoing the part's frame down to a position would put aside what somebody else saved."""
        ...

    def between(self, frame: Frame | None, since: object, until: object) -> tuple[FileChange, ...]:
        """The net change of each path from one moment to another."""
        ...


class StorePast:
    """The past of a store that keeps it itself."""

    __slots__ = ("_store", "mark")

    def __init__(self, store: MarkingStore) -> None:
        self._store, self.mark = store, store.mark

    def restore(self, part: FilePart, to: object) -> None:
        """Let the frame do it."""
        with part.changing(".") as frame:
            cast("MarkingFrame", frame).rewind(to)

    def check(self, part: FilePart, to: int) -> None:
        """Nobody else can save anything here."""

    def between(self, frame: Frame | None, since: object, until: object) -> tuple[FileChange, ...]:
        """Ask the frame, or where there is none one that is empty."""
        return (self._store.begin("compare") if frame is None else frame).between(since, until)


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


class DiskPast:
    """The past of a tree on the disk, by its history and what its transactions have kept of what they replaced."""

    __slots__ = ("_history", "_tree")

    def __init__(self, tree: Tree, history: History) -> None:
        self._tree, self._history = tree, history

    def mark(self) -> object:
        """The last position in the history."""
        return self._history.mark()

    def restore(self, part: FilePart, to: object) -> None:
        """Put back what has changed since; what somebody else has changed stays, or is in the way."""
        from wink.filesystem._plan import plan
        from wink.filesystem._putting_back import PuttingBack

        with part.changing(".") as frame:
            changes = self._changes(frame, to, None)
            versions = self._versions(lambda: changes)
            targets, conflicts = plan(versions, changes)
            if conflicts:
                raise UndoConflict(conflicts)
            PuttingBack(part, versions, targets).run()

    def check(self, part: FilePart, to: int) -> None:
        """See that everything that changed since is as the part left it."""
        from wink.filesystem._plan import changed_by_others

        with part.changing(".") as frame:
            changes = self._changes(frame, to, None)
            conflicts = changed_by_others(self._versions(lambda: changes), changes)
            if conflicts:
                raise UndoConflict(conflicts)

    def between(self, frame: Frame | None, since: object, until: object) -> tuple[FileChange, ...]:
        """Add up what was committed and what the frame has changed."""
        from wink.filesystem._net import net_changes

        if isinstance(since, int) and (until is None or isinstance(until, int)):
            return () if frame is None else frame.between(since, until)
        forward = self._is_before(since, until)
        earlier, later = (since, until) if forward else (until, since)
        changes = self._changes(frame, earlier, later)
        # Versions that are not wanted themselves may lead to those that are.
        versions = self._versions(lambda: self._changes(frame, earlier, None))
        net = net_changes(versions, changes, until_now=later is None)
        return net if forward else backwards(net)

    def _changes(self, frame: Frame | None, earlier: object, later: object) -> list[tuple[int, FileChange]]:
        if isinstance(earlier, int):
            return [] if frame is None else [(1, change) for change in frame.between(earlier, later)]
        own = later is None or isinstance(later, int)
        found = list(self._history.changes(earlier, None if own else later))
        if own and frame is not None:
            position = found[-1][0] + 1 if found else 1
            found += [(position, change) for change in frame.between(0, later)]
        return found

    def _is_before(self, one: object, other: object) -> bool:
        if other is None:
            return True
        if isinstance(one, int) or isinstance(other, int):
            return isinstance(other, int) and (not isinstance(one, int) or one <= other)
        return self._history.is_before(one, other)

    def _versions(self, committed: Committed) -> Versions:
        from wink.filesystem._versions import Versions

        return Versions(cast("Places", self._tree.store), committed)


def mark_of(tree: Tree, snapshot: FilesystemSnapshot) -> object:
    """The mark of a snapshot of this tree; raises `SnapshotMismatch`."""
    if snapshot.tree is not tree:
        raise SnapshotMismatch(snapshot.snapshot_id)
    return snapshot.mark


def committed_mark(tree: Tree, snapshot: FilesystemSnapshot) -> object:
    """The same, unless it is of a moment inside a call; raises `SnapshotMismatch`."""
    mark = mark_of(tree, snapshot)
    if type(mark) is Position:
        raise SnapshotMismatch(
            snapshot.snapshot_id, "was taken inside a call, and ended with it; take it of the filesystem itself"
        )
    return mark


def restore(part: FilePart, snapshot: FilesystemSnapshot) -> None:
    """Come back to a snapshot that was taken outside of calls."""
    past_of(part.tree).restore(part, committed_mark(part.tree, snapshot))


def past_of(tree: Tree) -> Past:
    """The way back; raises `OSError` for a tree whose store has none."""
    if tree.past is None:
        from errno import ENOTSUP

        raise OSError(ENOTSUP, "this filesystem cannot take snapshots", tree.store.root)
    return tree.past
