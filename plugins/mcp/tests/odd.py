"""A section of tools that misbehave, for `wink serve` to live with."""

import asyncio
import os
import sys
import threading
import time
from dataclasses import dataclass

from wink.policies import PolicyDecision
from wink.prompt import MarkdownSection, SectionVisibility, ToolsSection
from wink.tools import Audio, EmbeddedResource, Image, Tool, ToolContext, ToolResult


@dataclass(frozen=True)
class Text:
    text: str = ""


@dataclass(frozen=True)
class Number:
    number: int


@dataclass(frozen=True)
class Shown:
    text: str

    def render(self) -> str:
        return f"<{self.text}>"


@dataclass(frozen=True)
class Wait:
    path: str = "waited.txt"
    until: str = ""


def echo(params: Text, *, context: ToolContext) -> ToolResult[Text]:
    """Give the text back."""
    return ToolResult.ok(params, "Here it is.")


def show(params: Text, *, context: ToolContext) -> ToolResult[Shown]:
    """Give the text back in words."""
    return ToolResult.ok(Shown(params.text), "")


def hide(params: Text, *, context: ToolContext) -> ToolResult[Text]:
    """Keep the text to yourself."""
    return ToolResult("kept", params, exclude_value_from_context=True)


def leave(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Try to end the server."""
    context.filesystem.write("left.txt", "x")
    raise {"SystemExit": SystemExit, "KeyboardInterrupt": KeyboardInterrupt, "Cancelled": asyncio.CancelledError}[
        params.text
    ](3)


async def leave_async(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Try to end the server from a coroutine."""
    return leave(params, context=context)


def shout(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Print to where the protocol is spoken, and read from it."""
    print('{"jsonrpc":"2.0","id":1,"result":"printed"}')
    sys.stdout.flush()
    os.write(1, b'{"jsonrpc":"2.0","id":1,"result":"written"}\n')
    os.system("echo '{\"shell\":1}'")
    return ToolResult.ok(None, f"read {sys.stdin.read()!r}")


def unstorable(params: Text, *, context: ToolContext) -> ToolResult[Text]:
    """Return what JSON does not have."""
    return ToolResult.ok(Text(object()), "odd")


def surrogate(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Say half of a character."""
    return ToolResult.ok(None, "half \ud800 of it")


def fail(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Write, and fail."""
    context.filesystem.write("failed.txt", "x")
    return ToolResult.error(params.text or "no such thing")


def append(params: Number, *, context: ToolContext) -> ToolResult[None]:
    """Add a number to a file, in a way that loses some if two do it at once."""
    files = context.filesystem
    before = files.read("numbers.txt").content if files.exists("numbers.txt") else ""
    time.sleep(0.001)
    files.write("numbers.txt", before + f"{params.number}\n")
    return ToolResult.ok(None, "added")


def wait(params: Wait, *, context: ToolContext) -> ToolResult[None]:
    """Write a file, then wait for another one to appear beside the workspace, then write again."""
    context.filesystem.write(params.path, "half")
    _signal(params.until + ".began")
    while not os.path.exists(params.until):
        time.sleep(0.005)
    try:
        context.filesystem.write(params.path, "whole")
    finally:
        _signal(params.until + ".ended")
    return ToolResult.ok(None, "waited")


async def wait_async(params: Wait, *, context: ToolContext) -> ToolResult[None]:
    """Write a file, and wait in a coroutine for another one."""
    context.filesystem.write(params.path, "half")
    _signal(params.until + ".began")
    try:
        while not os.path.exists(params.until):
            await asyncio.sleep(0.005)
    finally:
        _signal(params.until + ".ended")
    return ToolResult.ok(None, "waited")


def hang(params: Wait, *, context: ToolContext) -> ToolResult[None]:
    """Write a file and never come back."""
    context.filesystem.write(params.path, "half")
    _signal(params.until + ".began")
    threading.Event().wait()
    return ToolResult.ok(None, "")


async def hang_async(params: Wait, *, context: ToolContext) -> ToolResult[None]:
    """Never come back, and refuse to be cancelled."""
    context.filesystem.write(params.path, "half")
    _signal(params.until + ".began")
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            time.sleep(3600)


def beat(params: Number, *, context: ToolContext) -> ToolResult[None]:
    """Beat some times, on another thread too, and once more when it is over."""
    for _ in range(params.number):
        context.beat()
    late = threading.Timer(0.05, context.beat)
    late.daemon = True
    late.start()
    return ToolResult.ok(None, "beaten")


def picture(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Show a picture."""
    return ToolResult("a picture", None, attachments=(Image(b"GIF89a" + bytes(20)),))


def bundle(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Attach one of everything; `fail` fails."""
    attached = (
        EmbeddedResource("memo://1", "the memo", "text/plain"),
        Image(b"GIF89a" + bytes(20)),
        Audio(b"RIFF....WAVE"),
        EmbeddedResource("memo://2", b"PK"),
    )
    return ToolResult(params.text, None, success=params.text != "fail", attachments=attached)


def much(params: Number, *, context: ToolContext) -> ToolResult[None]:
    """Say a lot."""
    return ToolResult.ok(None, "".join(f"line {n}\n" for n in range(params.number)))


def peek(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Say what is in a file."""
    files = context.filesystem
    return ToolResult.ok(None, files.read(params.text).content if files.exists(params.text) else "there is none")


def act(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Do something outside."""
    return ToolResult.ok(None, "done")


def _signal(path: str) -> None:
    with open(path, "w"):
        pass


HANDLERS = (echo, show, hide, leave, leave_async, shout, unstorable, surrogate, fail, append, wait, wait_async, hang)
MORE = (hang_async, beat, much, picture, bundle)


def section() -> ToolsSection:
    tools = [Tool.wrap(handler) for handler in (*HANDLERS, *MORE)]
    tools.append(Tool.wrap(peek, effects="read"))
    tools.append(Tool.wrap(act, effects="external"))
    return ToolsSection("Odd tools", tools=tools)


def folded() -> MarkdownSection:
    tools = [Tool.wrap(act, effects="read").replace(name="act_when_open")]
    return MarkdownSection(
        title="Folded",
        key="folded",
        template="All of it.",
        summary="Some of it.",
        visibility=SectionVisibility.SUMMARY,
        tools=tools,
    )


def long() -> ToolsSection:
    name = "a_name_that_is_longer_than_clients_with_prefixes_like"
    return ToolsSection("Long names", tools=[Tool.wrap(act, effects="external").replace(name=name)])


def dying() -> ToolsSection:
    tools = [Tool.wrap(act, effects="read").replace(name="act_or_die")]
    return ToolsSection("Dying", tools=tools, enabled=is_alive)


def is_alive() -> bool:
    if os.path.exists(os.environ["ODD_FLAG"]):
        raise SystemExit(5)
    return True


class Asks:
    """Leaves every call of some tools to a person."""

    name = "asks"

    def check(self, tool, params, *, context):
        if tool.name == "show":
            raise SystemExit(6)
        return PolicyDecision.ask("somebody has to agree") if tool.name in ("echo", "fail") else PolicyDecision.allow()

    def on_result(self, tool, params, result, *, context):
        pass


def asks() -> Asks:
    return Asks()
