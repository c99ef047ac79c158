"""Real agents with their own tools, attached: a scripted model drives them, and each call is judged, recorded and undone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.agents import npm
from tests.agents.files import snapshot
from tests.agents.model_server import serving
from tests.agents.script import ScriptedModel, Turn

RULES = """
[[rules]]
action = "deny"
tools = "run_command"
arguments = { command = "*secret*" }
reason = "the secret stays where it is"

[[rules]]
action = "deny"
paths = "kept/**"
"""
PATCH = """apply_patch <<'EOF'
*** Begin Patch
*** Add File: {}/new.txt
+new
*** End Patch
EOF"""
OURS = frozenset({".claude", ".codex", ".opencode"})
"""Directories of an agent's configuration, which are no work of its."""


class Attached:
    """A repository with an agent attached, and the commands of a person beside it."""

    def __init__(self, repository: Path, home: Path) -> None:
        self.repository, self.home = repository, home

    def wink(self, *arguments: str, **environment: str) -> str:
        """What a command of wink prints."""
        done = subprocess.run(
            [sys.executable, "-m", "wink", *arguments],
            cwd=self.repository,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def calls(self) -> list[dict[str, Any]]:
        """The calls, oldest first."""
        return [json.loads(line) for line in reversed(self.wink("log", "--json", "--limit", "200").splitlines())]

    def files(self) -> dict[str, bytes]:
        """What the person has, without what wink and agents keep for themselves."""
        found = snapshot(self.repository)
        return {path: content for path, content in found.items() if path.split("/")[0] not in OURS}

    def run(self, command: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Let the agent work for one prompt."""
        done = subprocess.run(
            command,
            cwd=self.repository,
            env={"PATH": npm.path(), "HOME": str(self.home), "TERM": "dumb", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done


@pytest.fixture
def attached(repository: Path, home: Path) -> Iterator[Attached]:
    """A repository, and rules of the user's."""
    settings = home / ".config/wink/wink.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(RULES)
    made = Attached(repository, home)
    yield made
    for name in ("claude-code", "codex"):
        made.wink("detach", name)


def claude(model: str, prompt: str, *more: str) -> tuple[list[str], dict[str, str]]:
    """Claude Code's command line for one prompt, and its environment."""
    command = [str(npm.program("claude-code")), "-p", prompt, "--model", "claude-sonnet-4-5", *more]
    command += ["--allowedTools", "Bash,Read,Write,Edit,Agent"]
    return command, {
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


@pytest.mark.timeout(400)
def test_claude_code_is_judged_recorded_and_undone(attached: Attached) -> None:
    """Its own tools read, edit, write, delete, fail, run two at once and are denied once; one call, a turn and its redo are exact."""
    root = attached.repository
    before = attached.files()
    attached.wink("attach", "claude-code")
    greet = str(root / "greet.py")
    model = ScriptedModel(
        [
            Turn("I look at it.", [("Read", {"file_path": greet})]),
            Turn("I change it.", [("Edit", {"file_path": greet, "old_string": "hello", "new_string": "good day"})]),
            Turn("I write one.", [("Write", {"file_path": str(root / "new.txt"), "content": "new\n"})]),
            Turn("I tidy up.", [("Bash", {"command": "rm notes.txt && mkdir -p build && echo out > build/log"})]),
            Turn("I run it.", [("Bash", {"command": "echo half > half.txt; exit 3"})]),
            Turn("I look for it.", [("Bash", {"command": "cat secret"})]),
            Turn(
                "Two at once.",
                [("Bash", {"command": "sleep 0.2; echo 1 > one.txt"}), ("Bash", {"command": "sleep 0.2; echo 2 > two.txt"})],
            ),
            Turn("Done with the first."),
            Turn("Once more.", [("Bash", {"command": "echo later >> new.txt"})]),
            Turn("Done with the second."),
        ]
    )  # fmt: skip
    with serving(model) as url:
        attached.run(*claude(url, "Greet better\nand so on"))
        first = attached.files()
        attached.run(*claude(url, "And more", "--continue"))
    assert first["greet.py"] == b'def greet():\n    return "good day"\n'
    assert {"new.txt", "build/log", "half.txt", "one.txt", "two.txt"} <= first.keys()
    assert "notes.txt" not in first

    calls = attached.calls()
    told = [(call["tool"], call["outcome"]) for call in calls if call["tool"] != "between"]
    assert told == [
        ("Read", "ok"),
        ("Edit", "ok"),
        ("Write", "ok"),
        ("Bash", "ok"),
        ("Bash", "ok"),
        ("Bash", "denied"),
        *[("Bash", "ok")] * 3,
    ]
    assert "the secret stays where it is" in model.heard()
    log = attached.wink("log")
    assert "turn 1 of claude-code: Greet better\n" in log
    assert "turn 2 of claude-code: And more" in log
    assert ", seen to work" in attached.wink("attach")

    written = next(call for call in calls if call["tool"] == "Write")
    assert [change["path"] for change in written["changes"]] == ["new.txt"]
    deleting = next(call for call in calls if "rm notes.txt" in str(call["arguments"]))
    assert "-keep me" in attached.wink("diff", deleting["call"])
    attached.wink("undo", deleting["call"])
    assert attached.files()["notes.txt"] == before["notes.txt"]
    attached.wink("redo")
    attached.wink("undo", "--turn")
    assert attached.files() == first
    attached.wink("undo", "--turn", "1")
    assert attached.files() == before
    attached.wink("redo")
    assert attached.files() == first


@pytest.mark.timeout(400)
def test_claude_code_is_attached_for_one_run(attached: Attached) -> None:
    """Nothing is written into the project."""
    model = ScriptedModel([Turn("I write.", [("Bash", {"command": "echo new > new.txt"})]), Turn("Done.")])
    with serving(model) as url:
        command, environment = claude(url, "Write it")
        attached.run([sys.executable, "-m", "wink", "attach", "claude-code", "--", *command], environment)

    assert not (attached.repository / ".claude").exists()
    assert [(call["tool"], [change["path"] for change in call["changes"]]) for call in attached.calls()] == [
        ("Bash", ["new.txt"])
    ]
    attached.wink("undo", "--turn")
    assert "new.txt" not in attached.files()


def codex(attached: Attached, model: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    """Codex's command line for one prompt, and its environment."""
    config = attached.home / ".codex/config.toml"
    if not config.exists():
        config.parent.mkdir(exist_ok=True)
        config.write_text(
            'model = "scripted"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n'
            'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{model}/v1"\nwire_api = "responses"\n'
            f'env_key = "SCRIPTED_KEY"\n[projects."{attached.repository}"]\ntrust_level = "trusted"\n'
        )
    return [str(npm.program("codex")), "exec", prompt], {"SCRIPTED_KEY": "scripted", "CODEX_HOME": str(config.parent)}


@pytest.mark.timeout(400)
def test_codex_is_judged_recorded_and_undone(attached: Attached) -> None:
    """Its shell works, fails and is denied; one call, a turn and its redo are exact."""
    before = attached.files()
    model = ScriptedModel(
        [
            Turn("I tidy up.", [("exec_command", {"cmd": "rm notes.txt && mkdir -p build && echo out > build/log"})]),
            Turn("I run it.", [("exec_command", {"cmd": "echo half > half.txt; exit 3"})]),
            Turn("I look for it.", [("exec_command", {"cmd": "cat secret"})]),
            Turn("I patch.", [("exec_command", {"cmd": PATCH.format(attached.repository)})]),
            Turn("I patch what is kept.", [("exec_command", {"cmd": PATCH.format(attached.repository / "kept")})]),
            Turn("Done."),
        ]
    )
    with serving(model) as url:
        command, environment = codex(attached, url, "Tidy up")
        path = f"{npm.program('codex').parent}:{npm.path()}"
        assert "codex trusts wink's hooks" in attached.wink("attach", "codex", "--yes", PATH=path)
        attached.run(command, environment)
    first = attached.files()
    assert {"build/log", "half.txt", "new.txt"} <= first.keys()
    assert "kept/new.txt" not in first

    told = [(call["tool"], call["outcome"]) for call in attached.calls() if call["tool"] != "between"]
    assert told == [*[("Bash", "ok")] * 2, *[("Bash", "denied")] * 2, ("Bash", "ok")]  # no after-event for a patch
    assert "the secret stays where it is" in model.heard()
    assert "turn 1 of codex: Tidy up" in attached.wink("log")
    attached.wink("undo", "--turn")
    assert attached.files() == before
    attached.wink("redo")
    assert attached.files() == first
