"""`wink checkpoint` and `wink restore`: name a state, and come back to it."""

from __future__ import annotations

import click

from wink.cli._calls import opened_for_reading, when, workspace_option
from wink.cli._undo import tell
from wink.limits import utc_now


@click.command()
@click.argument("name", required=False)
@workspace_option
def checkpoint(name: str | None, workspace: str) -> None:
    """Give the state of files and sessions, as calls have left it, a NAME; without one, list the checkpoints."""
    with opened_for_reading(workspace) as opened:
        if name is not None:
            opened.checkpoint(name)
            click.echo(f"checkpoint {name}")
            return
        now = utc_now()
        for one in opened.checkpoints():
            click.echo(f"{one.name}  {when(one.at, now)}")


@click.command()
@click.argument("checkpoint")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@workspace_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def restore(checkpoint: str, paths: tuple[str, ...], workspace: str, dry_run: bool) -> None:
    """Take back all that calls have done since a CHECKPOINT, to files and sessions, or only to the files at PATHs.

    What people changed meanwhile is never overwritten: where it stands in the way nothing is changed, and the paths are
    named. `wink undo` takes a restore back.
    """
    with opened_for_reading(workspace) as opened:
        tell(opened.restore(checkpoint, *paths, dry_run=dry_run), "would restore" if dry_run else "restored")
