"""A prompt with file tools of every shape, governed by rules, and calls made through the whole pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.policies import PolicyDecision
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink_rules import Rule, RulesPolicy


@dataclass(frozen=True)
class OnePath:
    """A file and its content."""

    path: str
    content: str = ""


@dataclass(frozen=True)
class Move:
    """Both ends of a move."""

    source_path: str
    target_path: str


@dataclass(frozen=True)
class Edit:
    """A part of a larger change."""

    path: str
    text: str = ""


@dataclass(frozen=True)
class Many:
    """Paths in lists, in objects in lists, and in the names of a mapping."""

    paths: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    files: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Command:
    """A line of the shell."""

    command: str
    env: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Options:
    """Values of several types."""

    name: str = ""
    count: int = 0
    force: bool = False


@dataclass(frozen=True)
class Line:
    """A line that was found."""

    path: str
    text: str


@dataclass(frozen=True)
class Lines:
    """All that was found."""

    matches: tuple[Line, ...]

    def render(self) -> str:
        return "\n".join(f"{one.path}: {one.text}" for one in self.matches)


def _done(params: Any, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult[None].ok(None)


def write_file(params: OnePath, *, context: ToolContext) -> ToolResult[None]:
    context.filesystem.write(params.path, params.content)
    return ToolResult[None].ok(None)


def read_file(params: OnePath, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult[None].ok(None, context.filesystem.read(params.path).content)


def move_file(params: Move, *, context: ToolContext) -> ToolResult[None]:
    context.filesystem.move(params.source_path, params.target_path)
    return ToolResult[None].ok(None)


def search(params: OnePath, *, context: ToolContext) -> ToolResult[Lines]:
    found = context.filesystem.grep(params.content, params.path or ".")
    return ToolResult.ok(Lines(tuple(Line(one.path, one.line_content) for one in found)))


def run_script(params: Command, *, context: ToolContext) -> ToolResult[None]:
    """Writes the file that the command names after `write`, as a program could."""
    for path in params.command.removeprefix("write ").split():
        context.filesystem.write(path, "by a program")
    return ToolResult[None].ok(None)


TOOLS: dict[str, Tool[Any, Any]] = {
    tool.name: tool
    for tool in (
        Tool[OnePath, None]("write_file", "Write.", write_file),
        Tool[OnePath, None]("read_file", "Read.", read_file, effects="read"),
        Tool[Move, None]("move_file", "Move.", move_file),
        Tool[Many, None]("edit_all", "Edit.", _done),
        Tool[OnePath, Lines]("search", "Search.", search, effects="read"),
        Tool[Command, None]("run_command", "Run.", _done, effects="process"),
        Tool[Command, None]("run_script", "Run a script.", run_script, effects="workspace"),
        Tool[Options, None]("deploy", "Deploy.", _done, effects="external"),
        Tool[Options, None]("run_tests", "Test.", _done),
        Tool[Options, None]("other", "Another.", _done),
    )
}


class World:
    """Files, a session, and one executor under rules."""

    def __init__(
        self, rules: Iterable[Rule], files: Filesystem | None = None, *, default: Any = "allow", tools: Any = TOOLS
    ) -> None:
        self.policy = RulesPolicy(rules, default=default)
        self.files = InMemoryFilesystem() if files is None else files
        self.session = Session()
        section = MarkdownSection(title="T", key="t", template="x", tools=list(tools.values()))
        template = PromptTemplate(ns="tests", key="rules", sections=[section], policies=[self.policy])
        self.prompt = Prompt(template).bind(resources={Filesystem: self.files})
        self.rendered = self.prompt.render(session=self.session)
        self.executor = ToolExecutor(prompt=self.prompt, rendered=self.rendered, session=self.session)

    def call(self, tool: str, /, **arguments: Any) -> ToolReply:
        return self.executor.execute(ToolCall(tool, arguments))

    def decide(self, tool: str, /, **arguments: Any) -> PolicyDecision:
        """What the policy says, with nothing executed."""
        found = self.rendered.tool(tool)
        assert found is not None
        context = ToolContext(self.prompt, self.rendered, None, self.session)
        return self.policy.check(found, found.parse(arguments), context=context)

    def answer(self, tool: str, /, **arguments: Any) -> str:
        decision = self.decide(tool, **arguments)
        return "allow" if decision.allowed else "ask" if decision.asks else "deny"
