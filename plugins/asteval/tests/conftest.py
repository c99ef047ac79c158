"""An agent that evaluates Python over one tree of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.limits import Deadline
from wink.prompt import Prompt, PromptTemplate
from wink.resources import Binding, ResourceRegistry
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink_asteval import AstevalConfig, AstevalSection, EvalResult


class Agent:
    """Calls `evaluate_python`, as a model would."""

    def __init__(
        self,
        files: Filesystem,
        config: AstevalConfig | None = None,
        *,
        more: Any = (),
        deadline: Deadline | None = None,
    ) -> None:
        self.files, self.session = files, Session()
        self.section = AstevalSection(config=config)
        template = PromptTemplate(ns="tests", key="python", sections=[self.section, *more])
        bound = ResourceRegistry.of(Binding[Filesystem].instance(Filesystem, files))
        self.prompt = Prompt(template).bind(resources=bound)
        rendered = self.prompt.render(session=self.session)
        self.executor = ToolExecutor(prompt=self.prompt, rendered=rendered, session=self.session, deadline=deadline)

    def call(self, code: str, **arguments: Any) -> ToolReply:
        """One call."""
        return self.executor.execute(ToolCall("evaluate_python", {"code": code, **arguments}))

    def result(self, code: str, **arguments: Any) -> EvalResult:
        """The result of a script that ends well."""
        reply = self.call(code, **arguments)
        assert reply.success, reply.text
        assert isinstance(reply.result.value, EvalResult)
        return reply.result.value

    def value(self, code: str, **arguments: Any) -> str | None:
        """The repr of a script's value."""
        return self.result(code, **arguments).value_repr

    def error(self, code: str, **arguments: Any) -> str:
        """What the model is told of a script that fails."""
        reply = self.call(code, **arguments)
        assert not reply.success, reply.text
        return reply.text


@pytest.fixture
def files() -> Filesystem:
    """Files in memory."""
    return InMemoryFilesystem()


@pytest.fixture
def agent(files: Filesystem) -> Agent:
    """An agent with the usual bounds."""
    return Agent(files)


@pytest.fixture
def agent_with(files: Filesystem) -> Callable[..., Agent]:
    """An agent with other bounds."""
    return lambda **bounds: Agent(files, AstevalConfig(**bounds))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Filesystem]:
    """Files on the disk."""
    (tmp_path / "work").mkdir()
    with HostFilesystem(str(tmp_path / "work")) as files:
        yield files
