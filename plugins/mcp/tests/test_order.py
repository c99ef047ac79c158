"""Calls that a client sends without waiting for answers run in the order in which they came, programs too."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from plugins.mcp.tests.serving import Server, started
from plugins.mcp.tests.test_blocking import BOUND, Gate, Text
from plugins.mcp.tests.wire import Wire

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink_mcp import Serving

SHELL = ("--section", "shell.commands")
TURN = (
    ("run_command", {"command": "sleep 1.5; echo one > gen.txt"}),
    ("run_command", {"command": "cat gen.txt"}),
    ("run_command", {"command": "sleep 0.1; echo two >> gen.txt"}),
    ("run_command", {"command": "echo three >> gen.txt"}),
    ("read_file", {"file_path": "gen.txt"}),
    ("edit_file", {"file_path": "gen.txt", "old_string": "two", "new_string": "2"}),
    ("run_command", {"command": "cat gen.txt"}),
)
"""One turn of a model, each call of which needs what those before it have done."""


def check(texts: list[str], place: Path) -> None:
    """Whether each saw what those before it had done, and nothing of those behind."""
    assert not [text for text in texts if text.startswith("Error: ")]
    assert "one" in texts[1]
    assert re.search(r"\bone\n.*\btwo\n.*\bthree", texts[4])
    assert "one\n2\nthree" in texts[6]
    assert (place / "gen.txt").read_text() == "one\n2\nthree\n"


def test_calls_in_a_pipe_run_in_the_order_in_which_they_were_written(
    command: list[str], environment: dict[str, str], place: Path
) -> None:
    """Clients send a whole turn at once, and the model has written it in this order."""
    with Wire([*command, *SHELL], environment) as wire:
        wire.initialize()
        for number, (tool, arguments) in enumerate(TURN, 1):
            wire.ask(number, tool, **arguments)
        texts = [wire.answer(number)["result"]["content"][0]["text"] for number in range(1, len(TURN) + 1)]

    check(texts, place)


@pytest.fixture
def shell_server(command: list[str], environment: dict[str, str]) -> Generator[Server]:
    with started([*command, *SHELL, "--port", "0"], environment) as running:
        yield running


@pytest.mark.anyio
async def test_calls_over_http_run_in_the_order_in_which_they_came(
    shell_server: Server, mode: str, place: Path
) -> None:
    """Each comes in a request of its own, on a connection of its own."""

    async def call(client: Client, tool: str, arguments: dict[str, Any]) -> str:
        return (await client.call_tool(tool, arguments)).content[0].text

    async with shell_server.client(mode) as client, asyncio.timeout(BOUND):
        await client.list_tools()
        texts: list[asyncio.Task[str]] = []
        for tool, arguments in TURN:
            texts.append(asyncio.create_task(call(client, tool, arguments)))
            # What a client sends on several connections has no order, so each is given the time to arrive.
            await asyncio.sleep(0.2)
        check(await asyncio.gather(*texts), place)


class Served:
    """A server with a program that a gate holds up, and tools that change and show a file."""

    def __init__(self, gate: Gate) -> None:
        self.files, self.gate = InMemoryFilesystem(), gate
        tools = (
            Tool[Text, None]("program", "Run.", self.program, effects="process"),
            Tool[Text, None]("add", "Add.", self.add),
            Tool[Text, None]("act", "Act.", self.add, effects="external"),
            Tool[Text, None]("read", "Read.", self.read, effects="read"),
            Tool[Text, None]("meet", "Meet another read.", self.meet, effects="read"),
        )
        self.barrier = threading.Barrier(2)
        self.template = PromptTemplate(ns="t", key="t", sections=[MarkdownSection("Files", "Work.", tools=tools)])
        self.prompt = Prompt(self.template).bind(resources={Filesystem: self.files})
        self.sessions: dict[str, Session] = {}

    def program(self, params: Text, *, context: ToolContext) -> ToolResult[None]:
        self.gate.pass_through()
        if params.text == "fails":
            raise ValueError(params.text)
        return self.add(params, context=context)

    def add(self, params: Text, *, context: ToolContext) -> ToolResult[None]:
        files = context.filesystem
        before = files.read("a.txt").content if files.exists("a.txt") else ""
        files.write("a.txt", before + params.text)
        return ToolResult("added", None)

    def read(self, params: Text, *, context: ToolContext) -> ToolResult[None]:
        files = context.filesystem
        return ToolResult(files.read("a.txt").content if files.exists("a.txt") else "nothing", None)

    def meet(self, params: Text, *, context: ToolContext) -> ToolResult[None]:
        self.barrier.wait(BOUND)
        return self.read(params, context=context)

    def client(self, mode: str) -> Client:
        server = Serving(self.prompt, lambda name: self.sessions.setdefault(name, Session())).server()
        return Client(server, mode=mode)


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


async def says(client: Client, tool: str, text: str = "", session: str | None = None) -> str:
    meta: Any = None if session is None else {"wink/session": session}
    async with asyncio.timeout(BOUND):
        (block,) = (await client.call_tool(tool, {"text": text}, meta=meta)).content
    return block.text


def sent(client: Client, *arguments: str) -> asyncio.Task[str]:
    return asyncio.create_task(says(client, *arguments))


async def arrived() -> None:
    """Let calls come in and begin, as far as anything lets them."""
    for _ in range(20):
        await asyncio.sleep(0.005)


@pytest.mark.anyio
async def test_whatever_comes_after_a_program_waits_for_it(mode: str, gate: Gate) -> None:
    """Reads too: what they show is the workspace of their place in the order. Lists are answered meanwhile."""
    served = Served(gate)
    async with served.client(mode) as client:
        await client.list_tools()
        calls = [sent(client, "program", "1")]
        await gate.is_reached()
        calls += [sent(client, tool, "2") for tool in ("add", "read", "act", "read")]
        await arrived()

        assert not any(call.done() for call in calls)
        assert len((await client.list_tools()).tools) == 6
        gate.opened.set()

        assert await asyncio.gather(*calls) == ["added", "added", "12", "added", "122"]


@pytest.mark.anyio
async def test_a_program_that_fails_lets_the_next_call_go_on(mode: str, gate: Gate) -> None:
    """Each call is a transaction of its own."""
    async with Served(gate).client(mode) as client:
        await client.list_tools()
        first = sent(client, "program", "fails")
        await gate.is_reached()
        second = sent(client, "read")
        gate.opened.set()

        assert (await first).startswith("Error: ")
        assert await second == "nothing"


@pytest.mark.anyio
async def test_a_call_that_is_cancelled_while_it_waits_never_begins(mode: str, gate: Gate) -> None:
    """Its place is free, and those behind it come one earlier."""
    async with Served(gate).client(mode) as client:
        await client.list_tools()
        first = sent(client, "program", "1")
        await gate.is_reached()
        second, third = sent(client, "add", "2"), sent(client, "add", "3")
        await arrived()
        second.cancel()
        await asyncio.wait([second])
        gate.opened.set()

        assert [await first, await third, await says(client, "read")] == ["added", "added", "13"]


@pytest.mark.anyio
async def test_a_program_that_is_cancelled_lets_the_next_call_go_on(mode: str, gate: Gate) -> None:
    """Also when its handler cannot be interrupted and runs on: it changes nothing any more."""
    served = Served(gate)
    async with served.client(mode) as client:
        await client.list_tools()
        first = sent(client, "program", "1")
        await gate.is_reached()
        second = sent(client, "add", "2")
        await arrived()
        first.cancel()

        assert await second == "added"
        gate.opened.set()
        assert await says(client, "read") == "2"


@pytest.mark.anyio
async def test_neighbouring_reads_run_together(mode: str, gate: Gate) -> None:
    """Each waits for the other: one after the other neither would end."""
    async with Served(gate).client(mode) as client:
        await client.list_tools()
        assert await asyncio.gather(sent(client, "meet"), sent(client, "meet")) == ["nothing", "nothing"]


@pytest.mark.anyio
async def test_another_session_waits_for_no_program(mode: str, gate: Gate) -> None:
    """Its calls were not sent together with those: another agent works there."""
    async with Served(gate).client(mode) as client:
        await client.list_tools()
        first = sent(client, "program", "1")
        await gate.is_reached()

        assert await says(client, "add", "2", session="other") == "added"
        gate.opened.set()
        assert [await first, await says(client, "read")] == ["added", "21"]


@pytest.mark.anyio
async def test_a_session_that_was_never_listed_keeps_the_order_too(mode: str, gate: Gate) -> None:
    """What its tools do is not known before it has been rendered, which its first call does."""
    async with Served(gate).client(mode) as client:
        await client.list_tools()
        calls = [asyncio.create_task(says(client, "program", "1", "new"))]
        await arrived()
        calls += [asyncio.create_task(says(client, tool, "2", "new")) for tool in ("add", "read")]
        await gate.is_reached()
        await arrived()
        gate.opened.set()

        assert await asyncio.gather(*calls) == ["added", "added", "12"]
