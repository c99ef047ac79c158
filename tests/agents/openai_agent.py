"""An agent of OpenAI's Agents SDK: the snippet of a client, the model's URL and a task, in that order."""

from __future__ import annotations

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled


async def main(snippet: str, url: str, task: str) -> None:
    """Work on a task with a server's tools."""
    set_tracing_disabled(True)
    entry = json.loads(snippet)["mcpServers"]["wink"]
    if entry["type"] == "stdio":
        given = {key: entry[key] for key in ("command", "args", "env") if key in entry}
        server = MCPServerStdio(params=given, name="wink", client_session_timeout_seconds=60)
    else:
        server = MCPServerStreamableHttp(
            params={"url": entry["url"], "headers": entry["headers"]}, name="wink", client_session_timeout_seconds=60
        )
    async with server:
        # The SDK does not pass a server's instructions on; wink has the same text as a prompt.
        prompt = await server.get_prompt("instructions")
        instructions = "\n\n".join(message.content.text for message in prompt.messages)
        model = OpenAIResponsesModel("scripted", AsyncOpenAI(base_url=f"{url}/v1", api_key="scripted"))
        agent = Agent(name="coder", instructions=instructions, mcp_servers=[server], model=model)
        print((await Runner.run(agent, task)).final_output)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
