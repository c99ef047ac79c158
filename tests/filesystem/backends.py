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

from fsspec.implementations.local import LocalFileSystem
from tests.filesystem.model import Tree

from wink.filesystem import (
    FileChange,
    Filesystem,
    FileTransaction,
    HostFilesystem,
    InMemoryFilesystem,
)
from wink.filesystem import disk as on_disk
from wink.session import SliceDelta
from wink.transactions import CommitEntry, Transaction
from wink.workspace import Workspace
from wink_overlay import OverlayFilesystem

THEIRS = "theirs"
"""Where somebody writes while a call is under way; calls leave it alone."""

DISKS: dict[str, dict[str, Any]] = {
    "openat2-exchange": {"resolver": "openat2", "exchange": True},
    "openat2-portable": {"resolver": "openat2", "exchange": False},
    "walk-exchange": {"resolver": "walk", "exchange": True},
    "walk-portable": {"resolver": "walk", "exchange": False},
}


def disk(variant: str, place: Path, *, read_only: bool = False) -> HostFilesystem:
    """Files beneath a directory, resolved and exchanged as the variant says."""
    with mock.patch.object(on_disk, "DiskStore", partial(on_disk.DiskStore, **DISKS[variant])):
        return HostFilesystem(place, read_only=read_only)


def workspace(variant: str, place: Path) -> Workspace:
    """A workspace over a directory, resolved and exchanged as the variant says."""
    with mock.patch.object(on_disk, "DiskStore", partial(on_disk.DiskStore, **DISKS[variant])):
        return Workspace.open(place)


class Backend:
    """A filesystem and the calls that are under way on it, the innermost last."""

    name = "memory"
    is_host = False
    """Whether there are system calls that can fail."""
    shared: Path | None = None
    """Where somebody who knows nothing of wink changes the files."""

    def __init__(self) -> None:
        self.parts: list[FileTransaction] = []
        self.root: Filesystem
        self.last: tuple[str, object] = ("", None)

    def start(self, tree: Tree) -> None:
        """Begin with these files."""
        self.open()
        fill(self.root, tree)

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
        self.root.write_lock.acquire(10)
        self.parts.append(self.root.begin())

    def commit(self) -> None:
        """End the innermost call; what it did stands, or becomes a part of the outer one."""
        part = self.parts.pop()
        try:
            part.revoke()
            part.prepare()
            part.publish()
        finally:
            self._ended()

    def abort(self) -> None:
        """End the innermost call; it has not been."""
        part = self.parts.pop()
        try:
            part.revoke()
            part.undo()
        finally:
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
        self.root.write_lock.acquire(10)
        self.root.write_lock.release()

    def reopen(self) -> None:
        """The process ends in order, and another one begins."""

    def close(self) -> None:
        """Leave nothing behind."""

    def _ended(self) -> None:
        if not self.parts:
            self.root.write_lock.release()


class Disk(Backend):
    """Files beneath a directory."""

    is_host = True

    def __init__(self, variant: str) -> None:
        self.variant = self.name = variant
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.place = self.directory / "files"
        self.place.mkdir()
        self.shared = self.place

    def start(self, tree: Tree) -> None:
        with HostFilesystem(self.place) as files:
            fill(files, tree)
        self.open()

    def open(self) -> None:
        self.root = disk(self.variant, self.place)

    def die(self) -> None:
        self.parts.clear()
        self.root._store.close()  # as the end of a process closes descriptors, and nothing else
        self.open()

    def reopen(self) -> None:
        self.root.close()
        self.open()

    def close(self) -> None:
        self.root.close()
        shutil.rmtree(self.directory)


class Recorded(Disk):
    """The files of a workspace, where each change is a call in its record."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self.transaction: Transaction | None = None
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
        self.root.write_lock.acquire(10)
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
        try:
            transaction.commit(partial(entry, transaction.id))
        finally:
            self._ended()

    def abort(self) -> None:
        if len(self.parts) > 1:
            super().abort()
            return
        try:
            self._leave().abort()
        finally:
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


class Over(Backend):
    """An overlay in memory over files in memory."""

    name = "overlay"

    def start(self, tree: Tree) -> None:
        lower = InMemoryFilesystem()
        fill(lower, tree)
        self.root = OverlayFilesystem(lower)


class OverDisk(Disk):
    """An overlay whose two layers are directories."""

    def __init__(self) -> None:
        super().__init__("openat2-exchange")
        self.name = "overlay-disk"
        self.shared = None

    def open(self) -> None:
        self.root = OverlayFilesystem(LocalFileSystem(), str(self.place), upper=self.directory / "upper")

    def die(self) -> None:
        self.parts.clear()
        self.root._upper._store.close()  # as the end of a process closes descriptors, and nothing else
        self.root._lower.close()
        self.open()


def entry(name: str, deltas: tuple[SliceDelta, ...], changes: tuple[FileChange, ...]) -> CommitEntry:
    """A call for the record."""
    return CommitEntry(
        name, "default", "call", "work", "demo", "{}", "committed", "done", datetime.now(UTC), timedelta(0), (), deltas,
        changes,
    )  # fmt: skip


def fill(files: Filesystem, tree: Tree) -> None:
    """Make files hold a tree, whatever they held."""
    part = files.begin()
    with part.changing(".") as change_set:
        for found in files.list():
            if found.name != THEIRS:
                change_set.delete(found.path, recursive=True)
        for path, thing in sorted(tree.items()):
            if thing.kind == "directory":
                change_set.mkdir(path)
            elif thing.kind == "file":
                change_set.put(path, thing.content, mode=thing.mode)
            else:
                change_set.symlink(path, str(thing.target))
        for path, thing in tree.items():
            if thing.kind == "directory":
                change_set.chmod(path, thing.mode)
    part.prepare()
    part.publish()


def all_backends() -> list[Backend]:
    """One of each, not started yet; the first is in memory."""
    disks = [Disk(variant) for variant in DISKS]
    return [Backend(), *disks, Recorded("openat2-exchange"), Recorded("walk-portable"), Over(), OverDisk()]
