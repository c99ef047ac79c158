"""Rename a word in several Python files, or in none."""

from __future__ import annotations

import ast
import re

from wink.dataclass import dataclass, field
from wink.errors import ToolValidationError
from wink.prompt import MarkdownSection
from wink.tools import Tool, ToolContext, ToolResult


@dataclass(frozen=True, slots=True)
class RenameWord:
    """Which word becomes which, and where."""

    old: str = field(metadata={"description": "The name as it is now", "min_length": 1})
    new: str = field(metadata={"description": "The name that it gets", "min_length": 1})
    files: tuple[str, ...] = field(metadata={"description": "The Python files to change, in order"})


@dataclass(frozen=True, slots=True)
class Renamed:
    """How often the word was found in each file."""

    counts: dict[str, int]

    def render(self) -> str:
        """One line a file."""
        return "\n".join(f"{path}: {count} replaced" for path, count in self.counts.items())


def rename_word(params: RenameWord, *, context: ToolContext) -> ToolResult[Renamed]:
    """Change file after file, and fail on the first that is no longer Python.

    The files before it have been written by then. Taking them back is not this tool's business: the call is a
    transaction.
    """
    counts: dict[str, int] = {}
    for path in params.files:
        text = context.filesystem.read(path, limit=None).content
        changed, counts[path] = re.subn(rf"\b{re.escape(params.old)}\b", lambda _: params.new, text)
        context.filesystem.write(path, changed)
        try:
            ast.parse(changed)
        except SyntaxError as error:
            raise ToolValidationError(
                f"with {params.new!r} in it, {path} is no longer Python (line {error.lineno}: {error.msg})"
            ) from error
    return ToolResult[Renamed].ok(Renamed(counts), message=f"renamed {params.old} to {params.new}")


class RefactorSection(MarkdownSection[None]):
    """Guidance for, and the tool of, changes over several files."""

    def __init__(self) -> None:
        super().__init__(
            title="Refactoring",
            key="refactor",
            template="To give a name to something in several files at once, call rename_word with all of them.",
            tools=[
                Tool[RenameWord, Renamed](
                    name="rename_word",
                    description="Rename a word in several Python files; all of them change, or none.",
                    handler=rename_word,
                )
            ],
        )


def refactor_section() -> RefactorSection:
    """Let the agent rename things across files."""
    return RefactorSection()
