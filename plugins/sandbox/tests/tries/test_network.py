"""`wink try` with hosts that the program may reach: how they are named, what settings leave of them, and what is told."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

from wink_sandbox.commands._network import ANY, spelled


@pytest.fixture
def own(place: Path) -> Path:
    """The user's own settings."""
    made = place.parent / "home/.config/wink/wink.toml"
    made.parent.mkdir(parents=True)
    return made


def test_a_program_reaches_the_hosts_that_are_named_and_it_is_told(wink: Wink, port: int) -> None:
    script = f"echo x > new.txt; curl -sS http://localhost:{port}/ http://elsewhere.test/; curl -sS --noproxy '*' http://1.1.1.1/"
    done = wink("try", "--network", "example.org", "--network", f"localhost:{port}", "--", "sh", "-c", script)

    assert done.stdout == "served\nwink: elsewhere.test:80 refused: not listed\n"
    lines = done.stderr.splitlines()
    assert f"network to example.org, localhost:{port} alone, home" in lines[0]
    told = [line.removeprefix("wink: network: ") for line in lines if line.startswith("wink: network: ")]
    assert told[0] == "elsewhere.test:80 refused: not listed"
    assert told[1].startswith(f"localhost:{port} allowed, ")
    assert told[2].endswith("to go past the proxy found no route; programs have to heed HTTP_PROXY and HTTPS_PROXY")

    assert "    elsewhere.test:80 refused: not listed" in wink("tries").stdout.splitlines()
    (run,) = json.loads(wink("tries", "--json").stdout)["runs"]
    assert [(one["host"], one["port"], one["outcome"], one["times"]) for one in run["network"]["contacts"]] == [
        ("localhost", port, "allowed", 1),
        ("elsewhere.test", 80, "refused: not listed", 1),
    ]


def test_quiet_says_what_it_did_not_get(wink: Wink, port: int) -> None:
    script = f"curl -sS http://localhost:{port}/ http://elsewhere.test/"
    done = wink("try", "-q", f"--network=localhost:{port}", "sh", "-c", script)

    assert done.stderr.splitlines() == ["wink: network: elsewhere.test:80 refused: not listed"]


def test_hosts_open_a_profile_without_network(wink: Wink, port: int) -> None:
    done = wink("try", "--profile", "closed", f"--network=localhost:{port}", "curl", "-sS", f"http://localhost:{port}/")

    assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr


def test_a_terminal_is_passed_on_as_ever(wink: Wink, place: Path, port: int, environment: dict[str, str]) -> None:
    """A program that has one is started by another way."""
    ours, theirs = pty.openpty()
    words = [
        sys.executable,
        "-m",
        "wink",
        "try",
        "-q",
        f"--network=localhost:{port}",
        "curl",
        "-sS",
        f"http://localhost:{port}/",
    ]
    with subprocess.Popen(
        words, cwd=place, env=environment, stdin=theirs, stdout=subprocess.PIPE, text=True
    ) as process:
        out, _ = process.communicate(timeout=100)
    for fd in (ours, theirs):
        os.close(fd)
    assert out == "served\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--network", "true"], [f"--network={ANY}", "true"]),
        (["--network", "--", "true"], [f"--network={ANY}", "--", "true"]),
        (["--network", "a.org", "--", "true"], ["--network=a.org", "--", "true"]),
        (["--network", "a.org", "true"], ["--network=a.org", "true"]),
        (["--network", "intranet", "--", "true"], ["--network=intranet", "--", "true"]),
        (
            ["--network", "a.org", "--network", "b.org:22", "-q", "x"],
            ["--network=a.org", "--network=b.org:22", "-q", "x"],
        ),
        (["--network", "--profile", "build", "x"], [f"--network={ANY}", "--profile", "build", "x"]),
        (["--profile", "--network", "x"], ["--profile", "--network", "x"]),
        (["--network", "./run.sh"], [f"--network={ANY}", "./run.sh"]),
        (["x", "--network", "a.org", "--"], ["x", "--network", "a.org", "--"]),
        (["--", "x", "--network", "a.org"], ["--", "x", "--network", "a.org"]),
        (["--network"], [f"--network={ANY}"]),
    ],
)
def test_a_programs_name_is_not_taken_for_a_host(arguments: list[str], expected: list[str]) -> None:
    assert spelled(arguments, {"--profile", "--network"}, {"--profile", "--network"}) == expected


def test_a_program_with_a_dot_in_its_name_is_none_either(wink: Wink, place: Path, environment: dict[str, str]) -> None:
    """As `python3.11` is."""
    program = place / "bin/tool.sh"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$ALL_PROXY" ran\n')
    program.chmod(0o755)
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    environment["ALL_PROXY"] = ""

    assert wink("try", "--network", "tool.sh").stdout == " ran\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--network", "--no-network"], "--no-network and --network exclude each other"),
        (["--network=a.org", "--no-network"], "--no-network and --network exclude each other"),
        (["--network", "--network=a.org"], "--network alone opens all of the network"),
        (["--network=https://a.org/"], "--network 'https://a.org/' "),
        (["--network="], "--network '' is no host"),
        (["--unconfined", "--network=a.org"], "--unconfined confines nothing"),
    ],
)
def test_what_contradicts_itself_is_refused(wink: Wink, options: list[str], says: str) -> None:
    done = wink("try", *options, "--", "true")

    assert done.returncode == 2
    assert done.stderr.startswith(f"wink: {says}"), done.stderr


def test_settings_say_what_profiles_with_network_reach(wink: Wink, own: Path) -> None:
    own.write_text('network = ["example.org", "*.github.com:443", "a.org", "b.org"]')

    assert "network to example.org, *.github.com:443, a.org and 1 more alone" in wink("try", "--", "true").stderr
    assert "network off" in wink("try", "--profile", "build", "--", "true").stderr
    assert "network on" in wink("try", "--network", "--", "true").stderr
    assert "network to c.org alone" in wink("try", "--network=c.org", "--", "true").stderr
    own.write_text("network = []")
    assert "network off" in wink("try", "--", "true").stderr


def test_a_workspace_takes_hosts_away_and_adds_none(wink: Wink, own: Path, place: Path) -> None:
    own.write_text('network = ["a.org", "b.org"]')
    (place / "wink.toml").write_text('network = ["b.org"]')
    assert "network to b.org alone" in wink("try", "--", "true").stderr

    (place / "wink.toml").write_text('network = ["b.org", "evil.org"]')
    done = wink("try", "--", "true")
    assert "network to a.org, b.org alone" in done.stderr
    assert "wink: wink.toml:1: network is not heeded, a file of the workspace can only take hosts away" in done.stderr


def test_entries_that_are_wrong_are_named_with_their_place(wink: Wink, own: Path) -> None:
    own.write_text('network = ["a.org", "http://b.org", "c d"]')
    done = wink("try", "--", "true")

    assert done.returncode == 2
    assert "wink.toml: $.network[1]: 'http://b.org' " in done.stderr
    assert "$.network[2]: 'c d' is no host" in done.stderr
