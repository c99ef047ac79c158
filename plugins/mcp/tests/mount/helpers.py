"""Servers to mount, and somebody who works with one, through the whole pipeline."""

from __future__ import annotations

import os
import sys
from typing import Any

from wink.prompt import Prompt, PromptTemplate, RenderedPrompt
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked, ToolReply
from wink.session import Session
from wink_mcp import McpSection

SERVERS = os.path.join(os.path.dirname(__file__), "servers")
NOTES = [sys.executable, os.path.join(SERVERS, "notes.py")]
ODD = [sys.executable, "-I", os.path.join(SERVERS, "odd.py")]


class Agent:
    """Somebody who works with a mounted server."""

    def __init__(self, section: McpSection, **template: Any) -> None:
        self.section = section
        self.prompt = Prompt(PromptTemplate(ns="test", key="mount", sections=[section], **template))
        self.session = Session()
        self.events: list[ToolInvoked] = []
        self.session.dispatcher.subscribe(ToolInvoked, self.events.append)
        self.rendered = self.render()

    def render(self) -> RenderedPrompt[Any]:
        self.rendered = self.prompt.render(session=self.session)
        return self.rendered

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.rendered.tools]

    @property
    def executor(self) -> ToolExecutor:
        return ToolExecutor(prompt=self.prompt, rendered=self.rendered, session=self.session)

    def call(self, tool: str, /, **arguments: Any) -> ToolReply:
        return self.executor.execute(ToolCall(tool, arguments))

    def says(self, tool: str, /, **arguments: Any) -> str:
        reply = self.call(tool, **arguments)
        assert reply.success, reply.text
        return reply.text

    def fails(self, tool: str, /, **arguments: Any) -> str:
        reply = self.call(tool, **arguments)
        assert not reply.success
        return reply.text


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be seen off does not."""
    try:
        with open(f"/proc/{pid}/stat") as opened:
            return opened.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
