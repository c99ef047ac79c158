"""Containers have no network, or all of it where the user says so; a list of hosts is refused before anything runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from plugins.podman.tests.conftest import Agent
from plugins.sandbox.tests.network.attacker import ATTACKS
from plugins.sandbox.tests.network.conftest import Trap, outward, trap
from plugins.sandbox.tests.network.test_attacks import ATTACKER

__all__ = ["trap"]

EMPTY = {"another_network_namespace", "the_namespace_of_another_process"}
"""What Podman lets a container do: a namespace that it makes has nothing in it, and those of its processes are its own."""


def test_no_way_leads_out_of_a_container(agent: Agent, root: Path, trap: Trap) -> None:
    """The table of attacks that the other guards hold; here there is no proxy to ask either."""
    shutil.copy(ATTACKER, root / "attacker.py")
    facts = {"good": 1, "tls": 1, "trap": trap.port, "trap6": trap.port6, "outside": outward()}
    facts |= {"abstract": trap.abstract, "path": trap.path, "listed": []}
    (root / "facts.json").write_text(json.dumps(facts))

    said = agent.run("python3 attacker.py")

    lines = said.stdout.splitlines()
    assert len(lines) == len(ATTACKS), said.stdout
    assert {line.removeprefix("ESCAPED ") for line in lines if line.startswith("ESCAPED ")} <= EMPTY, said.stdout
    assert trap.seen == []
