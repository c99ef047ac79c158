"""Real agents in an editor, through `wink acp`: what they have the editor write and run is judged, recorded and undone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins.acp.tests.editor import Editor
from tests.agents import clients, npm
from tests.agents.model_server import serving
from tests.agents.script import ScriptedModel, Turn

RULES = """
[[rules]]
action = "deny"
paths = "kept/**"
reason = "kept stays as it is"

[[rules]]
action = "ask"
tools = "write_file"
paths = "notes.txt"
"""
Start = Callable[[Editor, str], None]


@pytest.fixture
def editor(repository: Path, home: Path) -> Editor:
    """An editor that has the files of a repository in buffers, and rules of its user's."""
    settings = home / ".config/wink/wink.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(RULES)
    return Editor(repository, home, reads=True, writes=True)


def goose(editor: Editor, model: str) -> None:
    """Have the editor start goose."""
    editor.agent = [str(npm.program("goose")), "acp", "--with-builtin", "developer"]
    editor.environment = {
        "OPENAI_API_KEY": "scripted",
        "OPENAI_HOST": model,
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted",
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_ENABLED": "false",
    }


def gemini(editor: Editor, model: str) -> None:
    """Have the editor start gemini-cli."""
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    clients.Place(editor.home, editor.root, model).write(editor.home / ".gemini/settings.json", json.dumps(settings))
    editor.agent = [str(npm.program("gemini")), "--acp", "--model", "gemini-2.5-pro", "--yolo"]
    editor.environment = {
        "PATH": npm.path(),
        "TERM": "dumb",
        "GEMINI_API_KEY": "scripted",
        "GOOGLE_GEMINI_BASE_URL": model,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def qwen(editor: Editor, model: str) -> None:
    """Have the editor start qwen-code."""
    prepared = clients.qwen(clients.Place(editor.home, editor.root, model), "{}", "")
    editor.agent = [str(npm.program("qwen")), "--acp", "--yolo"]
    editor.environment = {"PATH": npm.path(), "TERM": "dumb", **prepared.environment}


def works(editor: Editor, start: Start, turns: list[Turn]) -> tuple[list[dict[str, Any]], ScriptedModel]:
    """Let an agent work for two prompts; what each has had the editor do goes back exactly. Gives its calls."""
    before = files(editor)
    greet = str(editor.root / "greet.py")
    editor.buffers[greet] = before["greet.py"].decode() + "# not saved\n"
    model = ScriptedModel([*turns, Turn("Done with the first.")], own=True)
    with serving(model) as url:
        start(editor, url)
        editor.does("Greet better\nand so on", "And more")
    assert editor.status == 0, editor.told
    after = files(editor)
    assert after["greet.py"] == b'def greet():\n    return "good day"\n# not saved\n'
    assert editor.buffers[greet] == after["greet.py"].decode()
    assert (after["new.txt"], after["notes.txt"]) == (b"new\n", b"noted\n")
    assert not (editor.root / "kept/new.txt").exists()
    assert "kept stays as it is" in model.heard()
    assert [call.kind for call in editor.asked if call.tool_call_id.startswith("wink-")] == ["edit"]

    calls = editor.calls()
    log = editor.wink("log")
    assert ": Greet better\n" in log
    editor.wink("undo", "--turn", "1")
    assert files(editor) == {**before, **{path: after[path] for path in after if path in BY_ITSELF}}
    editor.wink("redo")
    assert files(editor) == after
    return calls, model


BY_ITSELF = ("itself.txt",)
"""What an agent does without its editor."""


def files(editor: Editor) -> dict[str, bytes]:
    """The files of the repository, without what git, wink and agents keep for themselves."""
    return {
        str(path.relative_to(editor.root)): path.read_bytes()
        for path in editor.root.rglob("*")
        if path.is_file() and not path.relative_to(editor.root).parts[0].startswith(".")
    }


def changes(calls: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """The calls that only read left out."""
    return [
        (call["tool"], call["outcome"], [change["path"] for change in call["changes"]])
        for call in calls
        if call["tool"] != "read_file"
    ]


@pytest.mark.timeout(400)
def test_goose_in_an_editor(editor: Editor) -> None:
    """It delegates files and terminals: all that it does is judged, recorded and undone."""
    root = editor.root
    calls, model = works(
        editor,
        goose,
        [
            Turn("I write.", [("write", {"path": str(root / "new.txt"), "content": "new\n"})]),
            Turn("I change.", [("edit", {"path": str(root / "greet.py"), "before": "hello", "after": "good day"})]),
            Turn("I keep.", [("write", {"path": str(root / "kept/new.txt"), "content": "new\n"})]),
            Turn("I note.", [("write", {"path": str(root / "notes.txt"), "content": "noted\n"})]),
            Turn("I run.", [("shell", {"command": "mkdir build; cat new.txt > build/log; echo ran"})]),
            Turn("I fail.", [("shell", {"command": "echo half > half.txt; exit 3"})]),
            Turn("Two.", [("shell", {"command": f"sleep 0.3; echo {one} > {one}.txt"}) for one in ("one", "two")]),
        ],
    )

    assert changes(calls) == [
        ("write_file", "ok", ["new.txt"]),
        ("write_file", "ok", ["greet.py"]),
        ("write_file", "denied", []),
        ("write_file", "ok", ["notes.txt"]),
        ("run_command", "ok", ["build", "build/log"]),
        ("run_command", "rolled back", []),
        *[("run_command", "ok", [f"{one}.txt"]) for one in ("one", "two")],
    ] or changes(calls)[6:] == [("run_command", "ok", [f"{one}.txt"]) for one in ("two", "one")]
    assert "the workspace is as it was before" in model.heard()
    assert "ran" in str(editor.updates)
    assert "terminalId" not in str(editor.updates)
    assert editor.told == ""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("agent", [gemini, qwen], ids=["gemini-cli", "qwen-code"])
def test_an_agent_in_an_editor_that_delegates_files_alone(editor: Editor, agent: Start) -> None:
    """Its commands are its own, which the person is told of; files, new ones too, are judged, recorded and undone."""
    greet = str(editor.root / "greet.py")
    editing = "replace" if agent is gemini else "edit"

    def write(name: str, content: str) -> tuple[str, dict[str, str]]:
        return "write_file", {"file_path": str(editor.root / name), "content": content}

    more = {"instruction": "i"} if agent is gemini else {}
    calls, _ = works(
        editor,
        agent,
        [
            Turn("I write.", [write("new.txt", "new\n")]),
            Turn("I read.", [("read_file", {"file_path": greet})]),
            Turn(
                "I change.", [(editing, {"file_path": greet, "old_string": "hello", "new_string": "good day", **more})]
            ),
            Turn("I keep.", [write("kept/new.txt", "new\n")]),
            Turn("I read.", [("read_file", {"file_path": str(editor.root / "notes.txt")})]),
            Turn("I note.", [write("notes.txt", "noted\n")]),
            Turn(
                "I run.",
                [("run_shell_command", {"command": "echo x > itself.txt", "description": "d", "is_background": False})],
            ),
        ],
    )

    assert [one for one in changes(calls) if one[1] == "ok"] == [
        ("write_file", "ok", ["new.txt"]),
        ("write_file", "ok", ["greet.py"]),
        ("write_file", "ok", ["notes.txt"]),
    ]
    assert any(call["outcome"] == "denied" for call in calls)
    assert editor.told.count("runs commands without the editor") == 1
