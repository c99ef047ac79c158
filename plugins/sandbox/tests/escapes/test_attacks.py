"""Attacks from inside the sandbox: nothing outside is changed, read or left behind, whoever runs the program."""

from __future__ import annotations

import sys

import pytest
from plugins.sandbox.tests.escapes.conftest import NOBODY, RUNNERS, World, owned_by

EVERYWHERE = ("sockets", "outside", "system", "processes", "kernel", "state", "survive")
CONFINED = ("network", "private")
"""What the `agent` profile allows: it is for agents that need the network, their keys and their settings."""


@pytest.mark.parametrize("attacks", [*EVERYWHERE, *CONFINED])
@pytest.mark.parametrize("runner", RUNNERS)
def test_attack_gets_nothing(world: World, runner: str, attacks: str) -> None:
    """Each attack of the class was tried and held, nothing around the workspace changed, and no process stayed."""
    if "nobody" in runner:
        owned_by(world, NOBODY)
    if "agent" in runner and attacks in CONFINED:
        attacks = "sockets"
    before, workspace = world.snapshot(), world.workspace()
    python = sys.executable if "nobody" not in runner else "/usr/bin/python3"

    ended = RUNNERS[runner](world, f"{python} attacks.py {attacks}")

    assert "ESCAPED" not in ended.text, ended.text
    assert "FAILED" not in ended.text, ended.text
    assert "held" in ended.text, ended.text
    assert ended.status == 0, ended.text
    assert world.snapshot() == before
    assert world.leftovers() == []
    mine = {path: looks for path, looks in world.workspace().items() if path != "marked"}
    assert mine == dict(workspace)
