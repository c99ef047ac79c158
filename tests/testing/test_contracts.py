"""The contracts hold sound sections, tools, policies and adapters for sound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from wink.adapters import ModelTurn, ProviderAdapter, ScriptedAdapter
from wink.policies import SequentialDependencyPolicy, ToolPolicy
from wink.prompt import MarkdownSection, Section
from wink.session import Session
from wink.testing import (
    AdapterContract,
    PolicyContract,
    SectionContract,
    ToolCall,
    ToolContract,
    allowed,
    denied,
)
from wink.tools import Tool, ToolContext, ToolExample, ToolResult


@dataclass(frozen=True)
class Add:
    """A note to keep."""

    text: str
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("text must not be blank")


@dataclass(frozen=True)
class Added:
    """How many notes there are now."""

    count: int

    def render(self) -> str:
        return f"{self.count} notes"


@dataclass(frozen=True)
class Topic:
    """What the notes are about."""

    name: str


@dataclass(frozen=True)
class Notebook:
    """The session's part of it."""

    opened: bool = True


def add(params: Add, *, context: ToolContext) -> ToolResult[Added]:
    """Add a note."""
    context.filesystem.append("notes.md", f"{params.text}\n")
    count = len(context.filesystem.read("notes.md").content.splitlines())
    return ToolResult("added", Added(count))


async def count(params: None, *, context: ToolContext) -> ToolResult[Added]:
    """Count the notes."""
    return ToolResult("counted", Added(len(context.filesystem.read("notes.md").content.splitlines())))


ADD = Tool[Add, Added]("notes_add", "Add a note.", add, [ToolExample("The first.", Add("hi"), Added(1))])
COUNT = Tool[None, Added]("notes_count", "Count the notes.", count, effects="read")


class NotebookSection(MarkdownSection[Topic]):
    """Notes of a session."""

    def install(self, session: Session) -> None:
        if not session[Notebook].all():
            session[Notebook].seed(Notebook())


def notebook() -> Section[Any]:
    """A section with all that one can have."""
    return NotebookSection(
        title="Notebook",
        key="notebook",
        template="Keep notes about ${name}.",
        summary="Notes.",
        tools=[ADD, COUNT],
        policies=[SequentialDependencyPolicy({"notes_count": {"notes_add"}})],
    )


class TestSection(SectionContract):
    """A section with parameters, tools, a summary, state and a policy."""

    @pytest.fixture
    def section(self) -> Section[Any]:
        return notebook()

    @pytest.fixture
    def params(self) -> tuple[object, ...]:
        return (Topic("birds"),)


class TestHeading(SectionContract):
    """A section that only groups another one."""

    @pytest.fixture
    def section(self) -> Section[Any]:
        return Section("Birds", children=[MarkdownSection("Swans", "They are white.")])


class TestTool(ToolContract):
    """A tool by itself, called as in its example."""

    files = {"notes.md": "one\n"}

    @pytest.fixture
    def tool(self) -> Tool[Any, Any]:
        return ADD


class TestToolOfSection(ToolContract):
    """An asynchronous tool that reads, with calls before it."""

    tool = "notes_count"
    before = (ToolCall("notes_add", '{"text": "hi"}'),)

    @pytest.fixture
    def section(self) -> Section[Any]:
        return MarkdownSection("Notebook", "Keep notes.", "notebook", tools=[ADD, COUNT])


class TestToolOnDisk(TestTool):
    """The same on the disk, with arguments that are made."""

    fs = "disk"

    @pytest.fixture
    def arguments(self) -> dict[str, Any]:
        return {"text": "x" * 10, "tags": ["a"]}


class TestPolicy(PolicyContract):
    """A policy that remembers."""

    files = {"notes.md": ""}
    steps = (denied("notes_count"), allowed("notes_add", text="hi"), allowed("notes_count"))

    @pytest.fixture
    def policy(self) -> ToolPolicy:
        return SequentialDependencyPolicy({"notes_count": {"notes_add"}})

    @pytest.fixture
    def section(self) -> Section[Any]:
        return MarkdownSection("Notebook", "Keep notes.", "notebook", tools=[ADD, COUNT])


class TestAdapter(AdapterContract):
    """The scripted one, which every other has to be like."""

    can_be_unreachable = shows_requests = True

    def make_adapter(self, turns: Sequence[ModelTurn]) -> ProviderAdapter:
        return Watched(turns)

    def make_unreachable(self) -> ProviderAdapter:
        return Gone([])

    def answers_sent(self, adapter: ProviderAdapter) -> Sequence[Sequence[tuple[str, str]]]:
        assert isinstance(adapter, Watched)
        return adapter.sent


class Watched(ScriptedAdapter):
    """Remembers what it was sent."""

    def __init__(self, turns: Sequence[Any]) -> None:
        super().__init__(turns)
        self.sent: list[list[tuple[str, str]]] = []

    def respond(self, conversation: Any) -> ModelTurn:
        self.sent.append([(reply.call_id, reply.text) for one in conversation.exchanges for reply in one.replies])
        return super().respond(conversation)


class Gone(ScriptedAdapter):
    """Its provider is not there."""

    def respond(self, conversation: Any) -> ModelTurn:
        from wink.errors import PromptEvaluationError

        raise PromptEvaluationError("nobody listens", phase="request", prompt_name="adapter")
