"""A prompt of a few tools over each kind of filesystem, and a look at everything that a call can change."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.limits import BudgetTracker, Deadline
from wink.policies import ToolPolicy
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, RenderedPrompt
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked, ToolReply
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Text:
    """Parameters of most tools here."""

    text: str = "after"


@dataclass(frozen=True, slots=True)
class Note:
    """What most tools here write to the session, and return."""

    text: str

    def render(self) -> str:
        return f"noted {self.text}"


Handler = Callable[..., Any]


@dataclass
class Rig:
    """One session and one tree, and tools that are given to it one by one."""

    filesystem: Filesystem
    session: Session
    tools: list[Tool[Any, Any]] = field(default_factory=list)
    policies: list[ToolPolicy] = field(default_factory=list)
    prompt_policies: list[ToolPolicy] = field(default_factory=list)
    resources: dict[type, object] = field(default_factory=dict)
    deadline: Deadline | None = None
    budget_tracker: BudgetTracker | None = None
    approvals: Any = None
    events: list[ToolInvoked] = field(default_factory=list)
    _prompt: Prompt | None = None
    _executor: ToolExecutor | None = None

    def __post_init__(self) -> None:
        self.session.dispatcher.subscribe(ToolInvoked, self.events.append)
        self.session[Note].seed(Note("before"))
        self.filesystem.write("a.txt", "before\n")
        self.filesystem.write("dir/b.txt", "before\n")

    def tool(self, handler: Handler | None = None, *, params: Any = Text, result: Any = Note, **options: Any) -> Any:
        """Give the rig a tool whose name is the handler's."""

        def add(function: Handler) -> Handler:
            name = function.__name__
            self.tools.append(Tool[params, result](name=name, description=name, handler=function, **options))
            return function

        return add if handler is None else add(handler)

    @property
    def prompt(self) -> Prompt:
        if self._prompt is None:
            section = MarkdownSection(
                title="Tools", key="tools", template="Use them.", tools=self.tools, policies=self.policies
            )
            template = PromptTemplate(ns="test", key="rig", sections=[section], policies=self.prompt_policies)
            self._prompt = Prompt(template).bind(resources={Filesystem: self.filesystem, **self.resources})
        return self._prompt

    @property
    def rendered(self) -> RenderedPrompt:
        return self.prompt.render(session=self.session)

    @property
    def executor(self) -> ToolExecutor:
        if self._executor is None:
            self._executor = ToolExecutor(
                prompt=self.prompt,
                rendered=self.rendered,
                session=self.session,
                deadline=self.deadline,
                budget_tracker=self.budget_tracker,
                approvals=self.approvals,
            )
        return self._executor

    def call(self, name: str, arguments: str | dict[str, Any] | None = None, /, **values: Any) -> ToolReply:
        """Execute one call."""
        return self.executor.execute(ToolCall(name, values if arguments is None else arguments))

    def batch(self, *calls: ToolCall) -> Sequence[ToolReply]:
        """Execute the calls of one turn."""
        return self.executor.execute_batch(calls)

    def files(self) -> dict[str, str]:
        """Every file and its content."""
        found = [match.path for match in self.filesystem.glob("**/*") if match.is_file]
        return {path: self.filesystem.read(path).content for path in found}

    def notes(self) -> list[str]:
        """The texts of the notes in the session."""
        return [note.text for note in self.session[Note].all()]

    def assert_nothing_happened(self) -> None:
        """Files and session are as the rig made them."""
        assert self.files() == {"a.txt": "before\n", "dir/b.txt": "before\n"}
        assert self.notes() == ["before"]

    @property
    def event(self) -> ToolInvoked:
        """The one event of the one call."""
        (event,) = self.events
        return event


def change_everything(context: ToolContext, text: str = "half") -> None:
    """Overwrite, create, delete and write to the session: what a rollback has to take back."""
    context.filesystem.write("a.txt", text)
    context.filesystem.write("new/c.txt", text)
    context.filesystem.delete("dir/b.txt")
    context.session[Note].append(Note(text))


def press_ctrl_c() -> None:
    """What a person does; `raise KeyboardInterrupt` would be the handler's own."""
    signal.raise_signal(signal.SIGINT)


def succeed(params: Text, *, context: ToolContext) -> ToolResult[Note]:
    """A handler that changes a file and returns a note."""
    context.filesystem.write("a.txt", params.text)
    return ToolResult[Note].ok(Note(params.text))


@pytest.fixture(params=["memory", "disk", "workspace"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    """A rig over each kind of filesystem; the last one has a record too."""
    if request.param == "memory":
        yield Rig(InMemoryFilesystem(), Session())
    elif request.param == "disk":
        filesystem = HostFilesystem(tmp_path)
        yield Rig(filesystem, Session())
        filesystem.close()
    else:
        with Workspace.open(tmp_path) as workspace:
            yield Rig(workspace.filesystem, workspace.session())
