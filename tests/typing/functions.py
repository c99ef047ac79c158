"""What type checkers see of functions as tools; checked by pyright and mypy, both strict, and never run."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, assert_type

from wink import Tool, ToolContext, ToolResult, tool


@dataclass(frozen=True)
class Hit:
    line: int


@tool
def count(path: str, most: int = 0) -> int:
    """Count."""
    return len(path) + most


@tool(effects="read", timeout=2)
async def later(path: str) -> list[str]:
    """Wait."""
    return [path]


@tool
def found(path: str, context: ToolContext) -> ToolResult[Hit]:
    """Find."""
    return ToolResult.ok(Hit(len(context.call_id)), path)


@tool
def walked(paths: list[str]) -> Generator[str, None, Hit]:
    """Walk."""
    yield from paths
    return Hit(len(paths))


class Notes:
    @tool
    def add(self, text: str) -> None:
        """Add."""


assert_type(count("a"), int)
assert_type(count.replace(name="other")("a", most=1), int)
assert_type(walked.result_type, type[Any] | None)
as_tool: Tool[Any, int] = count
as_found: Tool[Any, Hit] = found
as_walked: Tool[Any, Hit] = walked
as_later: Tool[Any, list[str]] = later
Notes().add("a")
as_method: Tool[Any, None] = Notes().add
count(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
tool(effects="write")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
as_wrong: Tool[Any, str] = count  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
