"""The page on security names a test for each thing that it says of a clone."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parents[2]


def test_each_test_that_the_page_names_is_there() -> None:
    """Or the page promises what nobody looks after."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (TOP / "docs/explanation/security.md").read_text())

    assert len(named) >= 16
    for path, name in named:
        assert re.search(rf"^def {name}\(", (TOP / path).read_text(), re.MULTILINE), f"{path}::{name}"
