"""The official inspector's command line in front of `wink serve`: what a person sees who looks at the server with it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from plugins.mcp.tests.serving import WINK, served
from tests.agents import npm

TOOL_FAILED = 5
"""The inspector's exit status when a tool says that it failed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the inspector printed, and its exit status."""

    status: int
    result: dict[str, Any]
    errors: str


Inspect = Callable[..., Seen]


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    """Both eras of the protocol: with a handshake, and without any state."""
    return request.param


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A directory with one file."""
    made = tmp_path / "workspace"
    made.mkdir()
    (made / "greet.py").write_text('def greet():\n    return "hello"\n')
    return made


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, workspace: Path, environment: dict[str, str]) -> Iterator[list[str]]:
    """What the inspector is pointed at: a server that it starts itself, or one that runs already."""
    if request.param == "stdio":
        yield [WINK, "serve", "--workspace", str(workspace)]
        return
    with served(workspace, "--no-token", environment=environment) as url:
        yield [url]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A person's: the inspector passes little more of it on to a server that it starts."""
    return {"PATH": npm.path(), "HOME": str(tmp_path), "XDG_STATE_HOME": ""}


@pytest.fixture
def inspect(era: str, target: list[str], environment: dict[str, str], tmp_path: Path) -> Inspect:
    """Run the inspector once."""

    def run(method: str, *options: str) -> Seen:
        command = [str(npm.program("inspector")), "--cli", "--format", "json", "--protocol-era", era]
        command += ["--method", method, *options, "--", *target]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=100
        )
        printed = json.loads(done.stdout) if done.stdout else {}
        return Seen(done.returncode, printed.get("result", {}), done.stderr)

    return run


def test_it_lists_the_tools_and_finds_nothing_wrong_with_them(inspect: Inspect) -> None:
    """`--strict` ends with status 6 for a schema that some client or model provider would not take."""
    seen = inspect("tools/list", "--strict")
    assert seen.status == 0, seen.errors
    tools = {tool["name"]: tool for tool in seen.result["tools"]}
    assert {"read_file", "edit_file", "planning_setup_plan"} <= set(tools)
    assert tools["read_file"]["annotations"]["readOnlyHint"] is True
    assert tools["edit_file"]["annotations"]["readOnlyHint"] is False
    assert tools["edit_file"]["inputSchema"]["additionalProperties"] is False


def test_a_file_is_read_and_edited_by_two_inspectors(
    inspect: Inspect, workspace: Path, environment: dict[str, str]
) -> None:
    """Over standard input, each starts a server of its own, and the second knows what the first has read."""
    read = inspect("tools/call", "--tool-name", "read_file", "--tool-arg", "file_path=greet.py")
    assert read.status == 0, read.errors
    assert 'return "hello"' in read.result["content"][0]["text"]
    arguments = json.dumps({"file_path": "greet.py", "old_string": "hello", "new_string": "good day"})
    edited = inspect("tools/call", "--tool-name", "edit_file", "--tool-args-json", arguments)
    assert edited.status == 0, edited.errors
    assert (workspace / "greet.py").read_text() == 'def greet():\n    return "good day"\n'
    subprocess.run([WINK, "undo"], cwd=workspace, env=environment, check=True, timeout=100, capture_output=True)
    assert (workspace / "greet.py").read_text() == 'def greet():\n    return "hello"\n'


def test_a_failure_is_told_as_a_tools_and_not_as_the_protocols(inspect: Inspect) -> None:
    """A model is shown the text of the one, and mostly not that of the other."""
    seen = inspect("tools/call", "--tool-name", "read_file", "--tool-arg", "file_path=nowhere.py")
    assert seen.status == TOOL_FAILED
    assert seen.result["isError"] is True
    assert seen.result["content"][0]["text"].startswith("Error: 'nowhere.py' does not exist")


def test_the_prompt_is_the_text_of_the_sections(inspect: Inspect) -> None:
    """For clients that show nobody the server's instructions."""
    listed = inspect("prompts/list")
    assert listed.result["prompts"][0]["name"] == "instructions"
    seen = inspect("prompts/get", "--prompt-name", "instructions")
    assert "Planning" in seen.result["messages"][0]["content"]["text"]


def test_a_hundred_calls_eight_at_a_time_all_succeed(inspect: Inspect) -> None:
    """The inspector's own load test, with a tool that changes the session's state."""
    options = ["--load", "--load-concurrency", "8", "--load-requests", "100"]
    arguments = ["--tool-name", "planning_setup_plan", "--tool-arg", "objective=be fast"]
    seen = inspect("tools/call", *arguments, *options)
    assert seen.status == 0, seen.errors
    assert (seen.result["ok"], seen.result["toolErrors"], seen.result["errors"]) == (100, 0, 0)
