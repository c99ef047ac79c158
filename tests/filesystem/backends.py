"""Every kind of filesystem that wink has, each driven in the same way: calls within calls, others' edits, deaths."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from wink.filesystem import FileChange, FilePart, Filesystem, HostFilesystem, InMemoryFilesystem, _disk
from wink.session import SliceDelta
from wink.transactions import CommitEntry, Transaction
from wink.workspace import Workspace

DISKS: dict[str, dict[str, Any]] = {
    "openat2-exchange": {"resolver": "openat2", "exchange": True},
    "openat2-portable": {"resolver": "openat2", "exchange": False},
    "walk-exchange": {"resolver": "walk", "exchange": True},
    "walk-portable": {"resolver": "walk", "exchange": False},
}


def disk(variant: str, place: Path, *, read_only: bool = False) -> HostFilesystem:
    """Files beneath a directory, resolved and exchanged as the variant says."""
    with mock.patch.object(_disk, "DiskStore", partial(_disk.DiskStore, **DISKS[variant])):
        return HostFilesystem(place, read_only=read_only)


def workspace(variant: str, place: Path) -> Workspace:
    """A workspace over a directory, resolved and exchanged as the variant says."""
    with mock.patch.object(_disk, "DiskStore", partial(_disk.DiskStore, **DISKS[variant])):
        return Workspace.open(place)


class Backend:
    """A filesystem and the calls that are under way on it, the innermost last."""

    is_host = False
    name = "memory"

    def __init__(self) -> None:
        self.parts: list[FilePart] = []
        self.root: Filesystem
        self.last: tuple[str, object] = ("", None)
        self.open()

    @property
    def files(self) -> Filesystem:
        """Where operations go: the innermost handle, or the root."""
        return self.parts[-1].handle if self.parts else self.root

    def open(self) -> None:
        """Make the filesystem, or open it again."""
        self.root = InMemoryFilesystem()

    def do(self, work: Callable[[Filesystem], object]) -> object:
        """Let `work` change files, in the innermost call or as one of its own."""
        return work(self.files)

    def begin(self) -> None:
        """Begin a call, or one within it."""
        if self.parts:
            self.parts.append(self.parts[-1].handle.begin())
            return
        self.root.turns.acquire(10)
        self.parts.append(self.root.begin())

    def commit(self) -> None:
        """End the innermost call; what it did stands, or becomes a part of the outer one."""
        part = self.parts.pop()
        part.revoke()
        part.prepare()
        part.publish()
        self._ended()

    def abort(self) -> None:
        """End the innermost call; it has not been."""
        part = self.parts.pop()
        part.revoke()
        part.undo()
        self._ended()

    def undo(self, before: Any) -> None:
        """Take back the last call, `before` which a snapshot was taken."""
        self.root.restore(before)

    def redo(self, after: Any) -> None:
        """Take back the last undo, `after` whose call a snapshot was taken."""
        self.root.restore(after)

    def die(self) -> None:
        """The process ends as it is, and what it left is opened by another one."""
        while self.parts:
            self.abort()

    def take_turn(self) -> None:
        """Do what comes before every change: recover what a dead process left."""
        self.root.turns.acquire(10)
        self.root.turns.release()

    def reopen(self) -> None:
        """The process ends in order, and another one begins."""

    def others(self, work: Callable[[Path | Filesystem], object]) -> None:
        """Let somebody who knows nothing of wink change something, on the disk; here only what comes of it counts."""
        work(self.root)

    def close(self) -> None:
        """Leave nothing behind."""

    def _ended(self) -> None:
        if not self.parts:
            self.root.turns.release()


class Disk(Backend):
    """Files beneath a directory."""

    is_host = True

    def __init__(self, variant: str) -> None:
        self.variant = self.name = variant
        self.directory = Path(tempfile.mkdtemp())
        self.place = self.directory / "files"
        self.place.mkdir()
        super().__init__()

    def open(self) -> None:
        self.root = disk(self.variant, self.place)

    def die(self) -> None:
        self.parts.clear()
        self.root._store.close()  # as the end of a process closes descriptors, and nothing else
        self.open()

    def reopen(self) -> None:
        self.root.close()
        self.open()

    def others(self, work: Callable[[Path | Filesystem], object]) -> None:
        work(self.place)

    def close(self) -> None:
        self.root.close()
        shutil.rmtree(self.directory)


class Recorded(Disk):
    """The files of a workspace, where each change is a call in its record."""

    def __init__(self, variant: str) -> None:
        self.transaction: Transaction | None = None
        super().__init__(variant)
        self.name = f"workspace-{variant}"

    def open(self) -> None:
        self.workspace = workspace(self.variant, self.place)
        self.root = self.workspace.filesystem

    @property
    def files(self) -> Filesystem:
        if len(self.parts) > 1:
            return self.parts[-1].handle
        if self.transaction is None:
            return self.root
        assert self.transaction.filesystem is not None
        return self.transaction.filesystem

    def do(self, work: Callable[[Filesystem], object]) -> object:
        if self.parts:
            return work(self.files)
        self.begin()
        try:
            result = work(self.files)
        except Exception:
            self.abort()
            raise
        self.commit()
        return result

    def begin(self) -> None:
        if self.parts:
            self.parts.append(self.files.begin())
            return
        self.root.turns.acquire(10)
        self.transaction = Transaction(self.workspace.session(), None, root=self.root, writable=True)
        self.transaction.enter()
        part = self.transaction.file_part_of(self.root)
        assert part is not None
        self.parts.append(part)

    def commit(self) -> None:
        if len(self.parts) > 1:
            super().commit()
            return
        transaction = self._leave()
        transaction.commit(partial(entry, transaction.id))
        self._ended()

    def abort(self) -> None:
        if len(self.parts) > 1:
            super().abort()
            return
        self._leave().abort()
        self._ended()

    def undo(self, before: Any) -> None:
        self.workspace.undo()

    def redo(self, after: Any) -> None:
        self.workspace.redo()

    def die(self) -> None:
        if self.transaction is not None:
            self.transaction.leave()
            self.transaction = None
        self.parts.clear()
        self.root._store.close()
        self.workspace.record.close()
        self.open()

    def reopen(self) -> None:
        self.workspace.close()
        self.open()

    def close(self) -> None:
        self.workspace.close()
        shutil.rmtree(self.directory)

    def _leave(self) -> Transaction:
        transaction, self.transaction = self.transaction, None
        assert transaction is not None
        self.parts.clear()
        transaction.leave()
        transaction.revoke()
        return transaction


def entry(name: str, deltas: tuple[SliceDelta, ...], changes: tuple[FileChange, ...]) -> CommitEntry:
    """A call for the record."""
    return CommitEntry(
        name, "default", "call", "work", "demo", "{}", "committed", "done", datetime.now(UTC), timedelta(0), (), deltas,
        changes,
    )  # fmt: skip


def all_backends() -> list[Backend]:
    """One of each, empty; the first is in memory."""
    return [Backend(), *(Disk(variant) for variant in DISKS), Recorded("openat2-exchange"), Recorded("walk-portable")]
