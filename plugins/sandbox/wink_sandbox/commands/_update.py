"""`wink update`: bring what the workspace has changed meanwhile into a try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wink.cli import echo_json, json_option, one_line, opened_for_reading, paths_of, workspace_option, wrong
from wink.filesystem import path_in_json
from wink_sandbox.commands._accept import chosen_try
from wink_sandbox.commands._telling import tell_left, tell_paths

if TYPE_CHECKING:
    from wink_sandbox.tries import Try, Updated

_FAILED = 1


@click.command()
@click.argument("which", required=False, metavar="[NAME]")
@workspace_option
@click.option("--name", "--try", "name", metavar="NAME", help="Which try is meant, where there are several.")
@click.option("--undo", is_flag=True, help="Take the last update back, where nothing in the try has built on it.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@json_option
def update(which: str | None, workspace: str, name: str | None, undo: bool, dry_run: bool, as_json: bool) -> int | None:
    """Bring what the workspace has changed meanwhile into the try NAME, where the next program sees it.

    Files that both have changed are merged by lines. Where both have changed the same lines the try has them both, with
    git's conflict markers, and the exit status is 1; whoever works in the try resolves them, and until then they are
    not accepted. What cannot be merged is named, and stays as it is. --undo takes the last update back.
    """
    if which is not None and name is not None and which != name:
        raise wrong(f"NAME is {which!r} and --name {name!r}; give one of them")
    with opened_for_reading(workspace) as opened:
        tried = chosen_try(opened, which if which is not None else name)
        if undo:
            back = tried.undo_update(dry_run=dry_run)
            if back is None:
                raise wrong(f"the try {tried.name!r} has no update to take back")
            what = "would take back" if dry_run else "taken back"
            return _tell(tried, back, what, dry_run=dry_run, as_json=as_json, is_undo=True)
        done = tried.update(dry_run=dry_run)
        _tell(tried, done, "would update" if dry_run else "updated", dry_run=dry_run, as_json=as_json, is_undo=False)
        return _FAILED if done.marked or done.conflicts else None


def _tell(tried: Try, done: Updated, what: str, *, dry_run: bool, as_json: bool, is_undo: bool) -> None:
    if as_json:
        echo_json(**json_of_update(tried, done), dry_run=dry_run)
        return
    number = len(done.merged) + len(done.same)
    click.echo(f"{what}: {paths_of(number)} of the try {tried.name!r}" if number else "nothing to update")
    if is_undo:
        tell_paths("as before the update", (*done.merged, *done.same))
        return
    tell_paths("merged with what the workspace has changed", done.merged)
    tell_paths("as in the workspace", done.same)
    tell_paths("has conflict markers, to be resolved in the try", done.marked)
    if done.conflicts:
        click.echo(one_line(f"wink: left as they are: {paths_of(len(done.conflicts))}"), err=True)
        reason = "was changed in the workspace meanwhile, {}"
        tell_left(tuple((one.path, reason.format(one.reason)) for one in done.conflicts))
    if number and not dry_run:
        which = "" if tried.name == "default" else f" {tried.name}"
        click.echo(f"  `wink update{which} --undo` takes it back")


def json_of_update(tried: Try, done: Updated) -> dict[str, object]:
    """What became of a try, for machines."""
    paths = {"merged": done.merged, "marked": done.marked, "same": done.same}
    return {
        "try": tried.name,
        **{what: list(map(path_in_json, these)) for what, these in paths.items()},
        "conflicts": [{"path": path_in_json(one.path), "reason": one.reason} for one in done.conflicts],
    }
