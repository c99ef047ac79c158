"""What a call and the calls within it share: one stack of changes, and the gate through which they are made."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet

from wink.filesystem._change import FileChange
from wink.filesystem._snapshot import Position
from wink.filesystem._store import Frame

if TYPE_CHECKING:
    from wink.filesystem._journal_report import Conflict
    from wink.filesystem._part import FilePart


class Stack:
    """What a part and its savepoints share."""

    __slots__ = (
        "changes",
        "conflicts",
        "cuts",
        "frame",
        "gate",
        "is_recorded",
        "snapshots",
        "transaction_id",
        "writers",
    )

    def __init__(self, transaction_id: str | None, *, is_recorded: bool) -> None:
        self.gate = threading.RLock()
        self.frame: Frame | None = None
        self.writers: list[FilePart] = []
        self.transaction_id, self.is_recorded = transaction_id, is_recorded
        self.changes: tuple[FileChange, ...] = ()
        self.conflicts: tuple[Conflict, ...] = ()
        # Down to which positions changes were taken back: snapshots of later ones mean nothing any more.
        self.cuts: list[int] = []
        self.snapshots: WeakSet[Position] | None = None

    def is_lost(self, position: Position) -> bool:
        """Whether what had been changed up to a snapshot was taken back since."""
        return any(cut < position.at for cut in self.cuts[position.cuts :])

    def is_last(self, at: int) -> bool:
        """Whether there is no later snapshot that somebody could still want."""
        return all(later.at <= at or self.is_lost(later) for later in self.snapshots or ())


def conflicts_of(frame: Frame) -> tuple[Conflict, ...]:
    """What a frame found that nobody expected; only where files are on a disk can somebody else save them."""
    return getattr(frame, "conflicts", ())


class Changing:
    """Holds the gate while one operation changes files, and takes back what it did when it fails half-way."""

    __slots__ = ("_enter", "_path", "_position", "_stack")

    def __init__(self, stack: Stack, enter: Callable[[str], Frame], path: str) -> None:
        self._stack, self._enter, self._path = stack, enter, path

    def __enter__(self) -> Frame:
        self._stack.gate.acquire()
        try:
            frame = self._enter(self._path)
            self._position = frame.position
        except BaseException:
            self._stack.gate.release()
            raise
        return frame

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            # Not the frame that it began with, if that was undone to its beginning meanwhile.
            frame = self._stack.frame
            if error is not None and frame is not None and frame.position > self._position:
                if self._position == 0:
                    self._stack.frame = None  # undoing everything ends a frame
                frame.undo(self._position)
        finally:
            self._stack.gate.release()
