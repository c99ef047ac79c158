"""`wink batch`: the same work over many workspaces; `wink batch TASKS` begins, and other words look at what came of it."""

from __future__ import annotations

import importlib
from typing import Final

import click

_COMMANDS: Final = {
    "show": ("wink_batch.commands._show", "show", "Show how a batch stands, or what became of one task."),
    "compare": ("wink_batch.commands._compare", "compare", "Hold two batches against each other, task by task."),
    "merge": ("wink_batch.commands._merge", "merge", "Put what tasks changed into one workspace."),
}
_RUN: Final = "run"


class BatchGroup(click.Group):
    """A group whose other words are commands of their own; everything else is for `run`, which need not be written."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Have `run` take what is no other command."""
        if not args:
            raise click.exceptions.NoArgsIsHelpError(ctx)
        if args[0] not in (*_COMMANDS, _RUN, "-h", "--help"):
            args = [_RUN, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them, `run` first."""
        del ctx
        return [_RUN, *_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name == _RUN:
            from wink_batch.commands._run import run

            return run
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=BatchGroup)
def batch() -> None:
    """Let a model work on many tasks, on this machine or a cluster.

    Each task has a workspace of its own.
    `wink batch TASKS --model KIND:NAME` begins; `wink batch run --help` lists what else can be said. TASKS is a table in
    JSON lines, CSV or Parquet with the columns id, prompt, workspace, revision, params and model.
    """
