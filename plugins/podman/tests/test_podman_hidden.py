"""What rules hide from programs is hidden in containers too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from wink.cli import run as cli_run
from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.workspace import Workspace
from wink_podman import PodmanConfig, PodmanSandboxSection
from wink_rules import Rule, RulesPolicy

from .local_image import local_image


def run(root: Path, command: str) -> str:
    section = PodmanSandboxSection(config=PodmanConfig(image=local_image()))
    rules = RulesPolicy([Rule("deny", paths=["**/.env", "secrets/**", "named", "odd/*"])])
    with Workspace.open(root) as workspace:
        session = workspace.session()
        template = PromptTemplate(ns="tests", key="podman", sections=[section], policies=[rules])
        prompt = Prompt(template).bind(resources={Filesystem: workspace.filesystem})
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        return executor.execute(ToolCall("shell_execute", {"command": command})).text


def test_an_empty_file_or_directory_lies_over_what_is_hidden(tmp_path: Path) -> None:
    """Over other names of it, and over what a hidden link leads to, since Podman follows it; nothing can be done to it."""
    root = tmp_path / "project"
    for name in (".env", "secrets/k", "sub/.env", "real", 'odd/a,b"c', "public"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"the-secret {name}\n")
    (root / "public").write_text("shown\n")
    os.link(root / ".env", root / "hard")
    (root / "named").symlink_to("real")
    (root / "dangling").mkdir()
    (root / "dangling/.env").symlink_to("nowhere")

    text = run(
        root,
        "cat .env secrets/* sub/.env hard named real odd/* public; rm -f .env; mv secrets s; echo x > .env; echo made > made",
    )

    assert "the-secret" not in text, text
    assert "shown" in text, text
    assert "created made" in text, text
    assert "hidden by rules, and empty for the command: .env, dangling/.env, hard, named, " in text, text
    assert (root / ".env").read_text() == "the-secret .env\n"
    assert (root / "secrets/k").read_text() == "the-secret secrets/k\n"


def test_what_is_explained_is_what_a_container_then_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where an image is set: by the rules that are for `shell_execute`, and the settings of the plugin."""
    root, home = tmp_path / "project", tmp_path / "home"
    for name in (".env", "public", "theirs", "locked"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("CONTENT\n")
    rules = (
        'paths = ".env"',
        'paths = "theirs"\ntools = ["*", "!shell_execute"]',
        'paths = "locked"\ntools = ["*", "!read_file"]',
    )
    (root / "wink.toml").write_text("".join(f'[[rules]]\naction = "deny"\n{rule}\n' for rule in rules))
    own = home / ".config/wink/wink.toml"
    own.parent.mkdir(parents=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(home))

    def said(*arguments: str) -> str:
        capfd.readouterr()
        cli_run(arguments)
        return capfd.readouterr().out

    def answers(*about: str) -> dict[str, str]:
        found = json.loads(said("explain", *about, "--json"))["verdicts"]
        return {one["does"]: one["answer"] for one in found if one["who"] == "shell_execute"}

    assert answers("--path", "public") == {}
    own.write_text(f'[plugins.podman]\nimage = "{local_image()}"\n')
    names = (".env", "public", "theirs", "locked")
    read = [name for name in names if answers("--path", name)["read"] == "allow"]
    written = [name for name in names if answers("--path", name)["write"] == "allow"]
    options = ("--section", "podman.sandbox", "--no-input")
    shown = said("call", "shell_execute", *options, "command=grep CONTENT .env public theirs locked; true")
    for name in names:
        said("call", "shell_execute", *options, f"command=echo P > {name}")

    assert [name for name in names if f"{name}:CONTENT" in shown] == read == ["public", "theirs", "locked"]
    assert [name for name in names if (root / name).read_text() == "P\n"] == written == ["public", "theirs"]
    assert answers("--path", "/etc/passwd") == {"read": "deny", "write": "deny"}
    assert answers("--host", "example.org") == {"reach": "deny"}
    own.write_text(f'[plugins.podman]\nimage = "{local_image()}"\nnetwork = true\n')
    assert answers("--host", "example.org") == {"reach": "allow"}
    assert "wink.toml:1 network = true" in said("explain", "--host", "example.org")
