"""The policy keeps what every policy promises."""

from __future__ import annotations

from typing import Any

import pytest

from wink.policies import ToolPolicy
from wink.prompt import Section
from wink.testing import PolicyContract, allowed, denied
from wink_files import files_section
from wink_read_before_write import files_policy


class TestFilesPolicy(PolicyContract):
    """With the file tools that it was made for."""

    files = {"a.txt": "one\ntwo\n", "b.txt": "one\n"}
    steps = (
        allowed("write_file", file_path="new.txt", content="new"),
        denied("write_file", file_path="a.txt", content="two"),
        denied("write_bytes", file_path="a.txt", content="AAAA"),
        denied("move_file", source_path="b.txt", target_path="c.txt"),
        allowed("read_file", file_path="a.txt", limit=1),
        denied("write_file", file_path="a.txt", content="two"),
        allowed("edit_file", file_path="a.txt", old_string="one", new_string="1"),
        allowed("read_file", file_path="a.txt"),
        allowed("write_file", file_path="a.txt", content="two"),
        allowed("chmod", path="b.txt", mode="755"),
        allowed("symlink", path="link", target_path="b.txt"),
        denied("write_file", file_path="link", content="two"),
        denied("rm", path="b.txt"),
        allowed("read_file", file_path="b.txt"),
        allowed("rm", path="b.txt"),
    )

    @pytest.fixture
    def policy(self) -> ToolPolicy:
        return files_policy()

    @pytest.fixture
    def section(self) -> Section[Any]:
        return files_section(read_before_write=False)


class TestFilesPolicyOnDisk(TestFilesPolicy):
    """Where files have changed behind its back as far as it can know."""

    fs = "disk"
