"""`wink gc`: bound what is kept for undoing."""

from __future__ import annotations

import os
from datetime import timedelta

import click

from wink.cli._calls import opened_for_reading, workspace_option
from wink.cli._shorten import one_line
from wink.errors import RecordUnavailable, WinkError


@click.command()
@workspace_option
@click.option("--calls", default=10_000, show_default=True, type=click.IntRange(0), help="Keep at most so many calls.")
@click.option("--days", default=90, show_default=True, type=click.IntRange(0, 100_000), help="Keep none that is older.")
@click.option("--megabytes", default=2048, show_default=True, type=click.IntRange(0), help="Keep at most so much.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be freed.")
def gc(workspace: str, calls: int, days: int, megabytes: int, dry_run: bool) -> None:
    """Free what the oldest calls replaced; they cannot be undone or shown whole afterwards, and leave the git history.

    What checkpoints need is kept. Runs that have not been resumed for so many days are forgotten. This cannot be taken
    back.
    """
    with opened_for_reading(workspace) as opened:
        try:
            done = opened.gc(calls=calls, age=timedelta(days=days), most_bytes=megabytes << 20, dry_run=dry_run)
        except WinkError as error:
            if os.statvfs(opened.root).f_bavail:
                raise
            raise RecordUnavailable(
                opened.state, "the disk is full, and freeing needs a few megabytes first"
            ) from error
        conflicts, state = opened.filesystem.conflicts, os.path.relpath(opened.state, opened.root)
    what = "would free" if dry_run else "freed"
    click.echo(f"{what} {done.bytes} bytes of {done.calls} calls; {done.bytes_left} bytes stay")
    for conflict in conflicts:
        click.echo(one_line(f"{conflict.path} {conflict.reason}; it is kept in {state}/{conflict.kept}"))
