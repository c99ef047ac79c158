"""`wink serve --print-config`: what is printed starts the server that was described, from anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from wink.cli import run
from wink_http import kept_token
from wink_mcp.clients import CLIENTS

WINK = os.path.join(os.path.dirname(sys.executable), "wink")


@dataclass(frozen=True, slots=True)
class Done:
    """How the command ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def wink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command, in a new directory."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> Done:
        status = run(arguments)
        return Done(status, *capsys.readouterr())

    return command


def arguments(text: str) -> list[str]:
    """The command line in a snippet for Cursor."""
    entry = json.loads(text)["mcpServers"]["wink"]
    return [entry["command"], *entry["args"]]


def test_the_options_that_were_given_are_carried_over_and_no_others(wink: Callable[..., Done], tmp_path: Path) -> None:
    """A default may change with the version; what somebody asked for may not."""
    (tmp_path / "it").mkdir()
    given = ["--session", "mine", "--section", "demo.refactor", "--section", "planning.plan"]
    done = wink("serve", "--workspace", "it", *given, "--print-config", "cursor")
    assert done.returncode == 0, done.stderr
    assert arguments(done.stdout) == [WINK, "serve", "--workspace", str(tmp_path / "it"), *given]


def test_a_server_finds_the_same_settings_and_key_as_the_shell(
    wink: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codex and the SDKs pass on HOME and little else: what lies elsewhere has to stand in the snippet, and only that."""
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative/and/ignored")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states of mine"))
    printed = json.loads(wink("serve", "--print-config", "cursor").stdout)["mcpServers"]["wink"]
    assert printed["env"] == {"XDG_STATE_HOME": str(tmp_path / "states of mine")}
    monkeypatch.delenv("XDG_STATE_HOME")
    assert "env" not in json.loads(wink("serve", "--print-config", "cursor").stdout)["mcpServers"]["wink"]


@pytest.mark.parametrize("client", CLIENTS)
def test_only_the_snippet_goes_to_standard_output(client: str, wink: Callable[..., Done], tmp_path: Path) -> None:
    """So `wink serve --print-config codex >> ~/.codex/config.toml` does what it looks like; nothing is made in the workspace."""
    done = wink("serve", "--print-config", client)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) in done.stdout
    assert done.stderr.startswith("wink: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_started_as_a_module_it_names_the_script(tmp_path: Path) -> None:
    """`python -m wink` in a workspace would import what an agent has written there."""
    run = [sys.executable, "-m", "wink", "serve", "--print-config", "cursor"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=100)
    assert arguments(done.stdout)[0] == WINK


def test_a_server_at_an_address_is_told_of_by_its_url(wink: Callable[..., Done], tmp_path: Path) -> None:
    """No client starts it then, so it is said how to."""
    done = wink("serve", "--http", "[::1]:8765", "--session", "mine", "--print-config", "cursor")
    entry = json.loads(done.stdout)["mcpServers"]["wink"]
    headers = {"Authorization": f"Bearer {kept_token(str(tmp_path))[0]}"}
    assert entry == {"type": "http", "url": "http://[::1]:8765/mcp", "headers": headers}
    command = f"{WINK} serve --workspace {tmp_path} --session mine --http '[::1]:8765'"
    assert "keep it out of what others see" in done.stderr.splitlines()[1]
    assert done.stderr.splitlines()[2] == f"wink: and start the server, before the client: {command}"


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_takes_the_token_as_it_stands(client: str, wink: Callable[..., Done], tmp_path: Path) -> None:
    """Some replace variables in what they read; a token holds nothing that could be one."""
    done = wink("serve", "--port", "8765", "--print-config", client)
    assert done.returncode == 0, done.stderr
    assert f"Bearer {kept_token(str(tmp_path))[0]}" in done.stdout
    assert kept_token(str(tmp_path))[0] not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--workspace", "nowhere"], "there is no directory"),
        (["--section", "demo.nope"], "no plugin offers a section 'demo.nope'"),
        (["--policy", "nope.nope"], "no plugin offers a policy 'nope.nope'"),
        (["--port", "0"], "has to be told the port"),
        (["--http", "0.0.0.0:80"], "cannot serve at"),
    ],
)
def test_what_could_not_be_served_is_told_before_a_client_hides_it(
    wrong: list[str], told: str, wink: Callable[..., Done]
) -> None:
    """Most clients only say that a server did not start."""
    done = wink("serve", *wrong, "--print-config", "codex")
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_an_unknown_client_is_answered_with_those_there_are(wink: Callable[..., Done]) -> None:
    """The list is in the message, and not in a manual."""
    done = wink("serve", "--print-config", "emacs")
    assert done.returncode == 2
    assert all(client in done.stderr for client in CLIENTS)
