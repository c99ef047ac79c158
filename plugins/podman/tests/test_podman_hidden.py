"""What rules hide from programs is hidden in containers too."""

from __future__ import annotations

import os
from pathlib import Path

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
