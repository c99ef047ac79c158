"""The examples, run against a scripted model, and as programs against a provider on loopback."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plugins.models.tests.server import serving
from plugins.models.tests.speaking import Say

from wink.adapters import Conversation, ModelTurn, PromptEvaluationError, ScriptedAdapter
from wink.runtime import ToolCall
from wink.workspace import Workspace

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    (place / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    (place / "test_sums.py").write_text("from sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n")
    return place


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")))
def test_an_example_is_short(path: Path) -> None:
    """Nobody reads a long one."""
    assert len(path.read_text().splitlines()) < 80


FINDING = '[{"path": "sums.py", "line": 2, "severity": "high", "problem": "it subtracts", "remedy": "add"}]'


def test_a_review_finds_and_changes_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would write is denied by a rule; the findings are objects."""
    review = load("review", monkeypatch)
    read = ToolCall("read_file", {"file_path": "sums.py"})
    write = ToolCall("write_file", {"file_path": "new.py", "content": "x"})
    denied: list[str] = []

    def look(conversation: Conversation) -> ModelTurn:
        denied.append(conversation.exchanges[-1].replies[0].text)
        return ModelTurn(FINDING)

    found = review.review(ScriptedAdapter([read, write, look]), str(project), "sums.py")
    assert found == [review.Finding("sums.py", 2, "high", "it subtracts", "add")]
    assert "write_file is denied: no rule allows it" in denied[0]
    assert not (project / "new.py").exists()


def test_a_review_is_a_program(project: Path) -> None:
    """With a provider's SDK, on loopback."""
    answers = [Say(calls=(("read_file", '{"file_path": "sums.py"}', "1"),)), Say(FINDING)]
    with serving(answers) as server:
        ran = subprocess.run(
            [sys.executable, str(EXAMPLES / "review.py"), "openai.responses:m", str(project)],
            env={**os.environ, "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server.url}/v1"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout == FINDING[1:-1].replace(", ", ",").replace(": ", ":") + "\n"
    assert server.problems == []


RUN = ToolCall("run_command", {"command": f"{sys.executable} -m pytest -q -p no:cacheprovider"})
EDIT = ToolCall("edit_file", {"file_path": "sums.py", "old_string": "a - b", "new_string": "a + b"})


def test_a_repository_is_mended_until_its_tests_pass(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that stops too early is told to run them; all of it can be taken back."""
    fix = load("fix", monkeypatch)
    seen: list[str] = []

    def look(conversation: Conversation) -> ModelTurn:
        seen.append(conversation.exchanges[-1].note)
        return ModelTurn(calls=(RUN,))

    read = ToolCall("read_file", {"file_path": "sums.py"})
    adapter = ScriptedAdapter([RUN, read, EDIT, "It is fixed.", look, "Now it is."])
    assert fix.fix(adapter, str(project), "add() is wrong") == "Now it is."
    assert "see it pass before you stop" in seen[0]
    assert "a + b" in (project / "sums.py").read_text()
    with Workspace.open(project) as workspace:
        assert [call.outcome for call in workspace.calls()] == [
            "committed",
            "committed",
            "committed",
            "rolled back",
        ]  # newest first
        edit = next(call for call in workspace.calls() if call.tool == "edit_file")
        workspace.undo(edit.position)
    assert "a - b" in (project / "sums.py").read_text()


def test_a_model_that_never_runs_them_has_not_mended_anything(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saying so is not enough."""
    fix = load("fix", monkeypatch)
    with pytest.raises(PromptEvaluationError, match="see it pass"):
        fix.fix(ScriptedAdapter(["Done."] * 9), str(project), "add() is wrong")
