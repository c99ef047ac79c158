"""Containers have no network, or all of it where the user says so; a list of hosts is refused before anything runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.podman.tests.conftest import Agent
from plugins.sandbox.tests.network.attacker import ATTACKS
from plugins.sandbox.tests.network.conftest import Trap, outward, trap
from plugins.sandbox.tests.network.test_attacks import ATTACKER

from wink.errors import PromptValidationError
from wink_podman import PodmanConfig

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


def test_a_list_of_hosts_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """A command would get more than the list says, or less."""
    with pytest.raises(PromptValidationError, match="network is all or nothing in a container, true or false"):
        PodmanConfig(image="any", network=("example.org",))  # type: ignore[arg-type]
    home = tmp_path / "home/.config/wink"
    home.mkdir(parents=True)
    (home / "wink.toml").write_text('[tool.wink.plugins.podman]\nimage = "any"\nnetwork = ["example.org"]\n')
    done = subprocess.run(
        [sys.executable, "-m", "wink", "call", "shell_execute", "--section", "podman.sandbox", "command=true"],
        cwd=tmp_path, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert "~/.config/wink/wink.toml:1: $.network: must be true or false, not an array" in done.stderr
