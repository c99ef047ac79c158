"""Let an agent run commands in its workspace, each a transaction."""

from wink_shell._config import ShellConfig
from wink_shell._handler import Shell
from wink_shell._params import RunCommandParams
from wink_shell._results import CommandResult, FileNote
from wink_shell._section import ShellSection, shell_section

__all__ = ["CommandResult", "FileNote", "RunCommandParams", "Shell", "ShellConfig", "ShellSection", "shell_section"]
