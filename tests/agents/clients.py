"""Real agents, each put in front of a scripted model and given wink's server with the snippet that wink prints for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents import npm


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent works: its home, the repository, and the model's URL."""

    home: Path
    repository: Path
    model: str

    def write(self, path: Path, text: str) -> Path:
        """Write a file, making its directory."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@dataclass(frozen=True, slots=True)
class Prepared:
    """The command line that gives an agent its task, and what its environment has besides."""

    command: list[str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Client:
    """An agent: the name of its snippet, how it is set up, and what it does differently from others."""

    name: str
    prepare: Callable[[Place, str, str], Prepared]
    prefix: str
    marks_failure: bool = True
    """Whether the model's API tells it that a call failed."""
    snippet: str | None = None
    """Whose snippet it takes, where it has none of its own."""
    leaves: frozenset[str] = frozenset()
    """Files that the agent itself makes in a repository."""

    def run(self, place: Place, snippet: str, task: str) -> subprocess.CompletedProcess[str]:
        """Let the agent work on the task, in the repository."""
        prepared = self.prepare(place, snippet, task)
        environment = {"PATH": npm.path(), "HOME": str(place.home), "TERM": "dumb", **prepared.environment}
        return subprocess.run(
            prepared.command,
            cwd=place.repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )


def claude_code(place: Place, snippet: str, task: str) -> Prepared:
    """With a file of its own, since a project's servers wait for somebody's consent."""
    config = place.write(place.home / "wink.json", snippet)
    command = [str(npm.program("claude-code")), "-p", task, "--mcp-config", str(config), "--strict-mcp-config"]
    command += ["--allowedTools", "mcp__wink", "--model", "claude-sonnet-4-5"]
    return Prepared(
        command,
        {
            "ANTHROPIC_BASE_URL": place.model,
            "ANTHROPIC_API_KEY": "sk-scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    )


def codex(place: Place, snippet: str, task: str) -> Prepared:
    """With the snippet appended to its configuration, as it says."""
    provider = f"""model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{place.model}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

"""
    place.write(place.home / ".codex/config.toml", provider + snippet)
    command = [str(npm.program("codex")), "exec", "--strict-config", task]
    return Prepared(command, {"SCRIPTED_KEY": "scripted", "CODEX_HOME": str(place.home / ".codex")})


def opencode(place: Place, snippet: str, task: str) -> Prepared:
    """With the snippet as the file of its name; the model stands in the user's own."""
    provider: dict[str, Any] = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "scripted",
                "options": {"baseURL": f"{place.model}/v1", "apiKey": "scripted"},
                "models": {"scripted": {"name": "scripted", "tool_call": True}},
            }
        },
    }
    place.write(place.home / ".config/opencode/opencode.json", json.dumps(provider))
    config = place.write(place.home / "wink.json", snippet)
    command = [str(npm.program("opencode")), "run", task]
    environment = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return Prepared(command, {**environment, "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_CONFIG": str(config)})


def gemini(place: Place, snippet: str, task: str) -> Prepared:
    """With the snippet merged into its settings; without a terminal, it denies what it would ask about."""
    settings = json.loads(snippet) | {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    place.write(place.home / ".gemini/settings.json", json.dumps(settings))
    command = [str(npm.program("gemini")), "--skip-trust", "--model", "gemini-2.5-pro"]
    command += ["--approval-mode", "auto_edit", "--allowed-mcp-server-names", "wink", "--prompt", task]
    return Prepared(command, {"GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": place.model})


def qwen(place: Place, snippet: str, task: str) -> Prepared:
    """With the snippet merged into its settings, and leave to use what it brings."""
    settings = json.loads(snippet) | {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    place.write(place.home / ".qwen/settings.json", json.dumps(settings))
    command = [str(npm.program("qwen")), task, "--allowed-tools", "mcp__wink"]
    environment = {"OPENAI_API_KEY": "scripted", "OPENAI_BASE_URL": f"{place.model}/v1", "OPENAI_MODEL": "scripted"}
    return Prepared(command, environment)


def openai_agents(place: Place, snippet: str, task: str) -> Prepared:
    """A program of a few lines, since this is no agent but what agents are made of."""
    program = Path(__file__).with_name("openai_agent.py")
    return Prepared([sys.executable, str(program), snippet, place.model, task], {})


CLIENTS = {
    client.name: client
    for client in (
        Client("claude-code", claude_code, "mcp__wink__"),
        Client("codex", codex, "", marks_failure=False),
        Client("opencode", opencode, "wink_", marks_failure=False, leaves=frozenset({".git/opencode"})),
        Client("gemini", gemini, "mcp_wink_"),
        Client("qwen", qwen, "mcp__wink__", marks_failure=False),
        Client("openai-agents", openai_agents, "", marks_failure=False, snippet="claude-code"),
    )
}
