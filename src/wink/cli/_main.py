"""Find the command that was asked for, and turn what goes wrong into one line and an exit status.

Exit statuses: 0 done, 1 the work failed, 2 the input was wrong and nothing was changed, 130 interrupted.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Final

import click

from wink import __version__
from wink.errors import WinkError

COMMANDS: Final = {
    # name: (module, attribute, one line for the list of commands)
    "demo": ("wink.cli._demo", "demo", "Watch an agent mend a small project, and one of its tools fail and be undone."),
    "run": ("wink.cli._run", "run", "Let a model work on a repository."),
    "call": ("wink.cli._call", "call", "Run one tool on a workspace, through the whole pipeline."),
    "tools": ("wink.cli._tools", "tools", "List the tools that a model would be shown."),
    "plugins": ("wink.cli._plugins", "plugins", "List, explain and check plugins."),
}


class LazyGroup(click.Group):
    """A group that imports a command when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which a newcomer needs them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return getattr(importlib.import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wink")
def wink() -> None:
    """Tools for agents that cannot leave a mess: every call commits, or it never happened."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: Sequence[str]) -> int:
    """Run the command line; the exit status."""
    try:
        status = wink.main(args=list(arguments), prog_name="wink", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except click.Abort:
        return _complain("interrupted", 130)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except WinkError as error:
        return _complain(str(error), 2)
    except BrokenPipeError:
        # Whoever read our output has gone; a second complaint from the interpreter's own flush helps nobody.
        sys.stdout = None
        return 141
    return status if isinstance(status, int) else 0


def _complain(message: str, status: int) -> int:
    click.echo(f"wink: {' '.join(message.split())}", err=True)
    return status
