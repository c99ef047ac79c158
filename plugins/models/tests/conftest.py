"""One agent over each provider's real SDK, against a server on loopback."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest
from plugins.models.tests.server import Answer, Server, serving

from wink.adapters import PromptResponse
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink_anthropic import AnthropicMessages
from wink_models import ModelSettings, RemoteAdapter
from wink_openai import OpenAIChat, OpenAIResponses

KEY = "sk-secret-0123456789"
ADAPTERS: dict[str, type[RemoteAdapter]] = {
    "openai": OpenAIResponses,
    "openai-chat": OpenAIChat,
    "anthropic": AnthropicMessages,
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line to append."""

    text: str


@dataclass(frozen=True, slots=True)
class Look:
    """A file to look at, and how much of it."""

    path: str
    limit: int = field(default=10, metadata={"ge": 1})


def append(params: Line, *, context: ToolContext) -> ToolResult[None]:
    """Append a line to a file; `boom` fails after it."""
    context.filesystem.append("log.txt", f"{params.text}\n")
    if params.text == "boom":
        raise ValueError("boom")
    return ToolResult(f"appended {params.text}", None)


def look(params: Look, *, context: ToolContext) -> ToolResult[None]:
    """Say what a file holds."""
    return ToolResult(context.filesystem.read(params.path).content, None)


TOOLS = (
    Tool[Line, None](name="append", description="Append a line to log.txt.", handler=append),
    Tool[Look, None](name="look", description="Look at a file.", handler=look, effects="read"),
)


@dataclass
class Agent:
    """A prompt over a tree in memory, a session, and the adapter to try."""

    provider: str
    streams: bool
    files: Filesystem = field(default_factory=InMemoryFilesystem)
    session: Session = field(default_factory=Session)
    waited: list[float] = field(default_factory=list[float])
    tools: tuple[Tool[Any, Any], ...] = TOOLS

    def prompt(self) -> Prompt[Any]:
        section = MarkdownSection(title="Task", key="task", template="Write a log.", tools=self.tools)
        template = PromptTemplate(ns="t", key="t", sections=[section])
        return Prompt(template).bind(resources={Filesystem: self.files})

    def adapter(self, server: Server, **settings: Any) -> RemoteAdapter:
        base = server.url if self.provider == "anthropic" else f"{server.url}/v1"
        reached = ModelSettings(**{"base_url": base, "stream": self.streams, "timeout": 5.0, **settings})
        return ADAPTERS[self.provider]("test-model", api_key=KEY, settings=reached, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    def log(self) -> str:
        return self.files.read("log.txt").content if self.files.exists("log.txt") else ""

    def run(self, *answers: Answer, **options: Any) -> tuple[PromptResponse, Server]:
        settings = options.pop("settings", {})
        with serving(answers) as server:
            adapter = self.adapter(server, **settings)
            with closing(adapter):
                return adapter.evaluate(self.prompt(), session=self.session, **options), server


@pytest.fixture(params=sorted(ADAPTERS))
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["streaming", "whole"])
def streams(request: pytest.FixtureRequest) -> bool:
    return request.param == "streaming"


@pytest.fixture
def agent(provider: str, streams: bool) -> Agent:
    return Agent(provider, streams)
