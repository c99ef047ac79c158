"""A server of the usual kind, over stdio, or over HTTP at the port that is given."""

import os
import sys
import time

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

server = MCPServer(
    "notes", title="Notes", version="1.5", instructions="Add before you list.\n\n# Not a heading\nNotes are text."
)
notes: list[str] = []


class Count(BaseModel):
    """How many."""

    count: int
    longest: str = ""


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_notes() -> str:
    """List the notes."""
    return "\n".join(notes) or "(none)"


@server.tool()
def add(text: str, times: int = 1) -> str:
    """Add a note."""
    notes.extend([text] * times)
    return f"added {text}"


@server.tool()
def count() -> Count:
    """Count the notes."""
    return Count(count=len(notes), longest=max(notes, key=len, default=""))


@server.tool()
def fail(reason: str) -> str:
    """Fail, as tools do."""
    raise ValueError(reason)


@server.tool(structured_output=False)
def show() -> list[object]:
    """Show what is more than text."""
    return [TextContent(type="text", text="a picture:"), ImageContent(type="image", data="AAAA", mime_type="image/png")]


@server.tool(structured_output=False)
def draw() -> list[object]:
    """Draw something that is an image."""
    return [ImageContent(type="image", data="R0lGODlhAAAA", mime_type="image/gif")]


@server.tool(structured_output=False)
def bundle(order: str) -> list[object]:
    """Give one of everything, in the order of the letters."""
    memo = TextResourceContents(uri="memo://1", mime_type="text/plain", text="the memo")
    blocks = {
        "t": TextContent(text="some words"),
        "i": ImageContent(data="R0lGODlhAAAA", mime_type="image/gif"),
        "a": AudioContent(data="AAAA", mime_type="audio/wav"),
        "r": EmbeddedResource(resource=memo),
        "b": EmbeddedResource(resource=BlobResourceContents(uri="memo://2", blob="AAAA")),
        "x": EmbeddedResource(resource=BlobResourceContents(uri="no uri", blob="AAAA")),
    }
    return [blocks[letter] for letter in order]


@server.tool()
def environment() -> dict[str, str]:
    """Give all variables."""
    return dict(os.environ)


@server.tool()
def where() -> str:
    """Say which process in which directory this is."""
    return f"{os.getpid()} {os.getcwd()}"


@server.tool()
async def wait(seconds: float, path: str, ctx: Context) -> str:
    """Wait, beating, and leave in a file how it ended."""
    try:
        with open(path, "w") as opened:
            opened.write("begun")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await ctx.report_progress(1)
            await anyio.sleep(0.02)
    except BaseException:
        with open(path, "w") as opened:
            opened.write("cancelled")
        raise
    with open(path, "w") as opened:
        opened.write("done")
    return "waited"


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the client for things that it does not have."""
    answers: list[str] = []
    for asking in (lambda: ctx.elicit("Your name?", Count), lambda: ctx.session.list_roots()):
        try:
            answers.append(type(await asking()).__name__)
        except Exception as error:
            answers.append(str(error))
    return "; ".join(answers)


@server.tool()
async def forget(name: str, ctx: Context) -> str:
    """Take a tool away, and say so."""
    server.remove_tool(name)
    await ctx.session.send_tool_list_changed()
    return "gone"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
