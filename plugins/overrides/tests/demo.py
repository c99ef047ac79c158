"""A template with everything that can be overridden, and some that cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wink.prompt import MarkdownSection, PromptTemplate, Section, ToolsSection
from wink.tools import Tool, ToolContext, ToolExample, ToolResult


@dataclass(frozen=True)
class Task:
    issue: str = "the crash"

    @property
    def loud(self) -> str:
        return self.issue.upper()


@dataclass(frozen=True)
class Query:
    text: str = field(metadata={"description": "What to look for.", "min_length": 1})
    limit: int = field(default=5, metadata={"alias": "max"})


@dataclass(frozen=True)
class Hit:
    line: int

    def render(self) -> str:
        return f"line {self.line}"


def look(params: Query, *, context: ToolContext) -> ToolResult[list[Hit]]:
    return ToolResult.ok([Hit(len(params.text))])


FIRST = ToolExample(description="a word", input=Query("word"), output=[Hit(1)])
SECOND = ToolExample(description="two words", input=Query("two words", 1), output=[Hit(2), Hit(3)])


def search(description: str = "Search the notes.", **changes: Any) -> Tool[Query, list[Hit]]:
    return Tool[Query, list[Hit]](**{"name": "search", "description": description, "handler": look, **changes})


def template(
    task: str = "Fix $issue.",
    *,
    tool: Tool[Any, Any] | None = None,
    summary: str | None = None,
    accepts: bool = True,
    key: str = "fix",
    extra: tuple[Section[Any], ...] = (),
) -> PromptTemplate[Any]:
    """`task` with a child `rules`, `tools` with one tool, `closed`, which accepts nothing, and a section without text."""
    rules = MarkdownSection[Task](title="Rules", template="Be careful.", accepts_overrides=accepts)
    return PromptTemplate(
        ns="demo/notes",
        key=key,
        sections=[
            MarkdownSection[Task](title="Task", template=task, children=[rules], summary=summary),
            ToolsSection("Tools", [tool or search(examples=[FIRST, SECOND])]),
            MarkdownSection(
                "Closed",
                "As it is.",
                accepts_overrides=False,
                tools=[Tool[None, None]("inside", "Stay.")],
                children=[
                    MarkdownSection(
                        "Open", "Below.", tools=[Tool[None, None]("shut", "Stay.", accepts_overrides=False)]
                    )
                ],
            ),
            Section("Group", children=[MarkdownSection("Leaf", "A leaf costs $$2.")]),
            *extra,
        ],
    )


def wide(count: int) -> PromptTemplate[Any]:
    """A template with many sections."""
    return PromptTemplate(ns="demo", key="wide", sections=[MarkdownSection(f"S{i}", "As it is.") for i in range(count)])
