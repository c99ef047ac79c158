"""The file tools and their section keep what every section and tool promises."""

from __future__ import annotations

from typing import Any

import pytest

from wink.prompt import Section
from wink.testing import SectionContract, ToolContract
from wink_files import VfsConfig, files_section


@pytest.mark.parametrize("config", [VfsConfig(), VfsConfig(respect_ignore_files=True)])
class TestSection(SectionContract):
    """With the rule that files are read before they are changed."""

    @pytest.fixture
    def section(self, config: VfsConfig) -> Section[Any]:
        return files_section(config=config)


class Files(ToolContract):
    """A tool of the section."""

    files = {"src/app.py": "def main():\n    run()\n", "README.md": "# Read me\n", "docs/a.md": "a\n"}

    @pytest.fixture
    def section(self) -> Section[Any]:
        return files_section(read_before_write=False)


class TestLs(Files):
    tool, arguments = "ls", {"path": "src"}


class TestReadFile(Files):
    tool, arguments = "read_file", {"file_path": "src/app.py", "limit": 1}


class TestReadBytes(Files):
    tool, arguments = "read_bytes", {"file_path": "src/app.py", "limit": 3}


class TestWriteBytes(Files):
    tool, arguments = "write_bytes", {"file_path": "img/logo.png", "content": "iVBORwAA"}


class TestGlob(Files):
    tool, arguments = "glob", {"pattern": "**/*.md"}


class TestGrep(Files):
    tool, arguments = "grep", {"pattern": "r.n"}


class TestWriteFile(Files):
    tool, arguments = "write_file", {"file_path": "src/new/a.py", "content": "x = 1\n"}


class TestEditFile(Files):
    tool = "edit_file"
    arguments = {"file_path": "src/app.py", "old_string": "run()", "new_string": "walk()"}


class TestMoveFile(Files):
    tool = "move_file"
    arguments = {"source_path": "src", "target_path": "lib/src"}


class TestSymlink(Files):
    tool, arguments = "symlink", {"path": "docs/link", "target_path": "src/app.py"}


class TestChmod(Files):
    tool, arguments = "chmod", {"path": "src/app.py", "mode": "755"}


class TestRemove(Files):
    tool, arguments = "rm", {"path": "docs", "recursive": True}


class TestWriteFileOnDisk(TestWriteFile):
    fs = "disk"


class TestMoveFileOnDisk(TestMoveFile):
    fs = "disk"


class TestSymlinkOnDisk(TestSymlink):
    fs = "disk"


class TestChmodOnDisk(TestChmod):
    fs = "disk"
