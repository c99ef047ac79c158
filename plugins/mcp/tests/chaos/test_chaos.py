"""A slice of the chaos that `python -m plugins.mcp.tests.chaos.run` makes; see docs/explanation/chaos.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugins.mcp.tests.chaos.oracle import apply, difference, replay, tree
from plugins.mcp.tests.chaos.run import live


@pytest.mark.parametrize("seed", [7, 8, 9, 10])
def test_a_workspace_outlives_its_servers(seed: int, tmp_path: Path) -> None:
    """Killed, cancelled, fed with garbage: files and record agree after each of five rounds, and a new server answers."""
    _, rounds, _, wrong = live(seed, 5, str(tmp_path))

    assert not wrong
    assert rounds == 5


def test_the_oracle_sees_a_half_done_call(tmp_path: Path) -> None:
    """A check that could not fail would prove nothing."""
    files: dict[str, str] = {}
    apply(files, "spread", {"marker": "m1", "count": 3})
    for path, content in files.items():
        target = tmp_path / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(content)
    assert tree(str(tmp_path)) == files

    (tmp_path / "group" / "1").write_text("m2\n")

    assert tree(str(tmp_path)) != files
    assert difference(files, tree(str(tmp_path))) == "group/1: expected 'm1\\n', found 'm2\\n'"
    with pytest.raises(AssertionError):
        apply(files, "fail_late", {"marker": "m3"})
    assert replay([], []) == {}
