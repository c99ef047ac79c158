"""Agents without a terminal, and calls that a rule leaves to a person: some of them say that they can ask, and cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents.clients import CLIENTS, Place
from tests.agents.model_server import serving
from tests.agents.script import ScriptedModel, Turn

RULE = '[[rules]]\naction = "ask"\ntools = "edit_file"\nreason = "somebody has to look"\n'
READ = Turn("I look at it.", [("read_file", {"file_path": "greet.py"})])
EDIT = Turn("I change it.", [("edit_file", {"file_path": "greet.py", "old_string": "hello", "new_string": "good day"})])


def wink(*arguments: str, at: Path) -> str:
    """What a command of wink prints."""
    command = [sys.executable, "-m", "wink", *arguments]
    return subprocess.run(command, cwd=at, capture_output=True, text=True, check=True, timeout=100).stdout


def told(name: str, turns: list[Turn], repository: Path, home: Path) -> str:
    """What the model is told of its last call."""
    client = CLIENTS[name]
    model = ScriptedModel([*turns])
    with serving(model) as url:
        snippet = wink("serve", "--print-config", name, at=repository)
        done = client.run(Place(home, repository, url), snippet, "Greet better")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return model.results()[-1].text


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ["claude-code", "gemini"])
def test_a_call_that_nobody_can_be_asked_about_waits_for_the_shell(name: str, repository: Path, home: Path) -> None:
    """Claude Code dismisses the question, Gemini CLI cannot be asked; the next run may do what was approved meanwhile."""
    (repository / "wink.toml").write_text(RULE)
    first = told(name, [READ, EDIT], repository, home)
    assert (
        "Error: edit_file needs approval (a1): edit_file: somebody has to look; approve it with `wink approve a1`"
        in first
    )
    assert "hello" in (repository / "greet.py").read_text()
    wink("approve", "a1", at=repository)
    assert "Edited greet.py" in told(name, [EDIT], repository, home)
    assert "good day" in (repository / "greet.py").read_text()


@pytest.mark.timeout(400)
def test_codex_says_no_to_every_question_where_nobody_can_be_asked(repository: Path, home: Path) -> None:
    """That is a person's no for all that the server can know; the page for Codex says so."""
    (repository / "wink.toml").write_text(RULE)
    assert "Error: edit_file was denied by a person" in told("codex", [READ, EDIT], repository, home)
    assert "hello" in (repository / "greet.py").read_text()
