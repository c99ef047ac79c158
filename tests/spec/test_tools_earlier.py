"""The examples of "Tool Runtime Specification" in its earlier form."""

from dataclasses import dataclass
from typing import Any, TypeVar

from wink.prompt import Tool
from wink.tools import render_value

ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")


def test_the_protocol_of_results() -> None:
    """Under "Result Rendering Protocol"; ours is the same, and can be asked about with `isinstance`."""
    from typing import Protocol

    class ToolRenderableResult(Protocol):
        def render(self) -> str: ...

    from wink.prompt import ToolRenderableResult as Ours

    class Table:
        def render(self) -> str:
            return "a | b"

    table: ToolRenderableResult = Table()
    ours: Ours = table
    assert isinstance(ours, Ours)
    assert render_value(ours) == "a | b"


@dataclass(frozen=True)
class Question:
    """What a tool is asked."""

    text: str


@dataclass(frozen=True)
class Reply:
    """What it answers."""

    text: str


def test_the_canonical_signature() -> None:
    """Under "Tool": `ToolHandler` is the protocol of exactly this function."""
    from wink.prompt import ToolContext, ToolHandler, ToolResult

    def handle_tool(params: ParamsT, *, context: ToolContext) -> ToolResult[ResultT]: ...  # type: ignore[empty-body]

    handler: ToolHandler[Question, Reply] = handle_tool
    assert Tool[Question, Reply]("handle", "Handle it.", handler).handler is handle_tool


def test_a_prompt_with_a_tool() -> None:
    """Under "Example". `Prompt(ns, key, ...)` has become `Prompt(PromptTemplate(ns, key, ...))` in later documents."""
    from dataclasses import dataclass, field

    from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult

    @dataclass
    class LookupParams:
        entity_id: str = field(metadata={"description": "Global identifier to fetch"})
        include_related: bool = field(default=False)

    @dataclass
    class LookupResult:
        entity_id: str
        document_url: str

    def lookup_handler(
        params: LookupParams, *, context: ToolContext
    ) -> ToolResult[LookupResult]:  # fmt: skip
        result = LookupResult(entity_id=params.entity_id, document_url="https://example.com")
        message = f"Fetched entity {result.entity_id}."
        return ToolResult(message=message, value=result)

    lookup_tool = Tool[LookupParams, LookupResult](
        name="lookup_entity",
        description="Fetch structured information for a given entity id.",
        handler=lookup_handler,
    )

    prompt = Prompt(
        PromptTemplate(
            ns="examples/tooling",
            key="tools_overview",
            name="tools_overview",
            sections=[
                MarkdownSection(
                    title="Guidance",
                    template="Use tools when you need up-to-date context.",
                    tools=[lookup_tool],
                )
            ],
        )
    )

    rendered = prompt.render()
    markdown = rendered.text
    tools = rendered.tools
    assert tools[0].name == "lookup_entity"

    assert markdown == "## 1. Guidance\n\nUse tools when you need up-to-date context."
    assert tools == (lookup_tool,)
    properties: dict[str, Any] = lookup_tool.schema()["properties"]
    assert properties["entity_id"]["description"] == "Global identifier to fetch"
