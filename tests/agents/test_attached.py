"""Real agents with their own tools, attached: a scripted model drives them, and each call is judged, recorded and undone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.agents import clients, npm
from tests.agents.files import snapshot
from tests.agents.model_server import serving
from tests.agents.script import ScriptedModel, Turn
from tests.faults.library import build

KILLED = Path(__file__).parents[2] / "plugins/attach/tests/killed.py"
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
EDIT = """apply_patch <<'EOF'
*** Begin Patch
*** Update File: {}
@@
-    return "hello"
+    return "good day"
*** End Patch
EOF"""
OURS = (".claude/", ".codex/", ".opencode/", ".git/opencode", ".gemini/", ".qwen/", ".agents/")
"""What agents keep for themselves, which is no work of theirs."""


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

    def die(self, number: int, library: Path, *arguments: str, **environment: str) -> None:
        """Run a command of wink's that is killed before a change in the repository."""
        done = subprocess.run(
            [sys.executable, str(KILLED), str(self.repository), str(number), *arguments],
            cwd=self.repository,
            env={"HOME": str(self.home), **environment, "LD_PRELOAD": str(library)},
            capture_output=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr

    def calls(self) -> list[dict[str, Any]]:
        """The calls, oldest first."""
        return [json.loads(line) for line in reversed(self.wink("log", "--json", "--limit", "200").splitlines())]

    def files(self) -> dict[str, bytes]:
        """What the person has, without what wink and agents keep for themselves."""
        found = snapshot(self.repository)
        return {path: content for path, content in found.items() if not path.startswith(OURS)}

    def start(self, command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        """Let the agent begin with one prompt."""
        return subprocess.Popen(
            command,
            cwd=self.repository,
            env={"PATH": npm.path(), "HOME": str(self.home), "TERM": "dumb", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Let the agent work for one prompt."""
        running = self.start(command, environment)
        try:
            said = running.communicate(timeout=150)
        finally:
            running.kill()
        assert running.returncode == 0, "\n".join(said)

    def interrupt(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Let the agent work until `half.txt` is there, and press Ctrl-C."""
        running, until = self.start(command, environment), time.monotonic() + 100
        while not (self.repository / "half.txt").exists() and running.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        assert running.poll() is None, "\n".join(running.communicate())
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: some start themselves once more
        try:
            running.communicate(timeout=60)
        finally:
            running.kill()


@pytest.fixture
def attached(repository: Path, home: Path) -> Iterator[Attached]:
    """A repository, and rules of the user's."""
    settings = home / ".config/wink/wink.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(RULES)
    made = Attached(repository, home)
    yield made
    for name in ("claude-code", "codex", "opencode", "gemini-cli", "qwen-code", "goose"):
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
    """Its own tools read, edit, write, delete, fail, run two at once, have a subagent and are denied; one call, a turn and its redo are exact."""
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
            Turn("I ask another.", [("Agent", {"description": "d", "prompt": "Help", "subagent_type": "general-purpose"})]),
            Turn("Done with the first.", waits=True),
        ],
        aside=[Turn("I help.", [("Bash", {"command": "echo sub > sub.txt"})]), Turn("Helped.")],
        prompt="Greet better",
    )  # fmt: skip
    with serving(model) as url:
        attached.run(*claude(url, "Greet better\nand so on"))
        first = attached.files()
        model.turns += [
            Turn("Once more.", [("Bash", {"command": "echo later >> new.txt"})]),
            Turn("Done with the second."),
        ]
        attached.run(*claude(url, "And more", "--continue"))
    assert first["greet.py"] == b'def greet():\n    return "good day"\n'
    assert {"new.txt", "build/log", "half.txt", "one.txt", "two.txt", "sub.txt"} <= first.keys()
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
        *[("Bash", "ok")] * 2,
        ("Agent", "ok"),
        *[("Bash", "ok")] * 2,
    ]
    (by_another,) = [call for call in calls if call["prompt"].startswith("claude-code general-purpose ")]
    assert [change["path"] for change in by_another["changes"]] == ["sub.txt"]
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


@pytest.mark.timeout(400)
def test_claude_code_goes_on_in_the_background_and_is_interrupted(attached: Attached) -> None:
    """What a command writes after its end is nobody's for sure; what one that was ended had done is recorded and undone."""
    before = attached.files()
    attached.wink("attach", "claude-code")
    late = "sleep 2; echo late > late.txt"
    model = ScriptedModel(
        [
            Turn("I build.", [("Bash", {"command": late, "run_in_background": True})]),
            Turn("I wait.", [("Bash", {"command": "sleep 5; echo half > half.txt; sleep 100"})]),
        ]
    )
    with serving(model) as url:
        attached.interrupt(*claude(url, "Build it"))
        model.turns.append(Turn("Done."))
        attached.run(*claude(url, "And?", "--continue"))

    changed = {call["tool"]: call for call in attached.calls() if call["changes"]}
    assert {tool: [change["path"] for change in call["changes"]] for tool, call in changed.items()} == {
        "Bash": ["half.txt"], "between": ["late.txt"],
    }  # fmt: skip
    aside = changed["between"]["call"]
    assert f"{aside} stays, guessed" in attached.wink("undo", "--turn", "1")
    assert attached.files() == {**before, "late.txt": b"late\n"}
    attached.wink("undo", aside)
    assert attached.files() == before
    attached.wink("redo")
    attached.wink("redo")
    assert attached.files()["half.txt"] == b"half\n"


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
    """Its shell reads, works, fails, patches, runs two at once, has a subagent and is denied; one call, a turn and its redo are exact."""
    before = attached.files()
    model = ScriptedModel(
        [
            Turn("I look at it.", [("exec_command", {"cmd": "cat greet.py"})]),
            Turn("I tidy up.", [("exec_command", {"cmd": "rm notes.txt && mkdir -p build && echo out > build/log"})]),
            Turn("I run it.", [("exec_command", {"cmd": "echo half > half.txt; exit 3"})]),
            Turn("I look for it.", [("exec_command", {"cmd": "cat secret"})]),
            Turn("I change it.", [("exec_command", {"cmd": EDIT.format(attached.repository / "greet.py")})]),
            Turn("I patch.", [("exec_command", {"cmd": PATCH.format(attached.repository)})]),
            Turn("I patch what is kept.", [("exec_command", {"cmd": PATCH.format(attached.repository / "kept")})]),
            Turn(
                "Two at once.",
                [("exec_command", {"cmd": f"sleep 0.5; echo {one} > {one}.txt"}) for one in ("one", "two")],
            ),
            Turn("I ask another.", [("spawn_agent", {"message": "Help", "task_name": "helper"})]),
            Turn("Done.", waits=True),
        ],
        aside=[Turn("I help.", [("exec_command", {"cmd": "echo sub > sub.txt"})]), Turn("Helped.")],
        prompt="Tidy up",
    )
    with serving(model) as url:
        command, environment = codex(attached, url, "Tidy up")
        path = f"{npm.program('codex').parent}:{npm.path()}"
        assert "codex trusts wink's hooks" in attached.wink("attach", "codex", "--yes", PATH=path)
        attached.run(command, environment)
    first = attached.files()
    assert {"build/log", "half.txt", "new.txt", "one.txt", "two.txt", "sub.txt"} <= first.keys()
    assert "kept/new.txt" not in first

    told = Counter((call["tool"], call["outcome"]) for call in attached.calls() if call["tool"] != "between")
    assert told == {("Bash", "ok"): 8, ("Bash", "denied"): 2, ("spawn_agent", "ok"): 1}
    calls = attached.calls()
    (editing,) = [call for call in calls if [change["path"] for change in call["changes"]] == ["greet.py"]]
    assert '+    return "good day"' in attached.wink("diff", editing["call"])
    (deleting,) = [call for call in calls if "rm notes.txt" in str(call["arguments"])]
    attached.wink("undo", deleting["call"])
    back = attached.files()
    assert back.pop("notes.txt") == before["notes.txt"]
    assert {**back, "build/log": b"out\n"} == first
    attached.wink("redo")
    (by_another,) = [call for call in attached.calls() if call["prompt"].startswith("codex default ")]
    assert [change["path"] for change in by_another["changes"]] == ["sub.txt"]
    assert "the secret stays where it is" in model.heard()
    log = attached.wink("log")
    assert "turn 1 of codex: Tidy up" in log
    assert "turn 2" not in log  # a subagent's task is no prompt of the person's
    attached.wink("undo", "--turn")
    assert attached.files() == before
    attached.wink("redo")
    assert attached.files() == first


@pytest.mark.timeout(400)
def test_codex_goes_on_in_the_background_and_is_interrupted(attached: Attached) -> None:
    """What a command writes after its poll is its own, where its words name it; what one that was ended had done is recorded and undone."""
    before = attached.files()
    model = ScriptedModel(
        [
            Turn("I build.", [("exec_command", {"cmd": "sleep 2; echo late > late.txt", "yield_time_ms": 250})]),
            Turn(
                "I wait.",
                [("exec_command", {"cmd": "sleep 5; echo half > half.txt; sleep 100", "yield_time_ms": 30000})],
            ),
        ]
    )
    with serving(model) as url:
        command, environment = codex(attached, url, "Build it")
        path = f"{npm.program('codex').parent}:{npm.path()}"
        attached.wink("attach", "codex", "--yes", PATH=path)
        attached.interrupt(command, environment)
        model.turns.append(Turn("Done."))
        command, environment = codex(attached, url, "And?")
        attached.run([*command[:-1], "resume", "--last", "And?"], environment)

    assert [(call["tool"], [change["path"] for change in call["changes"]]) for call in attached.calls()] == [
        ("Bash", ["late.txt"]),
        ("Bash", ["half.txt"]),
    ]
    first = attached.files()
    assert first == {**before, "late.txt": b"late\n", "half.txt": b"half\n"}
    attached.wink("undo", attached.calls()[0]["call"])
    assert attached.files() == {**before, "half.txt": b"half\n"}
    attached.wink("redo")
    attached.wink("undo", "--turn", "1")
    assert attached.files() == before
    attached.wink("redo")
    assert attached.files() == first


def trust_in_codex(attached: Attached, program: str, environment: Mapping[str, str], hooks: Path) -> None:
    """Let Codex trust a file of hooks, as its dialog does."""
    with subprocess.Popen(
        [program, "app-server"],
        env={"PATH": npm.path(), "HOME": str(attached.home), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def ask(method: str, **params: Any) -> Any:
            server.stdin.write(json.dumps({"id": method, "method": method, "params": params}) + "\n")
            server.stdin.flush()
            return next(told["result"] for told in map(json.loads, server.stdout) if told.get("id") == method)

        ask("initialize", clientInfo={"name": "test", "version": "0"})
        (found,) = ask("hooks/list", cwds=[str(attached.repository)])["data"]
        state = {
            one["key"]: {"trusted_hash": one["currentHash"]}
            for one in found["hooks"]
            if one["sourcePath"] == str(hooks)
        }
        assert len(state) == 1
        ask("config/batchWrite", edits=[{"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}])
        server.kill()


@pytest.mark.timeout(400)
def test_codex_has_hooks_for_one_run(attached: Attached) -> None:
    """They run though the project switches hooks off, and beside the user's own, which stay as trusted as they were; no file of the project's or of Codex's home is written."""
    before = attached.files()
    model = ScriptedModel(
        [
            Turn("I look for it.", [("exec_command", {"cmd": "cat secret"})]),
            Turn("I work.", [("exec_command", {"cmd": "echo new > new.txt"})]),
            Turn("Done."),
        ]
    )
    with serving(model) as url:
        command, environment = codex(attached, url, "Work")
        home = attached.home / ".codex"
        hook = [{"hooks": [{"type": "command", "command": f"echo own >> {attached.home}/ran", "timeout": 5}]}]
        for place in (home, attached.repository / ".codex"):
            place.mkdir(exist_ok=True)
            (place / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": hook}}))
        trust_in_codex(attached, command[0], environment, home / "hooks.json")
        (attached.repository / ".codex/config.toml").write_text("[features]\nhooks = false\n")
        written = {path: path.read_bytes() for path in (home / "config.toml", home / "hooks.json")}
        attached.run([sys.executable, "-m", "wink", "attach", "codex", "--", *command], environment)
    assert attached.files() == {**before, "new.txt": b"new\n"}
    assert [(call["tool"], call["outcome"]) for call in attached.calls()] == [("Bash", "denied"), ("Bash", "ok")]
    assert "the secret stays where it is" in model.heard()
    assert (
        attached.home / "ran"
    ).read_text() == "own\n" * 2  # the user's, and not that of the project, which nobody trusts
    assert {path: path.read_bytes() for path in written} == written
    attached.wink("undo", "--turn")
    assert attached.files() == before


def opencode(attached: Attached, model: str, prompt: str, *more: str) -> tuple[list[str], dict[str, str]]:
    """opencode's command line for one prompt, and its environment."""
    prepared = clients.opencode(clients.Place(attached.home, attached.repository, model), "{}", prompt)
    return [*prepared.command, *more], dict(prepared.environment)


@pytest.mark.timeout(400)
def test_opencode_is_judged_recorded_and_undone(attached: Attached) -> None:
    """Its own tools read, edit, write, delete, fail, run two at once, have a subagent and are denied; one call, a turn and its redo are exact."""
    root = attached.repository
    before = attached.files()
    attached.wink("attach", "opencode")
    greet = str(root / "greet.py")
    model = ScriptedModel(
        [
            Turn("I look at it.", [("read", {"filePath": greet})]),
            Turn("I change it.", [("edit", {"filePath": greet, "oldString": "hello", "newString": "good day"})]),
            Turn("I write one.", [("write", {"filePath": str(root / "new.txt"), "content": "new\n"})]),
            Turn("I tidy up.", [bash("rm notes.txt && mkdir -p build && echo out > build/log")]),
            Turn("I run it.", [bash("echo half > half.txt; exit 3")]),
            Turn("I look for it.", [bash("cat secret")]),
            Turn("I keep it.", [("write", {"filePath": str(root / "kept/new.txt"), "content": "new\n"})]),
            Turn("I change what is not there.", [("edit", {"filePath": greet, "oldString": "no", "newString": "yes"})]),
            Turn("Two at once.", [bash("sleep 0.2; echo 1 > one.txt"), bash("sleep 0.2; echo 2 > two.txt")]),
            Turn("I ask another.", [("task", {"description": "d", "prompt": "Help", "subagent_type": "general"})]),
            Turn("I help.", [bash("echo sub > sub.txt")]),
            Turn("Helped."),
            Turn("Done with the first."),
            Turn("Once more.", [bash("echo later >> new.txt")]),
            Turn("Done with the second."),
        ]
    )
    with serving(model) as url:
        attached.run(*opencode(attached, url, "Greet better\nand so on"))
        first = attached.files()
        deleting = next(call for call in attached.calls() if "rm notes.txt" in str(call["arguments"]))
        attached.wink("undo", deleting["call"])
        assert attached.files()["notes.txt"] == before["notes.txt"]
        assert "build/log" not in attached.files()
        attached.wink("redo")
        assert attached.files() == first
        attached.run(*opencode(attached, url, "And more", "--continue"))
    assert first["greet.py"] == b'def greet():\n    return "good day"\n'
    assert {"new.txt", "build/log", "half.txt", "one.txt", "two.txt", "sub.txt"} <= first.keys()
    assert not {"notes.txt", "kept/new.txt"} & first.keys()

    calls = [call for call in attached.calls() if call["id"].startswith("call_")]
    assert [(call["tool"], call["outcome"]) for call in calls] == [
        ("read", "ok"),
        ("edit", "ok"),
        ("write", "ok"),
        ("bash", "ok"),
        ("bash", "ok"),
        ("bash", "denied"),
        ("write", "denied"),
        ("edit", "ok"),
        *[("bash", "ok")] * 3,
        ("task", "ok"),
        ("bash", "ok"),
    ]
    assert [[change["path"] for change in call["changes"]] for call in calls[1:5]] == [
        ["greet.py"], ["new.txt"], ["build", "build/log", "notes.txt"], ["half.txt"],
    ]  # fmt: skip
    (by_another,) = [call for call in calls if call["prompt"].startswith("opencode ses_")]
    assert [change["path"] for change in by_another["changes"]] == ["sub.txt"]
    assert by_another["session"] == calls[0]["session"]
    for position, told in ((4, "exit status 3"), (7, "Could not find oldString")):
        assert told in attached.wink("show", calls[position]["call"])
    assert "the secret stays where it is" in model.heard()
    assert "The user has taken changes back with wink" in model.heard()
    log = attached.wink("log")
    assert 'turn 1 of opencode: "Greet better\n' in log  # opencode puts a prompt of several words in quotes
    assert "turn 3" not in log  # a subagent's task is no prompt of the person's
    assert ", seen to work" in attached.wink("attach")
    assert "-keep me" in attached.wink("diff", deleting["call"])
    attached.wink("undo", "--turn")
    assert attached.files() == first
    attached.wink("undo", "--turn", "1")
    assert attached.files() == before
    attached.wink("redo")
    assert attached.files() == first


@pytest.mark.timeout(400)
def test_opencode_is_attached_for_one_run_and_interrupted(attached: Attached) -> None:
    """Nothing is written into the project; what a call that was ended had done, and what runs on behind it, is recorded and undone."""
    before = attached.files()
    model = ScriptedModel(
        [
            Turn("I build.", [bash("(sleep 1; echo late > late.txt) >/dev/null 2>&1 & echo now > now.txt")]),
            Turn("I wait.", [bash("sleep 3; echo half > half.txt; sleep 100")]),
        ]
    )
    with serving(model) as url:
        command, environment = opencode(attached, url, "Build it")
        command = [sys.executable, "-m", "wink", "attach", "opencode", "--", *command]
        attached.interrupt(command, environment)
        model.turns.append(Turn("Done."))
        command, environment = opencode(attached, url, "And?", "--continue")
        attached.run([sys.executable, "-m", "wink", "attach", "opencode", "--", *command], environment)

    assert not (attached.repository / ".opencode").exists()
    changed = [(call["tool"], [change["path"] for change in call["changes"]]) for call in attached.calls()]
    assert sorted(one for one in changed if one[1]) == [
        ("bash", ["half.txt"]),
        ("bash", ["now.txt"]),
        ("between", ["late.txt"]),
    ]
    attached.wink("undo", "--turn")
    assert attached.files() == {**before, "late.txt": b"late\n"}
    attached.wink("redo")
    assert attached.files()["half.txt"] == b"half\n"


def bash(command: str) -> tuple[str, dict[str, str]]:
    """A call of opencode's shell."""
    return "bash", {"command": command, "description": "d"}


def gemini(attached: Attached, model: str, prompt: str, *more: str) -> tuple[list[str], dict[str, str]]:
    """gemini-cli's command line for one prompt, and its environment; the folder is trusted, so that a project's hooks run."""
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    clients.Place(attached.home, attached.repository, model).write(
        attached.home / ".gemini/settings.json", json.dumps(settings)
    )
    command = [str(npm.program("gemini")), "--model", "gemini-2.5-pro", "--yolo", *more, "--prompt", prompt]
    return command, {
        "GEMINI_API_KEY": "scripted",
        "GOOGLE_GEMINI_BASE_URL": model,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def qwen(attached: Attached, model: str, prompt: str, *more: str) -> tuple[list[str], dict[str, str]]:
    """qwen-code's command line for one prompt, and its environment."""
    prepared = clients.qwen(clients.Place(attached.home, attached.repository, model), "{}", prompt)
    return [str(npm.program("qwen")), "--yolo", *more, "--prompt", prompt], dict(prepared.environment)


def goose(attached: Attached, model: str, prompt: str, *more: str) -> tuple[list[str], dict[str, str]]:
    """goose's command line for one prompt, and its environment."""
    del attached
    command = [
        str(npm.program("goose")),
        "run",
        "--with-builtin",
        "developer",
        "--name",
        "one",
        *more,
        "--text",
        prompt,
    ]
    return command, {
        "OPENAI_API_KEY": "scripted",
        "OPENAI_HOST": model,
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted",
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_ENABLED": "false",
    }


def shell(command: str, *, is_background: bool = False) -> tuple[str, dict[str, object]]:
    """A call of the shell of gemini-cli and qwen-code."""
    return "run_shell_command", {"command": command, "description": "d", "is_background": is_background}


BUILDING = (
    Turn("I build.", [shell("sleep 2; echo late > late.txt", is_background=True)]),
    Turn("I wait.", [shell("true; sleep 4; echo half > half.txt; sleep 30")]),
)
Start = Callable[..., tuple[list[str], dict[str, str]]]


def works(attached: Attached, start: Start, model: ScriptedModel, more: Turn, *goes_on: str) -> list[dict[str, Any]]:
    """Let an agent work for two prompts; one call, each turn and the redo of both are exact. Gives its calls."""
    before = attached.files()
    with serving(model) as url:
        attached.run(*start(attached, url, "Greet better\nand so on"))
        first = attached.files()
        deleting = next(call for call in attached.calls() if "rm notes.txt" in str(call["arguments"]))
        assert "-keep me" in attached.wink("diff", deleting["call"])
        attached.wink("undo", deleting["call"])
        assert attached.files() == {
            **{path: content for path, content in first.items() if path != "build/log"}, "notes.txt": before["notes.txt"],
        }  # fmt: skip
        attached.wink("redo")
        assert attached.files() == first
        model.turns += [more, Turn("Done with the second.")]
        attached.run(*start(attached, url, "And more", *goes_on))
    assert first["greet.py"] == b'def greet():\n    return "good day"\n'
    assert {"new.txt", "build/log", "half.txt", "one.txt", "two.txt"} <= first.keys()
    assert not {"notes.txt", "kept/new.txt"} & first.keys()
    assert "the secret stays where it is" in model.heard()
    assert ", seen to work" in attached.wink("attach")

    calls = [call for call in attached.calls() if call["tool"] not in ("between", "undo", "redo")]
    log = attached.wink("log")
    assert "turn 1 of " in log
    assert ": Greet better\n" in log
    assert ": And more\n" in log
    assert "turn 3" not in log  # a subagent's task is no prompt of the person's
    attached.wink("undo", "--turn")
    assert attached.files() == first
    attached.wink("undo", "--turn", "1")
    assert attached.files() == before
    attached.wink("redo")
    assert attached.files() == first
    return calls


@pytest.mark.timeout(400)
def test_gemini_cli_is_judged_recorded_and_undone(attached: Attached) -> None:
    """Its own tools read, edit, write, delete, fail, run two at once, also in the same words, have a subagent and are denied."""
    assert "a subagent's calls are recorded as its own" in attached.wink("attach", "gemini-cli")
    greet = str(attached.repository / "greet.py")

    def replace(old: str, new: str) -> tuple[str, dict[str, str]]:
        return "replace", {"file_path": greet, "old_string": old, "new_string": new, "instruction": "i"}

    model = ScriptedModel(
        [
            Turn("I look at it.", [("read_file", {"file_path": greet})]),
            Turn("I change it.", [replace("hello", "good day")]),
            Turn("I write one.", [("write_file", {"file_path": "new.txt", "content": "new\n"})]),
            Turn("I tidy up.", [shell("rm notes.txt && mkdir -p build && echo out > build/log")]),
            Turn("I run it.", [shell("echo half > half.txt; exit 3")]),
            Turn("I look for it.", [shell("cat secret")]),
            Turn("I keep it.", [("write_file", {"file_path": "kept/new.txt", "content": "new\n"})]),
            Turn("I change what is not there.", [replace("no", "yes")]),
            Turn("Two at once.", [shell("sleep 0.5; echo 1 > one.txt"), shell("sleep 0.5; echo 2 > two.txt")]),
            Turn("The same twice.", [shell("sleep 0.5; echo 3 >> three.txt")] * 2),
            Turn("I ask another.", [("invoke_agent", {"agent_name": "generalist", "prompt": "Help"})]),
            Turn("Done with the first."),
        ],
        aside=[Turn("I help.", [shell("echo sub > sub.txt")]), Turn("Helped.")],
        prompt="Greet better",
        own=True,
    )
    more = Turn("Once more.", [shell("echo later >> new.txt")])
    calls = works(attached, gemini, model, more, "--resume", "latest")

    assert Counter((call["tool"], call["outcome"]) for call in calls) == {
        ("read_file", "ok"): 1,
        ("replace", "ok"): 2,
        ("write_file", "ok"): 1,
        ("write_file", "denied"): 1,
        ("run_shell_command", "ok"): 8,
        ("run_shell_command", "denied"): 1,
        ("invoke_agent", "ok"): 1,
    }
    assert "The user has taken changes back with wink" in model.heard()
    assert "exit status 3" in attached.wink("show", calls[4]["call"])
    assert "Could not find an exact match" in attached.wink("show", calls[7]["call"])
    twice = [call for call in calls if "three.txt" in str(call["arguments"])]
    first, second = ([change["path"] for change in call["changes"]] for call in twice)
    assert first == ["three.txt"]
    assert second in ([], ["three.txt"])  # as one has written before the other has ended, or not
    (by_another,) = [call for call in calls if "sub.txt" in str(call["arguments"])]
    assert [change["path"] for change in by_another["changes"]] == ["sub.txt"]


def interrupted(
    attached: Attached, name: str, start: Start, turns: Sequence[Turn], *goes_on: str, is_told: bool = False
) -> None:
    """What a call that was ended had done is recorded and undone: what it names, and all that changed meanwhile where its end `is_told`."""
    before = attached.files()
    aside = [Turn("I help.", [("shell", {"command": "echo sub > sub.txt"})]), Turn("Helped.")]
    model = ScriptedModel([*turns], aside, "Build it", own=True)
    with serving(model) as url:
        attached.interrupt(*start(attached, url, "Build it"))
        model.turns.clear()
        attached.run(*start(attached, url, "And?", *goes_on))

    changed = [(call["tool"], [change["path"] for change in call["changes"]]) for call in attached.calls()]
    late = {} if is_told else {"late.txt": b"late\n"}
    own = ["half.txt", "late.txt"] if is_told else ["half.txt"]
    expected = [("between", [path]) for path in late] + [(name, own)]
    assert sorted(one for one in changed if one[1] and one[0] != "delegate") == expected
    attached.wink("undo", "--turn", "1")
    assert attached.files() == before | late
    attached.wink("redo")
    assert attached.files()["half.txt"] == b"half\n"


@pytest.mark.timeout(400)
def test_gemini_cli_goes_on_in_the_background_and_is_interrupted(attached: Attached) -> None:
    """What a command writes after its end is nobody's for sure."""
    attached.wink("attach", "gemini-cli")
    interrupted(attached, "run_shell_command", gemini, BUILDING, "--resume", "latest")


@pytest.mark.timeout(400)
def test_qwen_code_is_judged_recorded_and_undone(attached: Attached) -> None:
    """Its own tools read, edit, write, delete, fail, are called two at once, have a subagent and are denied."""
    attached.wink("attach", "qwen-code")
    greet = str(attached.repository / "greet.py")
    new, kept = (str(attached.repository / name) for name in ("new.txt", "kept/new.txt"))
    model = ScriptedModel(
        [
            Turn("I look at it.", [("read_file", {"file_path": greet})]),
            Turn("I change it.", [("edit", {"file_path": greet, "old_string": "hello", "new_string": "good day"})]),
            Turn("I write one.", [("write_file", {"file_path": new, "content": "new\n"})]),
            Turn("I tidy up.", [shell("rm notes.txt && mkdir -p build && echo out > build/log")]),
            Turn("I run it.", [shell("echo half > half.txt; exit 3")]),
            Turn("I look for it.", [shell("cat secret")]),
            Turn("I keep it.", [("write_file", {"file_path": kept, "content": "new\n"})]),
            Turn("I change what is not there.", [("edit", {"file_path": greet, "old_string": "no", "new_string": "yes"})]),
            Turn("Two at once.", [shell("sleep 0.2; echo 1 > one.txt"), shell("sleep 0.2; echo 2 > two.txt")]),
            Turn("I ask another.", [("agent", {"description": "d", "prompt": "Help", "subagent_type": "general-purpose"})]),
            Turn("Done with the first.", waits=True),
        ],
        aside=[Turn("I help.", [shell("echo sub > sub.txt")]), Turn("Helped.")],
        prompt="Greet better",
        own=True,
    )  # fmt: skip
    more = Turn("Once more.", [shell("echo later >> new.txt")])
    calls = works(attached, qwen, model, more, "--continue")

    assert Counter((call["tool"], call["outcome"]) for call in calls) == {
        ("read_file", "ok"): 1,
        ("edit", "ok"): 2,
        ("write_file", "ok"): 1,
        ("write_file", "denied"): 1,
        ("run_shell_command", "ok"): 6,
        ("run_shell_command", "denied"): 1,
        ("agent", "ok"): 1,
    }
    assert "The user has taken changes back with wink" in model.heard()
    assert "exit status 3" in attached.wink("show", calls[4]["call"])
    assert "guessed" not in attached.wink("log")  # it runs two calls one after the other
    (by_another,) = [call for call in calls if call["prompt"].startswith("qwen-code general-purpose-")]
    assert [change["path"] for change in by_another["changes"]] == ["sub.txt"]


@pytest.mark.timeout(400)
def test_qwen_code_goes_on_in_the_background_and_is_interrupted(attached: Attached) -> None:
    """What a command writes after its end is nobody's for sure; attached for one run, nothing is written into the project."""

    def once(attached: Attached, model: str, prompt: str, *more: str) -> tuple[list[str], dict[str, str]]:
        command, environment = qwen(attached, model, prompt, *more)
        return [sys.executable, "-m", "wink", "attach", "qwen-code", "--", *command], environment

    interrupted(attached, "run_shell_command", once, BUILDING, "--continue", is_told=True)
    assert not (attached.repository / ".qwen").exists()


@pytest.mark.timeout(400)
def test_goose_is_judged_recorded_and_undone(attached: Attached) -> None:
    """Its own tools read, edit, write, delete, fail, run two at once and are denied, and so is a subagent, of which nothing is told."""
    assert "say it in your next prompt" in attached.wink("attach", "goose")
    greet = str(attached.repository / "greet.py")
    model = ScriptedModel(
        [
            Turn("I look at it.", [("shell", {"command": "cat greet.py"})]),
            Turn("I change it.", [("edit", {"path": greet, "before": "hello", "after": "good day"})]),
            Turn("I write one.", [("write", {"path": "new.txt", "content": "new\n"})]),
            Turn("I tidy up.", [("shell", {"command": "rm notes.txt && mkdir -p build && echo out > build/log"})]),
            Turn("I run it.", [("shell", {"command": "echo half > half.txt; exit 3"})]),
            Turn("I look for it.", [("shell", {"command": "cat secret"})]),
            Turn("I keep it.", [("write", {"path": "kept/new.txt", "content": "new\n"})]),
            Turn("I change what is not there.", [("edit", {"path": greet, "before": "no", "after": "yes"})]),
            Turn("Two at once.", [("shell", {"command": f"sleep 0.5; echo {one} > {one}.txt"}) for one in ("one", "two")]),
            Turn("I ask another.", [("delegate", {"instructions": "Help"})]),
            Turn("Done with the first."),
        ],
        prompt="Greet better",
        own=True,
    )  # fmt: skip
    more = Turn("Once more.", [("shell", {"command": "echo later >> new.txt"})])
    calls = works(attached, goose, model, more, "--resume")

    assert Counter((call["tool"], call["outcome"]) for call in calls) == {
        ("edit", "ok"): 2,
        ("write", "ok"): 1,
        ("write", "denied"): 1,
        ("shell", "ok"): 6,
        ("shell", "denied"): 1,
        ("delegate", "denied"): 1,
    }
    assert "goose does not say why" in attached.wink("show", calls[4]["call"])
    assert "goose tells wink nothing of what its subagents do" in model.heard()


@pytest.mark.timeout(400)
def test_goose_goes_on_in_the_background_and_is_interrupted(attached: Attached) -> None:
    """What a command writes after its end is nobody's for sure; without rules a subagent's work is one call."""
    (attached.home / ".config/wink/wink.toml").unlink()
    attached.wink("attach", "goose")
    late = {"command": "(sleep 2; echo late > late.txt) >/dev/null 2>&1 &"}
    waiting = {"command": "sleep 4; echo half > half.txt; sleep 30"}
    turns = [
        Turn("I ask another.", [("delegate", {"instructions": "Help"})]),
        Turn("I build.", [("shell", late)]),
        Turn("I wait.", [("shell", waiting)]),
    ]
    interrupted(attached, "shell", goose, turns, "--resume")
    (asked,) = [call for call in attached.calls() if call["tool"] == "delegate"]
    assert [change["path"] for change in asked["changes"]] == ["sub.txt"]


Started = tuple[list[str], dict[str, str]]


def asked(agent: str, attached: Attached, model: str, prompt: str, *, goes_on: bool = False) -> Started:
    """How an agent is started with a prompt, in a new conversation or in its last one."""
    on = ["--continue"] if goes_on else []
    if agent == "claude-code":
        return claude(model, prompt, *on)
    if agent == "opencode":
        return opencode(attached, model, prompt, *on)
    command, environment = codex(attached, model, prompt)
    return [*command[:-1], "resume", "--last", prompt] if goes_on else command, environment


def shell_of(agent: str, command: str) -> tuple[str, dict[str, str]]:
    """A call of an agent's shell."""
    if agent == "codex":
        return "exec_command", {"cmd": command}
    return ("Bash", {"command": command, "description": "d"}) if agent == "claude-code" else bash(command)


WORDS = {
    "claude-code": ("-p", "Otherwise", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash"),
    "codex": ("exec", "Otherwise"),
    "opencode": ("run", "Otherwise"),
}
"""What a person adds to the command line."""


@pytest.mark.timeout(500)
@pytest.mark.parametrize("agent", WORDS)
def test_files_and_conversation_go_back_to_the_end_of_a_turn(attached: Attached, agent: str, tmp_path: Path) -> None:
    """The model is not sent what was taken back, the files are those of the moment, and what a person wrote meanwhile stays.

    Also where wink was killed before, when it had a copy of the conversation and had begun with the files.
    """
    library = build(tmp_path)
    model = ScriptedModel(
        [
            Turn("The first.", [shell_of(agent, "echo 1 > one.txt; echo 1 >> notes.txt")]),
            Turn("First answer."),
            Turn("The second.", [shell_of(agent, "echo 2 > two.txt; echo 2 >> notes.txt")]),
            Turn("Second answer."),
            Turn("The third.", [shell_of(agent, "echo 3 >> one.txt")]),
            Turn("Third answer."),
        ]
    )
    with serving(model) as url:
        command, environment = asked(agent, attached, url, "Do the first thing")
        path = f"{Path(sys.executable).parent}:{Path(command[0]).parent}:{npm.path()}"
        more = {**environment, "PATH": path}
        attached.wink("attach", agent, *(["--yes"] if agent == "codex" else []), PATH=path)
        attached.run(command, environment)
        first = attached.files()
        for prompt in ("Do the second thing", "Do the third thing"):
            attached.run(*asked(agent, attached, url, prompt, goes_on=True))
        third = attached.files()
        (attached.repository / "mine.txt").write_text("mine")

        shown = attached.wink("rewind", "--to", "1", "--dry-run", **more)
        assert [line.partition(": ")[0] for line in shown.splitlines()[:2]] == ["turn 2 would go", "turn 3 would go"]
        assert "Do the second thing" in shown
        for number in (
            0,
            60,
        ):  # whatever it has done to the agent's conversations by then, the next one goes on from there
            attached.die(number, library, "rewind", "--to", "1", "--", *WORDS[agent], **more)
            assert attached.files() == third | {"mine.txt": b"mine"}
        told = json.loads(attached.wink("rewind", "--to", "1", "--json", "--", *WORDS[agent], **more))
        assert told["turns"] == [2, 3]
        assert told["ready"]
        assert attached.files() == first | {"mine.txt": b"mine"}

        model.turns[:] = [Turn("Otherwise.", [shell_of(agent, "echo other > other.txt")]), Turn("Other answer.")]
        model.requests.clear()
        attached.run(told["command"], more)
    heard = model.heard()
    assert all(text in heard for text in ("Do the first thing", "First answer.", "Otherwise"))
    assert not any(text in heard for text in ("second thing", "Second answer", "third thing", "Third answer"))
    assert attached.files() == first | {"mine.txt": b"mine", "other.txt": b"other\n"}
    assert "turn 4 of " in attached.wink("log")
    attached.wink("undo", "--turn", "4")
    attached.wink("undo", told["undone"]["call"])
    assert attached.files() == third | {"mine.txt": b"mine"}
