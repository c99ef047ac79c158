"""`wink runs`: the runs that have not come to their end, and what acted outside without anybody knowing how it ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from wink.cli._calls import opened_for_reading, when
from wink.cli._shorten import fit, one_line
from wink.cli._standing import workspace_option
from wink.limits import utc_now

if TYPE_CHECKING:
    from wink.record import RunRow
    from wink.workspace import Workspace


@click.command()
@workspace_option
@click.option("--all", "show_all", is_flag=True, help="List those too that have come to their end, and imported ones.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def runs(workspace: str, show_all: bool, as_json: bool) -> None:
    """List the runs that can be resumed.

    A run is suspended when it waits for approval, stopped when something failed, and interrupted when its process ended.
    """
    with opened_for_reading(workspace) as opened:
        open_ones = unended_runs(opened)
        table = opened.record.runs
        found = [(row, table.standing(row)) for row in table.rows()] if show_all else open_ones
        lost = () if any(state == "running" for _, state in open_ones) else table.started()
    if as_json:
        for row, state in found:
            click.echo(json.dumps(_json(row, state)))
        return
    if not found:
        click.echo("no run yet" if show_all else "no run waits to be resumed")
    now = utc_now()
    for row, state in found:
        click.echo(one_line(f"r{row.number}  {state:<11}  {when(row.changed_at, now)}  {fit(row.task, 60)}"))
        if row.problem:
            click.echo(one_line(f"    {fit(row.problem, 100)}"))
    for one in lost:
        click.echo(one_line(f"{one.tool} began {when(one.at, now)}, and nobody knows how it ended"))
    if open_ones:
        click.echo(f"\n`wink run --resume r{open_ones[-1][0].number}` goes on")


def unended_runs(opened: Workspace) -> list[tuple[RunRow, str]]:
    """The runs of this workspace that have not come to their end, oldest first, and how each stands."""
    table = opened.record.runs
    return [(row, table.standing(row)) for row in table.rows() if row.state != "ended" and row.is_ours]


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
