"""A real terminal agent from npm under `wink try`: a scripted model makes it edit, and people decide what is real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents import npm
from tests.agents.files import snapshot
from tests.agents.model_server import serving
from tests.agents.script import ScriptedModel, Turn


@pytest.mark.timeout(400)
def test_it_is_accepted_in_part_dropped_in_part_and_undone(repository: Path, home: Path) -> None:
    """None of what the agent did is real before somebody says so, and all of it can be taken back afterwards."""
    agent = npm.program("claude-code")
    before = snapshot(repository)
    greet = str(repository / "greet.py")
    model = ScriptedModel(
        [
            Turn("I look at it first.", [("Read", {"file_path": greet})]),
            Turn(
                "I change it, and add a test.",
                [
                    ("Edit", {"file_path": greet, "old_string": '"hello"', "new_string": '"good day"'}),
                    (
                        "Write",
                        {
                            "file_path": str(repository / "test_greet.py"),
                            "content": 'from greet import greet\n\nassert greet() == "good day"\n',
                        },
                    ),
                ],
            ),
            Turn(
                "I run it, and tidy up.",
                [
                    (
                        "Bash",
                        {
                            "command": "python3 test_greet.py && rm notes.txt && mkdir -p build && echo out > build/log",
                            "description": "Run the test",
                        },
                    )
                ],
            ),
            Turn("Done: it greets better now."),
        ]
    )
    with serving(model) as url:
        environment = {
            "PATH": npm.path(),
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }

        def wink(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, "-m", "wink", *arguments],
                cwd=repository,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )

        program = [str(agent), "-p", "Greet better", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"]
        seen = str(agent.parents[2])
        tried = wink("try", "--name", "agent", "--read", seen, "--", *program)
    assert tried.returncode == 0, tried.stderr
    assert "Done: it greets better now." in tried.stdout
    assert [result.failed for result in model.results()] == [False] * 4, model.results()
    assert snapshot(repository) == before
    assert {str(path.parent.relative_to(home)) for path in home.rglob("*") if path.is_file()} == {
        ".local/state/wink",  # wink's own key
        ".local/state/wink/known",
    }

    shown = wink("diff", "--try", "agent").stdout
    assert '+    return "good day"' in shown
    assert "-keep me" in shown

    assert wink("drop", "--name", "agent", "notes.txt", "build").returncode == 0
    accepted = wink("accept", "--name", "agent", "greet.py", "test_greet.py")
    assert accepted.returncode == 0, accepted.stderr
    after = snapshot(repository)
    assert after["greet.py"] == b'def greet():\n    return "good day"\n'
    assert after["notes.txt"] == b"keep me\n"
    assert "build/log" not in after
    assert set(after) - set(before) == {"test_greet.py"}

    assert wink("undo").returncode == 0
    assert snapshot(repository) == before
    assert [line.split()[2:4] for line in wink("log").stdout.splitlines()] == [["ok", "undo"], ["undone", "accept"]]
