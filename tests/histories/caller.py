"""A process that makes calls on a workspace as an agent's loop does, and that may be killed at any moment."""

from __future__ import annotations

import base64
import json
import logging
import os
import tempfile
import threading
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from wink.filesystem import Filesystem
from wink.plugins import Catalog
from wink.policies import PolicyDecision
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.resources import ResourceRegistry
from wink.runtime import ToolCall, ToolExecutor
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace


@dataclass(frozen=True)
class PutBytes:
    """A file's content in base64, for what is no text."""

    target_file: str
    content: str


@dataclass(frozen=True)
class Spoil:
    """Files to write over, to move and to delete, before it all fails."""

    files: list[str] = field(default_factory=list[str])
    how: str = "raise"


def put_bytes(params: PutBytes, *, context: ToolContext) -> ToolResult[None]:
    """Write a file."""
    context.filesystem.write_bytes(params.target_file, base64.b64decode(params.content))
    return ToolResult.ok(None, "written")


def spoil(params: Spoil, *, context: ToolContext) -> ToolResult[None]:
    """Change much, and fail then."""
    files = context.filesystem
    for number, path in enumerate(params.files):
        match number % 3:
            case 0:
                files.write(path, "spoilt\n")
            case 1:
                files.move(path, f"spoilt/{number}/{path}")
            case _:
                files.delete(path)
    files.mkdir("spoilt/empty")
    if params.how == "raise":
        raise RuntimeError("after all")
    return ToolResult[None].error("it did not work out")


class NothingForbidden:
    """A rule that no path has the word `forbidden` in it."""

    name = "nothing-forbidden"

    def check(self, tool: Tool[Any, Any], params: Any, *, context: ToolContext) -> PolicyDecision:
        """Look at the path."""
        if "forbidden" in str(getattr(params, "file_path", "")):
            return PolicyDecision.deny("it is forbidden; write somewhere else")
        return PolicyDecision.allow()

    def on_result(self, tool: Tool[Any, Any], params: Any, result: ToolResult[Any], *, context: ToolContext) -> None:
        """Remember nothing."""


def serve(root: str, asked: Connection) -> None:
    """Do what is asked for until nobody asks any more: `(name, *arguments)` is answered with what came of it."""
    os.umask(0o022)
    logging.disable()  # tools that raise are what is tried here
    with Workspace.open(root) as workspace:
        asked.send(len(workspace.recovered))
        caller = Caller(workspace)
        while True:
            try:
                name, *arguments = asked.recv()
            except EOFError:
                return
            try:
                answer: object = getattr(caller, name)(*arguments)
            except Exception as error:  # whatever it is, the other side reports it
                answer = error
            asked.send(answer)


def warm_up() -> None:
    """Import and build what first calls need, in a process that is forked afterwards."""
    with tempfile.TemporaryDirectory() as scratch, Workspace.open(scratch) as workspace:
        caller = Caller(workspace)
        path = {"file_path": "a"}
        calls: list[tuple[str, dict[str, object]]] = [
            ("write_file", {**path, "content": "a"}),
            ("write_file", {"none": 0}),
            ("edit_file", {**path, "old_string": "a", "new_string": "b"}),
            ("move_file", {"source_path": "a", "target_path": "b"}),
            ("read_file", {"file_path": "b"}),
            ("rm", {"path": "b"}),
        ]
        caller.turn("warm", [(tool, json.dumps(arguments)) for tool, arguments in calls])
        caller.undo(1)
    assert threading.active_count() == 1, "a fork would lose a thread"


class Caller:
    """The calls of one process."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        tools: list[Tool[Any, Any]] = [Tool.wrap(put_bytes), Tool.wrap(spoil)]
        template = PromptTemplate(
            ns="histories",
            key="replay",
            sections=[
                *Catalog.installed().sections(["files.files", "shell.commands"]),
                ToolsSection("Histories", tools, key="histories"),
            ],
            policies=[NothingForbidden()],
        )
        resources = ResourceRegistry.build({Filesystem: workspace.filesystem})
        self._prompt = Prompt(template).bind(resources=resources)

    def turn(self, session: str, calls: list[tuple[str, str]]) -> list[tuple[bool, str]]:
        """Make the calls of one turn; whether each succeeded, and what it said."""
        state = self._workspace.session(session)
        executor = ToolExecutor(prompt=self._prompt, rendered=self._prompt.render(session=state), session=state)
        replies = executor.execute_batch([ToolCall(tool, arguments) for tool, arguments in calls])
        return [(reply.success, reply.text) for reply in replies]

    def undo(self, count: int) -> int:
        """Take back the last calls; how many they were."""
        return len(self._workspace.undo(n=count).calls)

    def redo(self) -> None:
        """Take back the last undo."""
        self._workspace.redo()

    def checkpoint(self, name: str) -> None:
        """Name what is there."""
        self._workspace.checkpoint(name)

    def restore(self, name: str) -> None:
        """Go back to a checkpoint."""
        self._workspace.restore(name)
