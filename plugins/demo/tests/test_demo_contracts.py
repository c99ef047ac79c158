"""The demonstration's section and tool keep what every section and tool promises."""

from __future__ import annotations

from typing import Any

import pytest

from wink.prompt import Section
from wink.testing import SectionContract, ToolContract
from wink_demo import refactor_section


class TestSection(SectionContract):
    """As it is."""

    @pytest.fixture
    def section(self) -> Section[Any]:
        return refactor_section()


class TestRename(ToolContract):
    """In two files at once."""

    tool = "rename_word"
    arguments = {"old": "run", "new": "walk", "files": ["a.py", "b.py"]}
    files = {"a.py": "def run(): ...\n", "b.py": "from a import run\n"}

    @pytest.fixture
    def section(self) -> Section[Any]:
        return refactor_section()
