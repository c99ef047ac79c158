"""fsspec's own suites for authors of filesystems, on both backends, used directly and through a call's handle."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.tests import abstract

from wink.filesystem import HostFilesystem, InMemoryFilesystem
from wink_fsspec import DiskFileSystem, FilesystemView, MemoryFileSystem


class Fixtures(abstract.AbstractFixtures):
    """What the suites want to know of a filesystem."""

    @pytest.fixture
    def fs_join(self):
        return lambda *names: "/".join(names)

    @pytest.fixture
    def fs_path(self, fs: FilesystemView) -> str:
        fs.mkdir("work")
        return "work"


SUITES = (
    abstract.AbstractCopyTests,
    abstract.AbstractGetTests,
    abstract.AbstractOpenTests,
    abstract.AbstractPipeTests,
    abstract.AbstractPutTests,
)


class TestMemory(Fixtures, *SUITES):
    """Files in memory."""

    @pytest.fixture
    def fs(self) -> FilesystemView:
        return MemoryFileSystem()


class TestDisk(Fixtures, *SUITES):
    """Files beneath a directory."""

    @pytest.fixture
    def fs(self, tmp_path: Path) -> FilesystemView:
        (tmp_path / "root").mkdir()
        return DiskFileSystem(tmp_path / "root")


class TestCallInMemory(Fixtures, *SUITES):
    """What a tool gets."""

    @pytest.fixture
    def fs(self) -> FilesystemView:
        return InMemoryFilesystem().begin().handle.fs


class TestCallOnDisk(Fixtures, *SUITES):
    """What a tool gets in a workspace, all of which is taken back in the end."""

    @pytest.fixture
    def fs(self, tmp_path: Path) -> Iterator[FilesystemView]:
        root = tmp_path / "root"
        root.mkdir()
        with HostFilesystem(root) as files:
            part = files.begin()
            yield part.handle.fs
            part.undo()
        assert [path.name for path in root.iterdir()] in ([], [".wink"])
