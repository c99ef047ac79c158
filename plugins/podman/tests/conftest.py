"""An agent whose commands run in real containers."""

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
from wink_podman import PodmanConfig, PodmanSandboxSection, ShellExecuteResult

from .local_image import local_image


class Agent:
    """Calls tools as a model would, with read-before-write in force."""

    def __init__(self, root: Path, **config: Any) -> None:
        self.root = root
        self.workspace = Workspace.open(root)
        self.session = self.workspace.session()
        self.events: list[ToolInvoked] = []
        self.session.dispatcher.subscribe(ToolInvoked, self.events.append)
        section = PodmanSandboxSection(config=PodmanConfig(**{"image": local_image(), **config}))
        template = PromptTemplate(ns="tests", key="podman", sections=[section])
        self.prompt = Prompt(template).bind(resources={Filesystem: self.workspace.filesystem})
        rendered = self.prompt.render(session=self.session)
        self.executor = ToolExecutor(prompt=self.prompt, rendered=rendered, session=self.session)

    def call(self, name: str, **arguments: Any) -> ToolReply:
        """One call."""
        return self.executor.execute(ToolCall(name, arguments))

    def run(self, command: str, **arguments: Any) -> ShellExecuteResult:
        """A command that succeeds."""
        reply = self.call("shell_execute", command=command, **arguments)
        assert reply.success, reply.text
        value = reply.result.value
        assert isinstance(value, ShellExecuteResult)
        return value

    def fails(self, command: str, **arguments: Any) -> str:
        """What the model reads of a command that fails."""
        reply = self.call("shell_execute", command=command, **arguments)
        assert not reply.success, reply.text
        return reply.text

    def tree(self) -> dict[str, str]:
        """All files with mode and content, without wink's own."""
        return {
            str(path.relative_to(self.root)): f"{path.stat().st_mode & 0o777:o} {path.read_text()}"
            for path in paths_of(self.root)
            if path.is_file()
        }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    place = tmp_path / "project"
    (place / "src").mkdir(parents=True)
    (place / "a.txt").write_text("one\n")
    (place / "src/b.txt").write_text("b\n")
    return place


@pytest.fixture
def make(root: Path) -> Iterator[Callable[..., Agent]]:
    """Agents with other settings."""
    made: list[Agent] = []

    def agent(**config: Any) -> Agent:
        made.append(Agent(root, **config))
        return made[-1]

    yield agent
    for one in made:
        one.workspace.close()


@pytest.fixture
def agent(make: Callable[..., Agent]) -> Agent:
    """An agent with the usual settings."""
    return make()
