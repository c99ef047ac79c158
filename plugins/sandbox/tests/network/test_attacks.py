"""No way leads to a host that is not listed: a program tries all that is known, and a trap listens for what comes."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.conftest import Place
from plugins.sandbox.tests.guards import GUARDS, Project, directory, python_of
from plugins.sandbox.tests.network.attacker import ATTACKS
from plugins.sandbox.tests.network.conftest import Names, Trap, outward

from wink.cli import run

ATTACKER = Path(__file__).with_name("attacker.py")


@pytest.fixture
def facts(names: Names, trap: Trap, serve: Callable[..., int], tls: ssl.SSLContext) -> dict[str, Any]:
    """What the attacker is told: where servers listen that are listed, and where the trap does."""
    names.known |= {
        "good.test": ["127.0.0.1"],
        "localhost": ["127.0.0.1"],
        "evil.test": ["127.0.0.1"],
        "good.test.evil.test": ["127.0.0.1"],
        "notgood.test": ["127.0.0.1"],
        "c2VjcmV0.evil.test": ["127.0.0.1"],
        "rebind.test": ["127.0.0.1"],
        "mixed.test": ["10.1.2.3", "169.254.169.254", "127.0.0.1"],
        "mapped.test": ["::ffff:127.0.0.1", "64:ff9b::7f00:1", "::1"],
    }
    found = {"good": serve(), "tls": serve(tls=tls), "trap": trap.port, "trap6": trap.port6, "outside": outward()}
    return {**found, "abstract": trap.abstract, "path": trap.path}


def placed(root: Path, facts: dict[str, Any], network: Sequence[str]) -> tuple[str, ...]:
    """Put the attacker and what it is told into a workspace; gives the hosts that are listed."""
    listed = tuple(one.format(**facts) for one in network)
    shutil.copy(ATTACKER, root / "attacker.py")
    (root / "facts.json").write_text(json.dumps({**facts, "listed": listed}))
    return listed


@pytest.fixture
def attacked(place: Place, facts: dict[str, Any]) -> Callable[..., list[str]]:
    """Run the attacker with some hosts listed; gives the lines that it prints."""

    def run(*network: str, attacks: tuple[str, ...] = ()) -> list[str]:
        listed = placed(place.root, facts, network)
        profile = replace(place.sandbox.profile, network=listed, readable=(str(Path(facts["path"]).parent),))
        ran = place.run([sys.executable, "attacker.py", *attacks], sandbox=replace(place.sandbox, profile=profile))
        assert ran.ended.status == 0, ran.ended.stderr.text()
        return ran.stdout.splitlines()

    return run


GOOD = ("good.test:{good}", "good.test:{tls}", "127.0.0.1:{good}", "127.0.0.1:{tls}")
WITHOUT = ("accept --check",)
"""Guards in which there is no network, whatever is asked for."""
# Listed, and yet not reached: where they lead to is neither public nor listed.
MISLED = ("rebind.test:*", "mixed.test:*", "mapped.test:*")


def test_no_way_leads_to_what_is_not_listed(attacked: Callable[..., list[str]], trap: Trap, names: Names) -> None:
    lines = attacked(*GOOD, *MISLED)

    assert [line for line in lines if not line.startswith("held ")] == ["GOOD", "TLS"]
    assert len(lines) > 80
    assert trap.seen == []
    assert set(names.asked) <= {"good.test", "rebind.test", "mixed.test", "mapped.test"}, "a question is a way out too"


class Here(Project):
    """A workspace in which wink runs in this process, where names lead to where the test wants them to."""

    def __init__(self, base: Path, capfd: pytest.CaptureFixture[str]) -> None:
        super().__init__(base)
        self._capfd = capfd

    def wink(self, *words: str) -> str:
        """A command, and all that it said."""
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(self.root)
            patched.setenv("HOME", str(self.home))
            run(words)
        return "".join(self._capfd.readouterr())


@pytest.mark.parametrize("guard", [one for one in GUARDS if one not in WITHOUT])
def test_no_guard_lets_a_program_reach_what_is_not_listed(
    guard: str, facts: dict[str, Any], trap: Trap, names: Names, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same table in each of them, beside the same hosts that are reached."""
    with directory() as base:
        project = Here(base, capfd)
        listed = placed(project.root, facts, (*GOOD, *MISLED))
        text = GUARDS[guard](project, f"{python_of(guard)} attacker.py", network=listed)

    assert "ESCAPED" not in text, text
    assert text.count("held ") == len(ATTACKS), text
    assert "GOOD" in text, text
    assert "TLS\n" in text, text
    assert re.search(r"network:\s.*refused: not listed", text), "it is told what was asked for"
    assert trap.seen == []
    assert set(names.asked) <= {"good.test", "rebind.test", "mixed.test", "mapped.test"}


@pytest.mark.parametrize("guard", GUARDS)
def test_no_guard_lets_a_program_out_where_nothing_is_listed(
    guard: str, facts: dict[str, Any], trap: Trap, names: Names, capfd: pytest.CaptureFixture[str]
) -> None:
    """There is no proxy either; the ways past it are those that count."""
    with directory() as base:
        project = Here(base, capfd)
        placed(project.root, facts, ())
        text = GUARDS[guard](project, f"{python_of(guard)} attacker.py", network=False)

    assert "ESCAPED" not in text, text
    assert text.count("held ") == len(ATTACKS), text
    assert (trap.seen, names.asked) == ([], [])


def test_these_ways_lead_there_where_all_is_listed(attacked: Callable[..., list[str]], trap: Trap) -> None:
    """Otherwise the test above would say nothing."""
    able = {
        *(f"connect_to_{name}" for name in ("an_address", "an_address_6", "a_mapped_address", "the_local_host")),
        *(f"connect_to_{name}" for name in ("a_name_that_is_not_listed", "what_a_name_leads_to", "any_address")),
        *("socks_to_an_address", "socks_to_a_name", "get_an_address", "a_second_request", "a_redirect", "a_websocket"),
    }
    lines = attacked("0.0.0.0/0:*", "[::/0]:*", "*:*", attacks=tuple(sorted(able)))

    assert {line.removeprefix("ESCAPED ") for line in lines if line.startswith("ESCAPED ")} == able
    assert len(trap.seen) >= len(able)
