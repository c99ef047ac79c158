"""No way leads to a host that is not listed: a program tries all that is known, and a trap listens for what comes."""

from __future__ import annotations

import json
import shutil
import ssl
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from plugins.sandbox.tests.conftest import Place
from plugins.sandbox.tests.network.conftest import Names, Trap, outward

ATTACKER = Path(__file__).with_name("attacker.py")


@pytest.fixture
def attacked(
    place: Place, names: Names, trap: Trap, serve: Callable[..., int], tls: ssl.SSLContext
) -> Callable[..., list[str]]:
    """Run the attacker with some hosts listed; gives the lines that it prints."""
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
    good, secure = serve(), serve(tls=tls)
    shutil.copy(ATTACKER, place.root / "attacker.py")
    facts = {"good": good, "tls": secure, "trap": trap.port, "trap6": trap.port6, "outside": outward()}
    facts |= {"abstract": trap.abstract, "path": trap.path}

    def run(*network: str, attacks: tuple[str, ...] = ()) -> list[str]:
        listed = tuple(one.format(**facts) for one in network)
        (place.root / "facts.json").write_text(json.dumps({**facts, "listed": listed}))
        profile = replace(place.sandbox.profile, network=listed, readable=(str(Path(trap.path).parent),))
        ran = place.run([sys.executable, "attacker.py", *attacks], sandbox=replace(place.sandbox, profile=profile))
        assert ran.ended.status == 0, ran.ended.stderr.text()
        return ran.stdout.splitlines()

    return run


GOOD = ("good.test:{good}", "good.test:{tls}", "127.0.0.1:{good}", "127.0.0.1:{tls}")
# Listed, and yet not reached: where they lead to is neither public nor listed.
MISLED = ("rebind.test:*", "mixed.test:*", "mapped.test:*")


def test_no_way_leads_to_what_is_not_listed(attacked: Callable[..., list[str]], trap: Trap, names: Names) -> None:
    lines = attacked(*GOOD, *MISLED)

    assert [line for line in lines if not line.startswith("held ")] == ["GOOD", "TLS"]
    assert len(lines) > 80
    assert trap.seen == []
    assert set(names.asked) <= {"good.test", "rebind.test", "mixed.test", "mapped.test"}, "a question is a way out too"


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


def test_without_a_listed_host_there_is_no_proxy_either(attacked: Callable[..., list[str]], trap: Trap) -> None:
    lines = attacked(attacks=("connect_to_an_address", "socks_to_an_address", "tcp_to_the_hosts_own_address"))

    assert len(lines) == 3
    assert all("refused" in line or "unreachable" in line for line in lines), lines
    assert trap.seen == []
