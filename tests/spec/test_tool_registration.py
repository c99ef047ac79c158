"""The example of "Tool Registration Specification", the first of the documents."""

from wink.prompt import PromptTemplate, ToolContext


def test_sections_with_text_and_tools() -> None:
    """Under "Example". Later documents changed four things: the prompt has a template, handlers take `context`, `payload` is `value`, and a rendering has a text."""
    from dataclasses import dataclass, field

    from wink.prompts import Prompt, TextSection, Tool, ToolResult, ToolsSection

    @dataclass
    class LookupParams:
        entity_id: str = field(metadata={"description": "Global identifier to fetch"})
        include_related: bool = field(default=False)

    @dataclass
    class LookupResult:
        entity_id: str
        document_url: str

    @dataclass
    class GuidanceParams:
        primary_tool: str

    def lookup_handler(params: LookupParams, *, context: ToolContext) -> ToolResult[LookupResult]:
        result = LookupResult(entity_id=params.entity_id, document_url="https://example.com")
        message = f"Fetched entity {result.entity_id}."
        return ToolResult(message=message, value=result)

    lookup_tool = Tool[LookupParams, LookupResult](
        name="lookup_entity",
        description="Fetch structured information for a given entity id.",
        handler=lookup_handler,
    )

    tooling_overview = Prompt(
        PromptTemplate(
            ns="examples",
            key="tools_overview",
            name="tools_overview",
            sections=[
                TextSection(
                    title="Guidance",
                    body="""
                    Use tools when you need up-to-date context. Prefer ${primary_tool} for critical lookups.
                    """,
                    params=GuidanceParams,
                    children=[
                        ToolsSection(
                            title="Available Tools",
                            tools=[lookup_tool],
                            params=GuidanceParams,
                            description="""
                            Invoke ${primary_tool} whenever you need fresh entity context.
                            """,
                        )
                    ],
                )
            ],
        )
    )

    markdown = tooling_overview.render(GuidanceParams(primary_tool="lookup_entity"))
    tools = tooling_overview.tools()
    assert tools[0].name == "lookup_entity"

    assert str(markdown) == (
        "## 1. Guidance\n\n"
        "Use tools when you need up-to-date context. Prefer lookup_entity for critical lookups.\n\n"
        "### 1.1. Available Tools\n\n"
        "Invoke lookup_entity whenever you need fresh entity context."
    )
    # Later it became an attribute of what handlers return, under its older name, too.
    assert lookup_handler(LookupParams("e1"), context=None).payload == LookupResult("e1", "https://example.com")  # type: ignore[arg-type]
