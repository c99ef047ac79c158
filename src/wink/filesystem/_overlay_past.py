"""Come back to what an overlay was: all that it knows is in its upper layer, whose own past is the overlay's."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from wink.filesystem._access import Commits, Tree
from wink.filesystem._change import FileChange
from wink.filesystem._overlay import OverlayStore
from wink.filesystem._overlay_changes import changes_between
from wink.filesystem._overlay_frame import OverlayFrame
from wink.filesystem._past import past_of
from wink.filesystem._store import Frame

if TYPE_CHECKING:
    from wink.filesystem._part import FilePart


class OverlayPast:
    """Implements `Past`. Marks and positions are those of the upper layer."""

    __slots__ = ("_below", "_store")

    def __init__(self, store: OverlayStore, below: Tree) -> None:
        self._store, self._below = store, below

    def mark(self) -> object:
        """What is committed in the upper layer."""
        return past_of(self._below).mark()

    def restore(self, part: FilePart, to: object) -> None:
        """Bring the upper layer back, in the frame of the part."""
        with part.changing(".") as frame:
            overlay = cast("OverlayFrame", frame)
            overlay.lend(self._below, lambda inner: past_of(self._below).restore(inner, to))

    def check(self, part: FilePart, to: int) -> None:
        """Raise `UndoConflict` where undoing would put aside what somebody else saved in the upper layer."""
        with part.changing(".") as frame:
            overlay = cast("OverlayFrame", frame)
            overlay.lend(self._below, lambda inner: past_of(self._below).check(inner, to))

    def between(self, frame: Frame | None, since: object, until: object) -> tuple[FileChange, ...]:
        """The net change of each path from one moment to another."""
        inner = None if frame is None else cast("OverlayFrame", frame).inner
        past = past_of(self._below)
        return changes_between(self._store, lambda one, other: past.between(inner, one, other), since, until)


class UpperCommits:
    """Implements `Commits`: tells the upper layer's own history what was changed in its own terms."""

    __slots__ = ("_commits", "_store")

    def __init__(self, store: OverlayStore, commits: Commits) -> None:
        self._store, self._commits = store, commits

    @property
    def is_wanted(self) -> bool:
        """Never."""
        return False  # of a part, which would tell the overlay's changes; the frame tells its own

    def begin(self) -> None:
        """Something is about to be committed."""
        self._commits.begin()

    def end(self, transaction_id: str, changes: tuple[FileChange, ...], *, is_recorded: bool) -> None:
        """It was committed."""
        told = self._store.told.pop(transaction_id, changes)
        self._commits.end(transaction_id, told, is_recorded=is_recorded)


def joined_to(below: Tree, store: OverlayStore, tree: Tree) -> Tree:
    """Let a tree over an upper layer's have its past."""
    tree.past = OverlayPast(store, below)
    if below.commits is not None:
        store.commits = below.commits
        tree.commits = UpperCommits(store, below.commits)
    return tree
