"""`wink accept`, `wink drop` and `wink tries`: what becomes of what was tried."""

from __future__ import annotations

import json
import shlex

import click

from wink.cli._calls import echo_diff, opened_for_reading, when, workspace_option
from wink.cli._shorten import fit, one_line, visible
from wink.cli._try import paths_of, tell_changes
from wink.cli._wrong import wrong
from wink.limits import utc_now
from wink.tries import Try, tries
from wink.workspace import Workspace

_name = click.option("--name", metavar="NAME", help="Which try is meant, where there are several.")
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@workspace_option
@_name
@click.option("--session", default="default", metavar="NAME", help="The session in whose log it is to stand.")
@_dry_run
def accept(paths: tuple[str, ...], workspace: str, name: str | None, session: str, dry_run: bool) -> None:
    """Make what was tried real, all of it or what is at and beneath PATHs.

    It is one call, which `wink undo` takes back. Where the workspace has changed since, nothing is accepted and the paths
    are named.
    """
    with opened_for_reading(workspace) as opened:
        tried = chosen_try(opened, name)
        done = tried.accept(*paths, session=session, dry_run=dry_run)
        if dry_run:
            click.echo(f"would accept {paths_of(len(done.changes))} of the try {tried.name!r}")
            echo_diff(done.changes)
            return
        if done.call is None:
            click.echo("nothing to accept: the workspace is like that already")
            return
        tell_changes(done.changes, f"accepted (c{done.call})")
        for path, reason in done.notes:
            click.echo(one_line(f"  {path} {reason}"))
        if not done.is_over:
            click.echo("  the rest is still being tried")


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@workspace_option
@_name
@_dry_run
def drop(paths: tuple[str, ...], workspace: str, name: str | None, dry_run: bool) -> None:
    """Forget what was tried, all of it or what is at and beneath PATHs. What was accepted stays."""
    with opened_for_reading(workspace) as opened:
        tried = chosen_try(opened, name)
        done = tried.drop(*paths, dry_run=dry_run)
        if dry_run:
            click.echo(f"would forget {paths_of(len(done.changes))} of the try {tried.name!r}")
            echo_diff(done.changes)
            return
        tell_changes(done.changes, "forgotten")
        if not done.is_over:
            click.echo("  the rest is still being tried")


@click.command(name="tries")
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one try a line.")
def list_tries(workspace: str, as_json: bool) -> None:
    """List what is being tried, and what ran in it."""
    with opened_for_reading(workspace) as opened:
        now = utc_now()
        for one in tries(opened):
            changes = one.differences().changes()
            if as_json:
                runs = [
                    {
                        "command": list(run.argv),
                        "started_at": run.started_at.isoformat(),
                        "seconds": run.seconds,
                        "status": run.status,
                    }
                    for run in one.runs
                ]
                paths = [{"path": change.path, "kind": change.kind} for change in changes]
                click.echo(json.dumps({"try": one.name, "runs": runs, "changes": paths}))
                continue
            click.echo(f"{one_line(one.name)}  {len(changes)} path{'' if len(changes) == 1 else 's'} changed")
            for run in one.runs:
                status = "ended from outside" if run.status is None else f"status {run.status}"
                click.echo(visible(f"  {when(run.started_at, now)}  {status}  {fit(shlex.join(run.argv), 80)}"))


def chosen_try(workspace: Workspace, name: str | None) -> Try:
    """The try that is meant: by its name, or the only one."""
    if name is not None:
        return Try(workspace, name)
    known = tries(workspace)
    if len(known) > 1:
        raise wrong(
            f"several things are being tried ({', '.join(one.name for one in known)}); say which one with --name"
        )
    return known[0] if known else Try(workspace, "default")
