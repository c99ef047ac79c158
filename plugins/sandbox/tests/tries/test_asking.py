"""`wink try` where a person is asked about hosts: told of in the program's terminal, answered in another one."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink
from plugins.sandbox.tests.tries.test_network import own

__all__ = ["own"]

Begin = Callable[..., "Terminal"]


class Terminal:
    """`wink try` with a terminal of its own, as a person's shell gives it one."""

    def __init__(self, words: list[str], place: Path, environment: dict[str, str]) -> None:
        self.shown = ""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(place)
                os.execve(sys.executable, [sys.executable, "-m", "wink", *words], environment)
            finally:
                os._exit(127)

    def until(self, pattern: str) -> re.Match[str]:
        """Read what is shown until there is such a thing."""
        while (found := re.search(pattern, self.shown)) is None:
            data = b""
            with suppress(OSError):
                data = os.read(self._fd, 4096)
            assert data, self.shown
            self.shown += data.decode()
        return found

    def end(self) -> str:
        """All that was shown."""
        with suppress(AssertionError):
            self.until(r"(?!)")
        os.close(self._fd)
        os.waitpid(self.pid, 0)
        return self.shown


@pytest.fixture
def begin(place: Path, environment: dict[str, str]) -> Begin:
    return lambda *words: Terminal(list(words), place, environment)


def requests(wink: Wink) -> list[dict[str, object]]:
    return [json.loads(line) for line in wink("approvals", "--json").stdout.splitlines()]


def test_a_host_is_approved_in_another_terminal(wink: Wink, begin: Begin, port: int, own: Path) -> None:
    """With the settings as well as with the option; the answer adds nothing to any file."""
    own.write_text('network_default = "ask"\n')
    shown = begin("try", "--", "curl", "-sS", "--noproxy", "", f"http://localhost:{port}/")
    assert "network asked about, host by host" in shown.until("wink: workspace .*\n")[0]

    line = shown.until(r"wink: a1: (.*)\r\n")[1]
    assert line.startswith(
        f"curl in wink try wants to connect to localhost:{port}, which is not listed, and not on the public internet; "
    )
    (asked,) = requests(wink)
    assert (asked["tool"], asked["arguments"]) == (
        "network access",
        {"host": "localhost", "lasts": "run", "port": port},
    )
    approved = wink("approve", "a1", "lasts=always")

    assert approved.stdout.splitlines() == [
        "approved a1: network access",
        "  the program that asked is told, if it still runs",
        f'  for good: add "localhost:{port}" to `network` in your own settings',
    ]
    assert f"wink: network: localhost:{port} allowed, as a1 was approved, " in shown.end()
    assert "served\r\n" in shown.shown
    assert own.read_text() == 'network_default = "ask"\n'
    assert requests(wink) == []


def test_a_denied_host_is_refused_with_what_the_person_says(wink: Wink, begin: Begin) -> None:
    script = "echo two > a.txt; curl -sS http://elsewhere.test/"
    shown = begin("try", "--ask-network", "--network=a.org", "--profile", "build", "--", "sh", "-c", script)
    assert "network to a.org, asked about others" in shown.until("wink: workspace .*\n")[0]
    shown.until("a1: ")

    assert wink("deny", "a1", "--note", "use the mirror").returncode == 0

    said = "elsewhere.test:80 refused: a person denied it: use the mirror"
    assert f"wink: {said}\r\n" in shown.end()
    assert f"wink: network: {said}" in shown.shown
    (run,) = json.loads(wink("tries", "--json").stdout)["runs"]
    (contact,) = run["network"]["contacts"]
    assert (contact["host"], contact["outcome"], contact["asked"]) == (
        "elsewhere.test",
        "refused: a person denied it: use the mirror",
        "a1",
    )


def test_an_answer_after_the_program_has_ended_is_refused(wink: Wink, begin: Begin) -> None:
    script = "curl -sS -m 1 http://elsewhere.test/ || true"
    shown = begin("try", "--ask-network", "--profile", "build", "--", "sh", "-c", script)
    shown.end()

    late = wink("approve", "a1")

    assert late.returncode == 2
    assert "a1 does not stand any more" in late.stderr


def test_ended_by_a_signal_it_withdraws_what_it_asked(wink: Wink, begin: Begin) -> None:
    """And nobody is left with a request that nobody waits for."""
    shown = begin("try", "--ask-network", "--profile", "build", "--", "curl", "-sS", "http://elsewhere.test/")
    shown.until("a1: ")
    assert len(requests(wink)) == 1

    os.kill(shown.pid, signal.SIGTERM)
    shown.end()

    assert requests(wink) == []
    assert "a1 does not stand any more" in wink("approve", "a1").stderr


def test_without_a_terminal_nobody_is_asked(place: Path, environment: dict[str, str], wink: Wink) -> None:
    """In CI and under cron nothing waits for anybody."""
    words = [sys.executable, "-m", "wink", "try", "--ask-network", "curl", "-sS", "http://elsewhere.test/"]
    done = subprocess.run(
        words,
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )

    assert done.stdout == (
        "wink: elsewhere.test:80 refused: not listed, and nobody can be asked: there is no terminal; "
        "give --network elsewhere.test:80\n"
    )
    assert requests(wink) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--ask-network", "--no-network"], "--ask-network asks about hosts that are not listed"),
        (["--ask-network", "--network"], "--ask-network asks about hosts that are not listed"),
        (["--ask-network", "--unconfined"], "--unconfined confines nothing"),
    ],
)
def test_what_contradicts_itself_is_refused(wink: Wink, options: list[str], says: str) -> None:
    done = wink("try", *options, "--", "true")

    assert (done.returncode, done.stderr.startswith(f"wink: {says}")) == (2, True), done.stderr


def test_settings_say_whether_a_person_is_asked(wink: Wink, own: Path, place: Path) -> None:
    """A workspace's own file may keep a person from being asked, and cannot have them asked."""
    theirs = place / "wink.toml"

    def told() -> str:
        return wink("try", "--", "true").stderr

    own.write_text('network = ["a.org"]\nnetwork_default = "ask"')
    assert "network to a.org, asked about others" in told()
    assert "network on" in wink("try", "--network", "--", "true").stderr
    assert "network off" in wink("try", "--no-network", "--", "true").stderr
    assert "network off" in wink("try", "--profile", "build", "--", "true").stderr
    theirs.write_text('network_default = "deny"')
    assert "network to a.org alone" in told()
    theirs.write_text("network = false")
    assert "network off" in told()
    own.write_text('network = ["a.org"]')
    theirs.write_text('network_default = "ask"')
    assert "network to a.org alone" in told()
    assert "network_default is not heeded in a file of the workspace; say it in your own settings" in told()
    theirs.unlink()
    own.write_text('network_default = "allow"')
    assert 'wink.toml: $.network_default: must be "ask" or "deny"' in told()
