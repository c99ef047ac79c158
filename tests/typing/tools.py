"""What type checkers see of tools; checked by pyright and never run."""

from dataclasses import dataclass
from typing import Any, assert_type

from wink.serde import parse
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolExample, ToolHandler, ToolRenderableResult, ToolResult


@dataclass(frozen=True)
class Query:
    text: str


@dataclass(frozen=True)
class Hit:
    line: int

    def render(self) -> str:
        return str(self.line)


def search(params: Query, *, context: ToolContext) -> ToolResult[Hit]:
    assert_type(context.session, Session)
    if not params.text:
        return ToolResult.error("nothing to look for")
    return ToolResult.ok(Hit(1))


async def search_later(query: Query, *, context: ToolContext) -> ToolResult[Hit]:
    return ToolResult.ok(Hit(1), "found")


def takes_hit(params: Hit, *, context: ToolContext) -> ToolResult[Hit]:
    return ToolResult.ok(params)


sync_handler: ToolHandler[Query, Hit] = search
async_handler: ToolHandler[Query, Hit] = search_later
renderable: ToolRenderableResult = Hit(1)

tool = Tool[Query, Hit]("search", "Search.", search)
assert_type(tool, Tool[Query, Hit])
assert_type(Tool("search", "Search.", search), Tool[Query, Hit])
assert_type(tool.parse("{}"), Query | None)
assert_type(tool.schema(), dict[str, Any])
assert_type(tool.replace(name="find"), Tool[Query, Hit])
assert_type(ToolResult.ok(Hit(1)), ToolResult[Hit])
assert_type(parse(Query, "{}"), Query)
assert_type(parse(list[Query], "[]"), list[Query])
Tool[Query, list[Hit]]("list", "List.", examples=[ToolExample("all", Query("x"), [Hit(1)])])
Tool[None, None]("none", "Nothing.")

Tool[Query, Hit]("search", "Search.", takes_hit)  # pyright: ignore[reportArgumentType]
Tool[Query, Hit]("search", "Search.", examples=[ToolExample("all", Query("x"), 5)])  # pyright: ignore[reportArgumentType]
Tool[Query, Hit]("search", "Search.", effects="write")  # pyright: ignore[reportArgumentType]
