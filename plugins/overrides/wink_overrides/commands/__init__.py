"""`wink prompts`: look at a prompt's texts, and replace them without touching the code."""

from __future__ import annotations

import click

from wink_overrides.commands import _edit as edit
from wink_overrides.commands import _look as look


@click.group(invoke_without_command=True)
@click.pass_context
def prompts(ctx: click.Context) -> None:
    """List, show and edit the texts of the prompt that a model is given.

    What is edited lies in the workspace, in .wink/prompts/overrides. Nothing uses it but `--overrides TAG`: a workspace
    may come from somebody else.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(look.list_)


for _command in (look.list_, look.show, look.diff, edit.edit, edit.describe, edit.seed, edit.delete, look.check):
    prompts.add_command(_command)
