"""The section and its tool keep what every section and tool promises."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from wink.prompt import Section
from wink.testing import SectionContract, ToolContract
from wink_asteval import python_section


class TestSection(SectionContract):
    """With the usual bounds."""

    @pytest.fixture
    def section(self) -> Section[Any]:
        return python_section()


class TestEvaluate(ToolContract):
    """A script that reads a file and writes another."""

    tool = "evaluate_python"
    arguments = {
        "code": "total = len(read_text('in.txt'))\ntotal",
        "reads": [{"path": "in.txt"}],
        "writes": [{"path": "out.txt", "content": "{total}"}],
    }
    files = {"in.txt": "hello\n"}
    allow = (sys.executable,)  # scripts are evaluated in a process that can be killed

    @pytest.fixture
    def section(self) -> Section[Any]:
        return python_section()
