"""The section that lets an agent run commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from wink.prompt import MarkdownSection, SectionOptions
from wink.session import replace_latest
from wink.tools import Tool, ToolExample
from wink_shell._config import ShellConfig
from wink_shell._guidance import guidance
from wink_shell._handler import Shell
from wink_shell._params import RunCommandParams
from wink_shell._results import CommandResult, FileNote

if TYPE_CHECKING:
    from wink.session import Session


class ShellSection(MarkdownSection[Any]):
    """The tool `run_command`: programs over the files that the prompt is bound to, which must be on the disk.

    A command sees the workspace at its own path, and changes an overlay of it, in a sandbox without network, with a
    read-only system and an empty home. Exit status 0 merges what it changed, in the call's transaction; any other end
    drops it, and the reply says what was dropped.
    """

    def __init__(
        self,
        session: Session | None = None,
        config: ShellConfig | None = None,
        *,
        accepts_overrides: bool = True,
        title: str = "Commands",
        key: str | None = None,
        **options: Unpack[SectionOptions],
    ) -> None:
        self.config = config or ShellConfig()
        super().__init__(
            title,
            guidance(self.config).replace("$", "$$"),
            key,
            tools=[_tool(Shell(self.config), accepts_overrides)],
            accepts_overrides=accepts_overrides,
            **options,
        )
        if session is not None:
            self.install_once(session)

    def install(self, session: Session) -> None:
        """Let the session keep the latest result: their texts would add up call by call."""
        session[CommandResult].register(CommandResult, replace_latest)


def _tool(shell: Shell, accepts_overrides: bool) -> Tool[Any, Any]:
    return Tool[RunCommandParams, CommandResult](
        name="run_command",
        description="Run a shell command in the workspace; its changes are kept only if it succeeds.",
        handler=shell.run_command,
        examples=(
            ToolExample(
                description="Run the tests",
                input=RunCommandParams("python -m pytest -q", timeout_seconds=300),
                output=CommandResult(
                    1,
                    "exited",
                    2.4,
                    "1 failed, 41 passed in 2.31s\n",
                    "",
                    False,
                    1,
                    (FileNote("report.xml", "created"),),
                ),
            ),
        ),
        effects="process",
        accepts_overrides=accepts_overrides,
    )


def shell_section(*, settings: ShellConfig, title: str = "Commands") -> ShellSection:
    """Let the agent run commands in a sandbox; each one's changes are kept only if it succeeds."""
    return ShellSection(config=settings, title=title)
