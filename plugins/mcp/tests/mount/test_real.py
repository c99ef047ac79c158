"""Servers that others have written, from the package index, and that need no network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from plugins.mcp.tests.mount.helpers import Agent

Mount = Callable[..., Agent]


def test_the_time_server(mount: Mount) -> None:
    """Its schemas have enums and descriptions, its errors are texts."""
    agent = mount("x", command=[sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"], prefix="time")

    assert agent.names == ["time_get_current_time", "time_convert_time"]
    told = json.loads(
        agent.says("time_convert_time", source_timezone="UTC", time="12:30", target_timezone="Asia/Tokyo")
    )
    assert told["target"]["datetime"].endswith("T21:30:00+09:00")
    assert "is a required property" in agent.fails("time_get_current_time")
    assert agent.fails("time_get_current_time", timezone="Nowhere/At_All").startswith("time_get_current_time failed:")


def test_the_git_server(mount: Mount, tmp_path: Path) -> None:
    """Tools that say of themselves what they only read."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("new\n")
    agent = mount(
        "x",
        command=[sys.executable, "-m", "mcp_server_git", "--repository", str(tmp_path)],
        prefix="",
        tools=["git_status", "git_add", "git_diff_staged"],
        trust_hints=True,
    )

    assert set(agent.names) == {"git_status", "git_add", "git_diff_staged"}
    status = agent.rendered.tool("git_status")
    add = agent.rendered.tool("git_add")
    assert status is not None
    assert add is not None
    assert (status.effects, add.effects) == ("read", "external")
    assert "new.txt" in agent.says("git_status", repo_path=str(tmp_path))
    agent.says("git_add", repo_path=str(tmp_path), files=["new.txt"])
    assert "+new" in agent.says("git_diff_staged", repo_path=str(tmp_path))
