"""`wink completion`, and the answers to a shell that asks how a line may go on."""

from __future__ import annotations

from typing import Any, Final

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from wink.errors import WinkError

SHELLS: Final = ("bash", "zsh", "fish")
ASKED_BY_SHELLS: Final = "_WINK_COMPLETE"
"""The environment variable by which a shell asks for words; what `wink completion` prints sets it."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes SHELL complete wink's commands and options.

    \b
    bash: eval "$(wink completion bash)"            in ~/.bashrc
    zsh:  eval "$(wink completion zsh)"             in ~/.zshrc, after compinit
    fish: wink completion fish | source             in ~/.config/fish/config.fish
    """
    click.echo(_completion(shell).source())


def completed(group: click.Group, instruction: str) -> int:
    """Answer a shell that asks, as in `bash_complete`, what could stand where the cursor is; the exit status."""
    shell, _, what = instruction.partition("_")
    if shell not in SHELLS or what != "complete":
        return 1
    try:
        click.echo(_completion(shell, group).complete())
    except (WinkError, click.ClickException, KeyError, ValueError):
        return 1  # what is typed makes no sense yet, and nobody would see a message
    return 0


def _completion(shell: str, group: click.Group | None = None) -> ShellComplete:
    found = get_completion_class(shell)
    assert found is not None

    class OrFiles(found):
        def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
            items = super().get_completions(args, incomplete)
            # Most of what has no words of its own is a path.
            return items if items or incomplete.startswith("-") else [CompletionItem(incomplete, type="file")]

    return OrFiles(group or click.Group(), {}, "wink", ASKED_BY_SHELLS)
