"""Real terminal agents that edit a repository through `wink serve`, driven by a scripted model on loopback.

Each is set up with the snippet that `wink serve --print-config` prints for it, as its page in docs/guide/serve says.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.mcp.tests.serving import served
from tests.agents.clients import CLIENTS, Client, Place
from tests.agents.files import snapshot
from tests.agents.model_server import serving
from tests.agents.script import ScriptedModel, Turn

TASK = "Greet better"
SCRIPT = [
    Turn("I look at it first.", [("read_file", {"file_path": "greet.py"}), ("ls", {})]),
    Turn(
        "I change two places of one file at once, and add a test.",
        [
            ("edit_file", {"file_path": "greet.py", "old_string": "greet", "new_string": "salute"}),
            ("edit_file", {"file_path": "greet.py", "old_string": '"hello"', "new_string": '"good day"'}),
            ("write_file", {"file_path": "test_greet.py", "content": "from greet import salute\n\nassert salute()\n"}),
        ],
    ),
    Turn(
        "I give it a name that is none, which is noticed when the first file has been written.",
        [("rename_word", {"old": "salute", "new": "2x", "files": ["test_greet.py", "greet.py"]})],
    ),
    Turn("I overwrite what I have not read.", [("write_file", {"file_path": "notes.txt", "content": "gone\n"})]),
    Turn("Done: it greets better now."),
]
TOLD = [
    # what the model has to be told of each call
    'def greet():\n     2\t    return "hello"',
    "notes.txt",
    "Edited greet.py",
    "Edited greet.py",
    "Created test_greet.py",
    "Error: with '2x' in it, test_greet.py is no longer Python",
    "Error: notes.txt exists and has not been read in this session; call read_file on it first",
]
LOGGED = [
    ("ls", "ok"),
    ("read_file", "ok"),
    ("edit_file", "ok"),
    ("edit_file", "ok"),
    ("write_file", "ok"),
    ("rename_word", "rolled back"),
    ("write_file", "denied"),
]


def wink(*arguments: str, at: Path) -> str:
    """What a command of wink prints."""
    command = [sys.executable, "-m", "wink", *arguments]
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def logged(repository: Path) -> list[dict[str, Any]]:
    """The calls on a workspace, oldest first."""
    return [json.loads(line) for line in reversed(wink("log", "--json", at=repository).splitlines())]


@pytest.fixture(params=["stdio", "http"])
def snippet_for(request: pytest.FixtureRequest, repository: Path) -> Iterator[Callable[[Client], str]]:
    """What `--print-config` prints: for a server that the client starts, or for one that runs already."""
    section = ["--section", "demo.refactor"]
    if request.param == "stdio":
        yield lambda client: wink("serve", *section, "--print-config", client.snippet or client.name, at=repository)
        return
    with served(repository, *section) as url:
        address = ["--http", url.removeprefix("http://").removesuffix("/mcp")]
        yield lambda client: wink(
            "serve", *section, *address, "--print-config", client.snippet or client.name, at=repository
        )


@pytest.mark.timeout(400)
@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_an_agent_edits_through_the_server(
    client: Client, snippet_for: Callable[[Client], str], repository: Path, home: Path
) -> None:
    """Reads, parallel writes, a call that fails halfway and one that is denied: the model is told, the files are exact."""
    before = snapshot(repository)
    model = ScriptedModel([*SCRIPT])
    with serving(model) as url:
        done = client.run(Place(home, repository, url), snippet_for(client), TASK)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Done: it greets better now." in done.stdout

    results = model.results()
    assert len(results) == len(TOLD), done.stderr
    for result, told in zip(results, TOLD, strict=True):
        assert told in result.text
    failed = [told.startswith("Error") for told in TOLD]
    assert [result.failed for result in results] == (failed if client.marks_failure else [None] * len(TOLD))
    assert "call rename_word with all of them" in model.heard(), "the sections' text has to reach the model"
    assert all(call.tool.name.startswith(client.prefix) for call in model.calls)

    calls = [(call["tool"], call["outcome"]) for call in logged(repository)]
    # Within a turn the agent decides on the order; across turns there is none to decide on.
    assert [sorted(calls[:2]), sorted(calls[2:5]), *calls[5:]] == [LOGGED[:2], LOGGED[2:5], *LOGGED[5:]]
    after = snapshot(repository, but=client.leaves)
    assert {path for path in after if after[path] != before.get(path)} == {"greet.py", "test_greet.py"}
    assert after["greet.py"] == b'def salute():\n    return "good day"\n'
    assert after["test_greet.py"] == b"from greet import salute\n\nassert salute()\n"

    wink("undo", "3", at=repository)
    assert snapshot(repository, but=client.leaves) == before
