"""Policies, reducers and sections that take their time: the call waits for them, and nobody else does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.policies import PolicyDecision
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.session import Append, Session
from wink.tools import Tool, ToolContext, ToolResult
from wink_mcp import Serving

BOUND = 60.0
"""How many seconds anything here may take at the most."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    text: str


@dataclass
class Gate:
    """Somewhere to be held up."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def pass_through(self) -> None:
        self.reached.set()
        assert self.opened.wait(BOUND)

    async def is_reached(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, BOUND)


class Holding:
    """A policy that does not come back before the gate is open."""

    name = "holding"

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        if tool.name == "write":
            self._gate.pass_through()
        return PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        pass


class Served:
    """A server with a tool that writes and one that reads, over files in memory."""

    def __init__(self, **section: Any) -> None:
        self.files = InMemoryFilesystem()
        tools = (
            Tool[Text, Text]("write", "Write.", self.write),
            Tool[Text, None]("read", "Read.", self.read, effects="read"),
        )
        part = MarkdownSection("Files", "Work.", tools=tools, **section)
        self.prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[part])).bind(resources={Filesystem: self.files})
        self.sessions: dict[str, Session] = {}

    def write(self, params: Text, *, context: ToolContext) -> ToolResult[Text]:
        context.filesystem.write("a.txt", params.text)
        return ToolResult("written", params)

    def read(self, params: Text, *, context: ToolContext) -> ToolResult[None]:
        return ToolResult("there" if context.filesystem.exists(params.text) else "nothing", None)

    def session(self, name: str) -> Session:
        return self.sessions.setdefault(name, Session())

    def client(self, mode: str) -> Client:
        return Client(Serving(self.prompt, self.session).server(), mode=mode)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def gate() -> Generator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


async def says(client: Client, tool: str, text: str, session: str = "default") -> str:
    async with asyncio.timeout(BOUND):
        (block,) = (await client.call_tool(tool, {"text": text}, meta={"wink/session": session})).content
    return block.text


async def is_answered(client: Client, mode: str) -> None:
    async with asyncio.timeout(BOUND):
        if mode == "legacy":
            with pytest.warns(MCPDeprecationWarning):
                await client.send_ping()


@pytest.mark.anyio
async def test_a_policy_that_hangs_holds_up_nobody_else(mode: str, gate: Gate) -> None:
    """Only what its own session has called after it waits; the call goes on when the policy has made up its mind."""
    served = Served(policies=[Holding(gate)])
    async with served.client(mode) as client:
        held = asyncio.create_task(client.call_tool("write", {"text": "x"}))
        await gate.is_reached()

        await is_answered(client, mode)
        assert await says(client, "read", "a.txt", "other") == "nothing"
        assert len((await client.list_tools()).tools) == 3
        gate.opened.set()

        async with asyncio.timeout(BOUND):
            assert not (await held).is_error
        assert await says(client, "read", "a.txt") == "there"


@pytest.mark.anyio
async def test_a_call_can_be_given_up_while_its_policy_hangs(mode: str, gate: Gate) -> None:
    """What was given up does not happen when the policy comes back, and nobody waits for that."""
    served = Served(policies=[Holding(gate)])
    async with served.client(mode) as client:
        held = asyncio.create_task(client.call_tool("write", {"text": "x"}))
        await gate.is_reached()
        held.cancel()
        with pytest.raises(asyncio.CancelledError):
            await held

        await is_answered(client, mode)
        assert await says(client, "read", "a.txt") == "nothing"
        gate.opened.set()

        assert "written" in await says(client, "write", "y")
    assert served.files.read("a.txt").content == "y"


@pytest.mark.anyio
async def test_a_reducer_that_hangs_leaves_the_server_answering(mode: str, gate: Gate) -> None:
    """Its own session waits for it, since it is in the middle of a change; the connection does not."""
    served = Served()

    def reduce(view: Any, event: Text) -> Append:
        gate.pass_through()
        return Append(event)

    served.session("default")[Text].register(Text, reduce)
    async with served.client(mode) as client:
        held = asyncio.create_task(client.call_tool("write", {"text": "x"}))
        await gate.is_reached()

        await is_answered(client, mode)
        async with asyncio.timeout(BOUND):
            other = await client.call_tool("read", {"text": "b.txt"}, meta={"wink/session": "other"})
        assert other.content[0].text == "nothing"
        gate.opened.set()

        async with asyncio.timeout(BOUND):
            assert not (await held).is_error
    assert served.session("default")[Text].all() == (Text("x"),)


@pytest.mark.anyio
async def test_a_section_that_hangs_leaves_the_server_answering(mode: str, gate: Gate) -> None:
    """One that takes its time to say whether it takes part, when tools are listed."""
    armed = threading.Event()

    def is_enabled() -> bool:
        if armed.is_set():
            gate.pass_through()
        return True

    served = Served(enabled=is_enabled)
    async with served.client(mode) as client:
        await client.list_tools()  # or else the client asks for it before it calls
        armed.set()
        listing = asyncio.create_task(client.list_tools())
        await gate.is_reached()

        await is_answered(client, mode)
        assert await says(client, "read", "a.txt") == "nothing"
        gate.opened.set()

        async with asyncio.timeout(BOUND):
            assert len((await listing).tools) == 3
