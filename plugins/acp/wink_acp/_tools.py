"""The tools that stand behind what an agent delegates: rules, the record and undo know them by the names of wink's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from wink.dataclass import dataclass, field
from wink.errors import HandleRevoked, NotText, ToolValidationError, WinkError
from wink.prompt import MarkdownSection
from wink.session import replace_latest
from wink.tools import Tool, ToolContext, ToolResult
from wink_acp._terminal import Terminal
from wink_shell import CommandResult, Shell

_FIRST: Final = 1


@dataclass(frozen=True, slots=True)
class ReadFileParams:
    """Which lines of which file an agent asks for; lines count from 1."""

    file_path: str
    line: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class WriteFileParams:
    """A file's whole new content."""

    file_path: str
    content: str


@dataclass(frozen=True, slots=True)
class RunCommandParams:
    """A command as a shell would take it, where it runs, and what its environment has besides."""

    command: str
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])


class Reading:
    """A read: whom to `ask` for the text of an unsaved buffer, and the text."""

    def __init__(self, ask: Callable[[], str | None]) -> None:
        self.ask = ask
        self.text = ""
        self.is_missing = False


class Tools:
    """The handlers. What a call needs beside its arguments lies in `waiting`, by its id, and so does what comes of it."""

    def __init__(self, shell: Shell | None) -> None:
        self.waiting: dict[str, Any] = {}
        self._shell = shell

    def read_file(self, params: ReadFileParams, *, context: ToolContext) -> ToolResult[None]:
        """Give a file's text: what the editor has in its buffer, otherwise what is on the disk."""
        reading: Reading = self.waiting[context.call_id]
        files, path = context.filesystem, params.file_path
        try:
            files.resolve(path)  # the editor follows links wherever they lead
            found = reading.ask()
            if found is None:
                first = max((_FIRST if params.line is None else params.line) - _FIRST, 0)
                found = files.read(path, first, params.limit).content
        except FileNotFoundError:
            reading.is_missing = True
            return ToolResult[Any].error(f"{path} does not exist")
        except HandleRevoked:
            raise
        except (OSError, NotText, WinkError) as error:
            return ToolResult[Any].error(_told(path, error))
        reading.text = found
        return ToolResult("Read.")

    def write_file(self, params: WriteFileParams, *, context: ToolContext) -> ToolResult[None]:
        """Create a file, or replace its whole content."""
        try:
            written = context.filesystem.write(params.file_path, params.content)
        except HandleRevoked:
            raise
        except (OSError, UnicodeEncodeError, WinkError) as error:
            return ToolResult[Any].error(_told(params.file_path, error))
        return ToolResult(f"{'Created' if written.created else 'Overwrote'} {written.path}.")

    def run_command(self, params: RunCommandParams, *, context: ToolContext) -> ToolResult[CommandResult]:
        """Run a terminal's command; what it changes is kept if it ends well."""
        terminal: Terminal = self.waiting[context.call_id]
        assert self._shell is not None, "the tool is there only with one"
        terminal.begin()
        try:
            result = self._shell.run(
                terminal.argv, context=context, cwd=params.cwd, env=params.env, on_output=terminal.take
            )
        except ToolValidationError as error:
            terminal.note(str(error))
            raise
        terminal.ended(result)
        return result


class Delegated(MarkdownSection[Any]):
    """The section that has them."""

    def __init__(self, tools: Tools, *, has_terminals: bool) -> None:
        found: list[Tool[Any, Any]] = [
            Tool[ReadFileParams, None]("read_file", "Read a text file.", tools.read_file, effects="read"),
            Tool[WriteFileParams, None]("write_file", "Write a text file.", tools.write_file),
        ]
        if has_terminals:
            run = Tool[RunCommandParams, CommandResult](
                "run_command", "Run a command.", tools.run_command, effects="process"
            )
            found.append(run)
        super().__init__("Delegated", "What an agent delegates to its editor.", "delegated", tools=found)

    def install(self, session: Any) -> None:
        """Let the session keep the latest result alone."""
        session[CommandResult].register(CommandResult, replace_latest)


def _told(path: str, error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, WinkError):
        return f"{path}: {error.strerror or error}"
    return f"{path} cannot be written as UTF-8" if isinstance(error, UnicodeEncodeError) else str(error)
