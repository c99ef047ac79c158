"""The section and its tool keep what every section and tool promises."""

from __future__ import annotations

from typing import Any

import pytest

from wink.prompt import Section
from wink.testing import SectionContract, ToolContract
from wink_shell import ShellConfig, shell_section


class TestSection(SectionContract):
    """With the usual settings."""

    fs = "disk"

    @pytest.fixture
    def section(self) -> Section[Any]:
        return shell_section(settings=ShellConfig())


class TestRunCommand(ToolContract):
    """A command that changes a file, makes one and deletes one."""

    fs = "disk"
    tool = "run_command"
    arguments = {"command": "echo two >> a.txt; echo n > n.txt; rm b.txt"}
    files = {"a.txt": "one\n", "b.txt": "b\n"}
    repeatable = False  # the reply says how long it took

    @pytest.fixture
    def section(self) -> Section[Any]:
        return shell_section(settings=ShellConfig())
