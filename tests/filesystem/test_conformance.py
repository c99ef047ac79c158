"""Every filesystem of wink keeps what `FilesystemContract` promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.filesystem import backends

from wink.filesystem import Filesystem, FileTransaction, HostFilesystem, InMemoryFilesystem, StoreFilesystem
from wink.filesystem.memory._store import MemoryStore
from wink.testing import FilesystemContract
from wink.workspace import Workspace


class TestMemory(FilesystemContract):
    """Files in memory."""

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        return InMemoryFilesystem(read_only=read_only)


class TestStore(FilesystemContract):
    """A store that somebody made, with nothing around it that belongs to it."""

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        return StoreFilesystem(MemoryStore(), read_only=read_only, immutable=True)


class Disk(FilesystemContract):
    """Files of the host."""

    reopens = on_host = True
    variant = ""

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        return backends.disk(self.variant, place, read_only=read_only)


class TestKernelAndExchange(Disk):
    """The kernel keeps paths beneath the root, and names are exchanged."""

    variant = "openat2-exchange"


class TestKernelAndPortable(Disk):
    """The kernel keeps paths beneath the root; names cannot be exchanged, as on NFS."""

    variant = "openat2-portable"


class TestWalkAndExchange(Disk):
    """An older kernel, or one that forbids `openat2`."""

    variant = "walk-exchange"


class TestWalkAndPortable(Disk):
    """Nothing but POSIX."""

    variant = "walk-portable"


class TestWorkspace(FilesystemContract):
    """The files of a workspace, whose record decides what was committed."""

    reopens = on_host = True

    @pytest.fixture(autouse=True)
    def _workspaces(self) -> None:
        self.opened: dict[Filesystem, Workspace] = {}

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        if read_only:
            return HostFilesystem(place, read_only=True)  # a workspace is opened so where it cannot keep its state
        workspace = Workspace.open(place)
        self.opened[workspace.filesystem] = workspace
        return workspace.filesystem

    def commit_call(self, files: Filesystem, part: FileTransaction) -> None:
        part.prepare()
        if part.dirty:
            self.opened[files].record.commit(backends.entry(str(part.transaction_id), (), part.changes()))
        part.publish()

    def close_filesystem(self, files: Filesystem) -> None:
        workspace = self.opened.get(files)
        if workspace is not None:
            workspace.close()
        super().close_filesystem(files)


def test_what_is_not_declared_is_not_tried() -> None:
    """A filesystem without links is no bad one; and what is declared again further down is tried again."""

    class Plain(FilesystemContract):
        has_links = has_modes = False

    class Linked(Plain):
        has_links = True

    class Real(Plain):
        on_host = True

    assert FilesystemContract.test_what_others_write_is_seen is None
    assert callable(Real.test_what_others_write_is_seen)
    name = "test_links_inside_are_followed"
    assert getattr(FilesystemContract, name) is not None
    assert getattr(Plain, name) is None
    assert getattr(Linked, name) is not None
    assert Linked.test_modes_change_and_come_back is None


def test_no_promise_hides_another() -> None:
    """Two tests of one name in different groups would be one test."""
    owners: dict[str, type] = {}
    for owner in FilesystemContract.__mro__:
        for name in vars(owner).get("wink_tests", {}):
            assert name not in owners
            owners[name] = owner
    assert len(owners) > 120
