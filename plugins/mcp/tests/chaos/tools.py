"""A plugin whose tools change several files, slowly enough to be interrupted in between."""

import asyncio
import time
from dataclasses import dataclass

from wink.filesystem import Filesystem
from wink.prompt import ToolsSection
from wink.tools import Tool, ToolContext, ToolResult


@dataclass(frozen=True)
class Spread:
    """Write a marker into the first `count` files of a group, with a pause after each."""

    marker: str
    count: int = 5
    pause: float = 0.0


@dataclass(frozen=True)
class Bump:
    """Add one to a number that is kept in a file."""

    marker: str
    name: str
    pause: float = 0.0


@dataclass(frozen=True)
class Swap:
    """Let two files of the group change places."""

    marker: str
    first: int
    second: int
    pause: float = 0.0


@dataclass(frozen=True)
class Big:
    """Write so many lines of a marker."""

    marker: str
    name: str
    lines: int


@dataclass(frozen=True)
class Drop:
    """Delete a file that `big` wrote."""

    marker: str
    name: str


def spread(params: Spread, *, context: ToolContext) -> ToolResult[None]:
    """Write the group."""
    for number in range(params.count):
        context.filesystem.write(f"group/{number}", f"{params.marker}\n")
        time.sleep(params.pause)
        context.beat()
    return ToolResult("spread")


async def spread_async(params: Spread, *, context: ToolContext) -> ToolResult[None]:
    """Write the group from a coroutine, which can be cancelled anywhere."""
    for number in range(params.count):
        context.filesystem.write(f"group/{number}", f"{params.marker}\n")
        await asyncio.sleep(params.pause)
    return ToolResult("spread")


def fail_late(params: Spread, *, context: ToolContext) -> ToolResult[None]:
    """Write the group, and fail then."""
    spread(params, context=context)
    raise RuntimeError("after all")


def bump(params: Bump, *, context: ToolContext) -> ToolResult[None]:
    """Count: two that count at once must not count as one."""
    files, path = context.filesystem, f"counts/{params.name}"
    number = int(files.read_bytes(path)) if files.exists(path) else 0
    time.sleep(params.pause)
    files.write(path, str(number + 1))
    return ToolResult("counted")


def swap(params: Swap, *, context: ToolContext) -> ToolResult[None]:
    """Move three times."""
    files = context.filesystem
    first, second = f"group/{params.first}", f"group/{params.second}"
    if first == second or not (files.exists(first) and files.exists(second)):
        return ToolResult.error("there are no two of them")
    _move(files, first, "group/between")
    time.sleep(params.pause)
    _move(files, second, first)
    time.sleep(params.pause)
    _move(files, "group/between", second)
    return ToolResult("swapped")


def big(params: Big, *, context: ToolContext) -> ToolResult[None]:
    """Write much."""
    context.filesystem.write(f"big/{params.name}", f"{params.marker}\n" * params.lines)
    return ToolResult("written")


def drop(params: Drop, *, context: ToolContext) -> ToolResult[None]:
    """Delete."""
    if not context.filesystem.exists(f"big/{params.name}"):
        return ToolResult.error("it is not there")
    context.filesystem.delete(f"big/{params.name}")
    return ToolResult("dropped")


def _move(files: Filesystem, source: str, target: str) -> None:
    files.move(source, target)


def section() -> ToolsSection:
    """All of them."""
    handlers = {"spread": spread, "spread_async": spread_async, "fail_late": fail_late, "bump": bump, "swap": swap}
    handlers |= {"big": big, "drop": drop}
    return ToolsSection("Chaos", [Tool(name, f"Do {name}.", handler) for name, handler in handlers.items()])
