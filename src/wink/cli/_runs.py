"""`wink runs`: the runs that have not come to their end, and what acted outside without anybody knowing how it ended."""

from __future__ import annotations

import json
import os

import click

from wink.cli._calls import opened_for_reading, when, workspace_option
from wink.cli._shorten import fit, one_line
from wink.limits import utc_now
from wink.record import RunRow, is_locked
from wink.workspace import Workspace


@click.command()
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def runs(workspace: str, as_json: bool) -> None:
    """List the runs that can be resumed.

    A run is suspended when it waits for approval, stopped when something failed, and interrupted when its process ended.
    """
    with opened_for_reading(workspace) as opened:
        found = [
            (row, status(opened, row)) for row in opened.record.runs.rows() if row.state != "ended" and row.is_ours
        ]
        lost = [one for one in opened.record.runs.started() if not any(_is_running(opened, row) for row, _ in found)]
    if as_json:
        for row, state in found:
            click.echo(json.dumps(_json(row, state)))
        return
    if not found:
        click.echo("no run waits to be resumed")
    now = utc_now()
    for row, state in found:
        task = str(json.loads(row.plan).get("task", ""))
        click.echo(one_line(f"r{row.number}  {state:<11}  {when(row.changed_at, now)}  {fit(task, 60)}"))
        if row.problem:
            click.echo(one_line(f"    {fit(row.problem, 100)}"))
    for one in lost:
        click.echo(one_line(f"{one.tool} began {when(one.at, now)}, and nobody knows how it ended"))
    if found:
        click.echo(f"\n`wink run --resume r{found[-1][0].number}` goes on")


def status(opened: Workspace, row: RunRow) -> str:
    """In a word, how a run stands."""
    if row.state != "running":
        return row.state
    return "running" if _is_running(opened, row) else "interrupted"


def _is_running(opened: Workspace, row: RunRow) -> bool:
    return is_locked(os.path.dirname(opened.record.path), row.number)


def _json(row: RunRow, state: str) -> dict[str, object]:
    return {
        "run": f"r{row.number}",
        "state": state,
        "session": row.session,
        "problem": row.problem or None,
        "plan": json.loads(row.plan),
        "attempt": row.attempt,
        "started_at": row.started_at.isoformat(),
        "changed_at": row.changed_at.isoformat(),
    }
