"""A server that serves a mounted server's tools: it ends in time whatever that one does."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from plugins.mcp.tests.mount.helpers import NOTES
from plugins.mcp.tests.test_ending import wait_for
from plugins.mcp.tests.wire import Wire


@pytest.mark.parametrize("how", ["EOF", "SIGTERM", "SIGINT"])
def test_it_ends_while_a_mounted_call_runs(tmp_path: Path, how: str) -> None:
    """By itself, with the status that it has otherwise, and nothing to say."""
    place, settings = tmp_path / "place", tmp_path / "wink"
    place.mkdir()
    settings.mkdir()
    program = json.dumps(NOTES)
    (settings / "wink.toml").write_text(f"[plugins.mcp.servers.notes]\ncommand = {program}\ntimeout = 600\n")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WINK_")}
    environment = {**kept, "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "wink", "serve", "--workspace", str(place), "--section", "mcp.notes"]
    until = tmp_path / "until"
    with Wire(command, environment) as wire:
        wire.initialize()
        wire.ask(1, "notes_wait", seconds=600, path=str(until))
        wait_for(str(until))
        if how == "EOF":
            wire.process.stdin.close()
        else:
            wire.process.send_signal(getattr(signal, how))

        assert wire.ended() == (130 if how == "SIGINT" else 0)
        assert b"Traceback" not in wire.said
