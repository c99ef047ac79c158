"""Mount a server for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from plugins.mcp.tests.mount.helpers import NOTES, ODD, Agent

from wink_mcp import McpSection


@pytest.fixture
def mount() -> Iterator[Callable[..., Agent]]:
    """Mount a server: `mount("hang", timeout=0.2)` one of the odd ones, `mount()` the usual one."""
    agents: list[Agent] = []

    def mounted(*kind: str, policies: Any = (), **options: Any) -> Agent:
        command = [*ODD, *kind] if kind else NOTES
        section = McpSection("odd" if kind else "notes", **{"command": command, **options})
        agents.append(Agent(section, policies=policies))
        return agents[-1]

    yield mounted
    for agent in agents:
        agent.prompt.cleanup()
