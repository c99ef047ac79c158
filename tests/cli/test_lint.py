"""`wink lint`: what a provider does not take is said before any call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done

Cli = Callable[..., Done]


def test_the_tools_that_ship_with_wink_fit_everywhere(cli: Cli, place: Path) -> None:
    """Whoever runs it in CI hears nothing bad."""
    done = cli("lint")
    assert (done.status, done.err) == (0, "")
    assert [line.partition(":")[0] for line in done.out.splitlines()] == ["openai", "openai-chat", "anthropic"]


def test_machines_are_told_which_tools_are_held_to_their_schema(cli: Cli, place: Path) -> None:
    """Those whose parameters are all required; of an optional one strict mode would make another tool."""
    rows = json.loads(cli("lint", "--provider", "openai", "--json").out)
    (row,) = rows
    assert row["misfits"] == []
    assert "write_file" in row["strict"]
    assert "read_file" not in row["strict"]
    assert cli("lint", "--provider", "nobody").status == 2
