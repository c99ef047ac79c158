"""A project, a home of its own, and an agent's hooks as the agent would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.states import paths_of

AGENT = "claude-code"
FILES = {
    "claude-code": ".claude/settings.local.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "goose": ".agents/plugins/wink/hooks/hooks.json",
    "qwen-code": ".qwen/settings.json",
}
_SECONDS = 120


@dataclass
class Project:
    """A directory with an agent attached, which is played by the test: it runs the hooks that stand in its settings."""

    root: Path
    home: Path
    session: str = "5e551011-aaaa"
    agent: str = AGENT

    @property
    def environment(self) -> dict[str, str]:
        """Where nothing of this machine's user is found."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home)}

    def wink(self, *arguments: str, fails: bool = False) -> str:
        """What a command prints, or with `fails` what it complains of."""
        command = [sys.executable, "-m", "wink", *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
        assert (done.returncode != 0) == fails, done.stderr + done.stdout
        return done.stderr if fails else done.stdout

    def attach(self) -> None:
        """Attach it, and wait until the helper has answered once: on a busy machine the first hook may give up before."""
        self.wink("attach", self.agent)
        until = time.monotonic() + _SECONDS
        while ", seen to work" not in self.wink("attach"):
            assert time.monotonic() < until, "the helper never answered"
            self.hook("SessionStart")

    @property
    def settings(self) -> Path:
        """Where the hooks are."""
        return self.root / FILES[self.agent]

    def command(self, event: str) -> str:
        """The command of a hook."""
        return json.loads(self.settings.read_text())["hooks"][event][0]["hooks"][0]["command"]

    def raw(self, event: str, payload: bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
        """Run a hook with whatever it is given."""
        return self.run(self.command(event), payload, self.root, **environment)

    def run(self, command: str, payload: bytes, place: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command in a directory, as an agent that works there does."""
        return subprocess.run(
            ["/bin/sh", "-c", command],
            input=payload,
            cwd=place,
            env=self.environment | environment,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )

    def hook(self, event: str, **payload: Any) -> dict[str, Any]:
        """Run a hook for an event; what it answered."""
        told = {"hook_event_name": event, "session_id": self.session, **payload}
        done = self.raw(event, json.dumps(told).encode())
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}

    def before(self, call: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """The hook before a call."""
        return self.hook("PreToolUse", tool_name=tool, tool_input=arguments, tool_use_id=call)

    def after(self, call: str, tool: str, **arguments: Any) -> None:
        """The hook after a call."""
        self.hook(
            "PostToolUse",
            tool_name=tool,
            tool_input=arguments,
            tool_use_id=call,
            tool_response={"stdout": "", "stderr": ""},
        )

    def bash(self, call: str, command: str) -> None:
        """A call that runs a command."""
        self.before(call, "Bash", command=command)
        subprocess.run(["/bin/sh", "-c", command], cwd=self.root, check=True)
        self.after(call, "Bash", command=command)

    def prompt(self, text: str) -> dict[str, Any]:
        """A prompt of the person's."""
        return self.hook("UserPromptSubmit", prompt=text)

    @property
    def baseline(self) -> Path:
        """Where the baseline of this one, and no other, lies."""
        (found,) = (self.home / ".local/state/wink/attach/baselines").iterdir()
        return found

    @property
    def state(self) -> Path:
        """Where wink keeps what it knows of this workspace."""
        (found,) = (self.root / ".wink").iterdir()
        return found

    def helper(self) -> int:
        """The helper's process id."""
        (helper,) = [
            int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if _is_helper(path, self.root)
        ]
        return helper

    def kill_helper(self) -> None:
        """End the helper without a word."""
        helper = self.helper()
        os.kill(helper, 9)
        while not _is_gone(helper):
            time.sleep(0.01)

    def calls(self) -> list[dict[str, Any]]:
        """The calls in the log, oldest first."""
        lines = self.wink("log", "--json", "--limit", "500").splitlines()
        return [json.loads(line) for line in reversed(lines) if line.startswith("{")]

    def changed(self) -> list[tuple[str, list[str]]]:
        """Each call's tool and what it changed, oldest first, of those that changed anything."""
        return [
            (call["tool"], sorted(change["path"] for change in call["changes"]))
            for call in self.calls()
            if call["changes"]
        ]

    def files(self) -> dict[str, bytes | None]:
        """What the person has."""
        return {
            str(path.relative_to(self.root)): path.read_bytes() if path.is_file() else None
            for path in paths_of(self.root)
            if path.relative_to(self.root).parts[0] not in (".claude", ".codex")
        }


def _is_helper(path: Path, root: Path) -> bool:
    try:
        return path.read_bytes().split(b"\0")[-4:-1] == [b"-m", b"wink_attach", os.fsencode(root)]
    except OSError:
        return False


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project that nothing is attached to yet."""
    root, home = tmp_path / "project", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "src").mkdir()
    (root / "src/main.py").write_text("print('hello')\n")
    made = Project(root, home)
    yield made
    if made.settings.is_file() and str(home) in made.settings.read_text():
        made.wink("detach", made.agent)  # the helper ends with it


@pytest.fixture
def attached(project: Project) -> Project:
    """The same, attached, with a helper that has answered."""
    project.attach()
    return project


@pytest.fixture
def rules(project: Project) -> Callable[[str], None]:
    """Write the user's own settings."""

    def write(text: str) -> None:
        place = project.home / ".config/wink/wink.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    return write
