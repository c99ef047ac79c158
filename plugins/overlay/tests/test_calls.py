"""Tools work on an overlay as on any other files: their calls happen as a whole or not at all, and policies judge content."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from wink.filesystem import Filesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink_files import files_section
from wink_overlay import OverlayFilesystem
from wink_read_before_write import ReadBeforeWritePolicy

MakeLower = Callable[[dict[str, bytes]], tuple[Any, str]]


def half_done(params: None, *, context: ToolContext) -> ToolResult[None]:
    """Change much, and fail."""
    files = context.filesystem
    files.move("src", "lib")
    files.write("lib/app.py", "half\n")
    files.delete("README.md")
    files.write("README.md/as_directory.md", "")
    raise RuntimeError("in the middle")


async def awaited(params: None, *, context: ToolContext) -> ToolResult[None]:
    """Change something on an event loop."""
    await asyncio.sleep(0)
    context.filesystem.append("src/app.py", "# awaited\n")
    return ToolResult.ok(None)


def executor(files: OverlayFilesystem, session: Session) -> ToolExecutor:
    """The file tools with their policy, and the tools above."""
    tools = [
        Tool[None, None](name=tool.__name__, description=tool.__name__, handler=tool) for tool in (half_done, awaited)
    ]
    own = MarkdownSection(title="Own", key="own", template="", tools=tools)
    template = PromptTemplate(ns="t", key="t", sections=[files_section(), own], policies=[ReadBeforeWritePolicy()])
    prompt = Prompt(template).bind(resources={Filesystem: files})
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)


def test_calls_on_an_overlay(make_lower: MakeLower) -> None:
    """Read before write, failure and success, on every kind of lower layer."""
    lower, path = make_lower({"README.md": b"# One\n", "src/app.py": b"one\n", "src/util.py": b"util\n"})
    files, session = OverlayFilesystem(lower, path), Session()
    run = executor(files, session)

    refused = run.execute(ToolCall("write_file", {"file_path": "README.md", "content": "# Two\n"}))
    assert not refused.success
    assert "read" in refused.text
    assert not run.execute(ToolCall("half_done", {})).success
    assert files.diff() == ()
    told = session[ToolInvoked].latest()
    assert told is not None
    assert {change.path for change in told.change.files} >= {"src", "lib/app.py", "README.md"}

    assert run.execute(ToolCall("read_file", {"file_path": "README.md"})).success
    assert run.execute(ToolCall("write_file", {"file_path": "README.md", "content": "# Two\n"})).success
    assert asyncio.run(run.aexecute(ToolCall("awaited", {}))).success
    assert [change.path for change in files.diff()] == ["README.md", "src/app.py"]
    assert OverlayFilesystem(lower, path).read("README.md").content == "# One\n"
