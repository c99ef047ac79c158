"""The work of the fleet's benchmark: a model that writes one file and ends, put together without any command line."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from wink.adapters import ProviderAdapter, ScriptedAdapter
from wink.filesystem import Filesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace
from wink_batch import Assembling


def _note(params: None, *, context: ToolContext) -> ToolResult[None]:
    context.filesystem.write("note.txt", "done\n")
    return ToolResult.ok(None)


TEMPLATE: PromptTemplate[Any] = PromptTemplate(
    ns="benchmark",
    key="note",
    sections=[
        MarkdownSection("Work", "Write it.", tools=[Tool[None, None](name="note", description="Write.", handler=_note)])
    ],
)


def assemble(about: Assembling) -> tuple[Prompt[Any], ProviderAdapter]:
    """The prompt and the model of one task."""
    prompt = Prompt(TEMPLATE).bind(resources={Filesystem: about.workspace.filesystem})
    return prompt, ScriptedAdapter([[ToolCall("note", "{}")], "Done."])


def bare() -> str:
    """The same work as a function: in this process, in a directory of its own, with nothing kept."""
    with tempfile.TemporaryDirectory() as place, Workspace.open(place, state=os.path.join(place, ".wink")) as workspace:
        prompt, adapter = assemble(Assembling(None, {}, workspace))  # type: ignore[arg-type]
        with prompt.resources:
            return adapter.evaluate(prompt, session=workspace.session("default")).text
