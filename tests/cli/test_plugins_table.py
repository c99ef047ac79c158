"""The table of `wink plugins`."""

from __future__ import annotations

import pytest

from wink.cli.setup._plugins_table import SLOW, table
from wink.plugins import PluginInfo


def test_the_table_tells_of_slow_imports(capsys: pytest.CaptureFixture[str]) -> None:
    """Who waits for every run should learn for whom."""
    table([PluginInfo("notes", "wink-notes", seconds=SLOW + 0.25), PluginInfo("quick", "wink-quick", seconds=0.1)], ())

    lines = capsys.readouterr().out.splitlines()
    assert lines[2].strip() == "takes 1.2 s to import"
    assert [line.split()[0] for line in lines[:4]] == ["PLUGIN", "notes", "takes", "quick"]


def test_nothing_of_a_plugin_plays_with_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever writes metadata could otherwise rewrite the lines of others."""
    table([PluginInfo("notes\x1b[2J", "wink-notes", "1\n2", reason="a\x07b")], ())

    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:3] == ["notes\\x1b[2J  wink-notes    1\\n2     available", "a\\x07b"]
