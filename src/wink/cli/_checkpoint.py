"""`wink checkpoint` and `wink restore`: name a state, and come back to it."""

from __future__ import annotations

import click

from wink.cli._calls import call_number, opened_for_reading, when, workspace_option
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
@click.argument("to", metavar="CHECKPOINT|CALL")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@workspace_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def restore(to: str, paths: tuple[str, ...], workspace: str, dry_run: bool) -> None:
    """Take back all that calls have done since a CHECKPOINT, to files and sessions, or only to the files at PATHs.

    With a CALL such as c7, come back to what that call left; a checkpoint of the same name goes before.

    What people changed meanwhile is never overwritten: where it stands in the way nothing is changed, and the paths are
    named. `wink undo` takes a restore back.
    """
    with opened_for_reading(workspace) as opened:
        named = any(one.name == to for one in opened.checkpoints())
        target = call_number(to) if not named and to.isascii() and to[:1] == "c" and to[1:].isdecimal() else to
        tell(opened.restore(target, *paths, dry_run=dry_run), "would restore" if dry_run else "restored")
