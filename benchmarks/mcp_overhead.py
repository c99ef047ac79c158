"""What a call through wink's MCP server costs beside one through a bare server of the SDK, in memory and in one run.

    python -m benchmarks.mcp_overhead [--calls 300] [--rounds 15]

The tool is the same in all three: it takes one text and gives it back. `bare` is the SDK's `MCPServer` with a decorated
function, what most people write; `bare, low level` is the SDK's `Server` with a handler that checks nothing. wink's call
is a transaction over session state, in a session that is kept in memory. `legacy` is the protocol with a handshake, over
a stream of messages; `2026-07-28` the one without, where the client hands its request to the server directly. Rounds take
turns, and each figure is the median of the rounds' means, in microseconds of processor time, which a
busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink_mcp import Serving

MODES = ("legacy", "2026-07-28")
AIM = 1.3


@dataclass(frozen=True)
class Echo:
    """What the tool takes."""

    text: str


def of_wink(effects: Any) -> Server[Any]:
    """wink's server with the tool."""

    def echo(params: Echo, *, context: ToolContext) -> ToolResult[None]:
        return ToolResult(params.text)

    tool = Tool[Echo, None]("echo", "Give the text back.", echo, effects=effects)
    prompt = Prompt(PromptTemplate(ns="bench", key="echo", sections=[ToolsSection("Echo", [tool])]))
    session = Session()
    return Serving(prompt, lambda _: session).server()


def of_the_sdk() -> MCPServer:
    """The SDK's usual server with the tool."""
    server = MCPServer("bare")

    @server.tool(structured_output=False)
    async def echo(text: str) -> str:
        """Give the text back."""
        return text

    return server


def of_the_sdk_low_level() -> Server[Any]:
    """The SDK's server on which the usual one is built."""

    async def call(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text=(params.arguments or {})["text"])])

    async def tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])

    return Server("bare", on_call_tool=call, on_list_tools=tools)


async def measure(mode: str, calls: int, rounds: int) -> dict[str, float]:
    """Microseconds per call for each server."""
    servers: dict[str, Any] = {
        "bare, low level": of_the_sdk_low_level(),
        "bare": of_the_sdk(),
        "wink, reading": of_wink("read"),
        "wink": of_wink("workspace"),
    }
    times: dict[str, list[float]] = {name: [] for name in servers}
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(Client(server, mode=mode)) for name, server in servers.items()}
        for client in clients.values():
            await client.list_tools()
        for number in range(rounds + 1):
            for name, client in clients.items():
                began = time.process_time()
                for _ in range(calls):
                    result = await client.call_tool("echo", {"text": "hello"})
                took = (time.process_time() - began) / calls
                block = result.content[0]
                assert isinstance(block, types.TextContent)
                assert block.text == "hello"
                if number:  # the first round warms up
                    times[name].append(took * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    for mode in MODES:
        medians = asyncio.run(measure(mode, given.calls, given.rounds))
        print(f"{mode}, µs per call")
        for name, took in medians.items():
            print(f"  {name:<16} {took:8.1f}   {took / medians['bare']:.2f} times bare")
    print(f"aim: wink within {AIM} times bare")


if __name__ == "__main__":
    main()
