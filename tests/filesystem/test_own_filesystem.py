"""What the guide shows passes what the guide says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from wink.errors import PathRefused
from wink.testing import FilesystemContract

GUIDE = Path(__file__).parents[2] / "docs/guide/your-own-filesystem.md"


def shown() -> type[FilesystemContract]:
    """The test class of the guide."""
    names: dict[str, Any] = {"__name__": __name__}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL):
        exec(block, names)
    return names["TestDictStore"]


TestDictStore = shown()


def test_links_are_refused_in_words_where_there_are_none(tmp_path: Path) -> None:
    """Whoever asked for one hears of the files, not of a system call."""
    files = TestDictStore().make_filesystem(tmp_path)
    files.write("a.txt", "")

    with pytest.raises(PathRefused, match=r"^'new/link' cannot be changed so: these files have no links$"):
        files.symlink("new/link", "../a.txt")

    assert [entry.name for entry in files.list()] == ["a.txt"]
