"""An agent with the shell and file tools in a workspace on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.states import paths_of

from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked, ToolReply
from wink.workspace import Workspace
from wink_files import VfsToolsSection
from wink_sandbox import MIB, bubblewrap
from wink_shell import CommandResult, ShellConfig, ShellSection


class Agent:
    """Calls tools as a model would, with read-before-write in force."""

    def __init__(self, root: Path, **config: Any) -> None:
        self.root = root
        self.workspace = Workspace.open(root)
        self.session = self.workspace.session()
        self.events: list[ToolInvoked] = []
        self.session.dispatcher.subscribe(ToolInvoked, self.events.append)
        shell = ShellSection(config=ShellConfig(**config))
        template = PromptTemplate(ns="tests", key="shell", sections=[shell, VfsToolsSection()])
        self.prompt = Prompt(template).bind(resources={Filesystem: self.workspace.filesystem})
        rendered = self.prompt.render(session=self.session)
        self.executor = ToolExecutor(prompt=self.prompt, rendered=rendered, session=self.session)

    def call(self, name: str, **arguments: Any) -> ToolReply:
        """One call."""
        return self.executor.execute(ToolCall(name, arguments))

    def run(self, command: str, **arguments: Any) -> CommandResult:
        """A command that succeeds."""
        reply = self.call("run_command", command=command, **arguments)
        assert reply.success, reply.text
        value = reply.result.value
        assert isinstance(value, CommandResult)
        return value

    def fails(self, command: str, **arguments: Any) -> str:
        """What the model reads of a command that fails."""
        reply = self.call("run_command", command=command, **arguments)
        assert not reply.success, reply.text
        return reply.text

    def tree(self) -> dict[str, str]:
        """All files and their content, without wink's own."""
        return {str(path.relative_to(self.root)): path.read_text() for path in paths_of(self.root) if path.is_file()}

    def close(self) -> None:
        """Let go of the workspace."""
        self.prompt.cleanup()
        self.workspace.close()


@pytest.fixture(scope="session", autouse=True)
def _has_bubblewrap() -> None:
    """These tests are about the real thing: without it they fail, and say what to install."""
    bubblewrap()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/app.py").write_text("print('hello')\n")
    (root / "README.md").write_text("# Project\n")
    return root


@pytest.fixture
def make(root: Path) -> Iterator[Callable[..., Agent]]:
    """Agents in the project, with the settings that a test wants."""
    made: list[Agent] = []

    def agent(**config: Any) -> Agent:
        made.append(Agent(root, **config))
        return made[-1]

    yield agent
    for one in made:
        one.close()


@pytest.fixture
def agent(make: Callable[..., Agent]) -> Agent:
    """An agent with the settings that everybody gets."""
    return make()


@pytest.fixture
def mib() -> int:
    """2**20."""
    return MIB
