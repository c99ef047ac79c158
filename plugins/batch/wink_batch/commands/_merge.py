"""`wink batch merge`: put what tasks changed into one workspace."""

from __future__ import annotations

import json

import click

from wink.cli import one_line, open_workspace, shown_path, workspace_option
from wink_batch import Batch
from wink_batch import merge as merged

_LEFT_OUT = 1


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("tasks", nargs=-1, metavar="[TASK]...")
@workspace_option
@click.option("--dry-run", is_flag=True, help="Only say what would be merged, and what conflicts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
def merge(directory: str, tasks: tuple[str, ...], workspace: str, dry_run: bool, as_json: bool) -> int:
    """Merge what TASKs of the batch in DIR changed, by default all that are done and did not fail their check.

    They are merged in the order of the table, line by line where several changed one file. A task that wants a line
    otherwise than the workspace, or a task before it, is left out as a whole, and the paths are named; the exit status is 1
    then. All that was merged is one call, which `wink undo` takes back.
    """
    with open_workspace(workspace) as opened:
        found = merged(Batch(directory), opened, tasks, dry_run=dry_run)
    if as_json:
        from wink.serde import dump

        click.echo(json.dumps(dump(found)))
        return _LEFT_OUT if found.conflicts else 0
    word = "would be merged" if dry_run else "merged"
    for name, paths in found.merged:
        click.echo(
            one_line(f"{name}: {word}, {', '.join(map(shown_path, paths[:10]))}{' …' if len(paths) > 10 else ''}")
        )
    for name in found.unchanged:
        click.echo(one_line(f"{name}: nothing to merge"))
    for conflict in found.conflicts:
        click.echo(one_line(f"{conflict.task}: conflicts with {conflict.other} at {shown_path(conflict.path)}"))
    for path, reason in found.notes:
        click.echo(one_line(f"  {shown_path(path)} {reason}"))
    if found.call is not None:
        click.echo(f"wink: merged as c{found.call}; `wink undo c{found.call}` takes it back", err=True)
    return _LEFT_OUT if found.conflicts else 0
