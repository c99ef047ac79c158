"""What the page says of all calls together."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.workspace.working import call

from wink.workspace import Workspace
from wink_ui._sums import Sums, sums


def test_calls_are_counted_by_tool_and_by_how_they_ended(tmp_path: Path) -> None:
    """All of them, or those since it was last asked."""
    with Workspace.open(tmp_path) as workspace:
        for number in range(12):
            call(workspace, lambda *_: None, tool=f"t{number % 3}", session=f"s{number % 2}", fail=number % 4 == 0)
        tools, words = Counter[str](), Counter[str]()
        for one in sums(workspace.record.queries):
            tools[one.tool] += one.calls
            words[one.word] += one.calls
        kept = Sums(lambda: workspace.record.queries)
        before = sum(one.calls for one in kept.rows())
        call(workspace, lambda *_: None)

        assert tools == {"t0": 4, "t1": 4, "t2": 4}
        assert words == {"ok": 9, "rolled back": 3}
        assert (before, sum(one.calls for one in kept.rows())) == (12, 13)
