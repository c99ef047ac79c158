"""`wink runs`: the runs that have not come to their end, and what acted outside without anybody knowing how it ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from wink.cli._calls import opened_for_reading, when
from wink.cli._shorten import fit, one_line
from wink.cli._standing import workspace_option
from wink.limits import utc_now

if TYPE_CHECKING:
    from wink.record import RunRow
    from wink.workspace import Workspace

_DEEPEST: Final = 20


@click.command()
@workspace_option
@click.option("--all", "show_all", is_flag=True, help="List those too that have come to their end, and imported ones.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def runs(workspace: str, show_all: bool, as_json: bool) -> None:
    """List the runs that can be resumed, a copy of a run, which `wink rewind --fork` makes, below that run.

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
    states = {row.number: state for row, state in found}
    if not found:
        click.echo("no run yet" if show_all else "no run waits to be resumed")
    now = utc_now()
    for row, depth in forks_below([row for row, _ in found]):
        indent = "  " * min(depth, _DEEPEST)
        name = f"{indent}r{row.number}  {states[row.number]:<11}  {when(row.changed_at, now)}  {fit(row.task, 60)}"
        click.echo(one_line(name if row.fork is None else f"{name}  (from turn {row.fork.turn} of r{row.fork.run})"))
        if row.problem:
            click.echo(one_line(f"{indent}    {fit(row.problem, 100)}"))
    for one in lost:
        click.echo(one_line(f"{one.tool} began {when(one.at, now)}, and nobody knows how it ended"))
    if open_ones:
        click.echo(f"\n`wink run --resume r{open_ones[-1][0].number}` goes on")


def forks_below(rows: Sequence[RunRow]) -> list[tuple[RunRow, int]]:
    """Runs in the order given, each copy of another right below that one, with how many it is below."""
    there = {row.number for row in rows}
    below: dict[int, list[RunRow]] = {}
    for row in rows:
        source = 0 if row.fork is None else row.fork.run
        # What a copied record says may lead in circles.
        below.setdefault(source if source in there and source < row.number else 0, []).append(row)
    found: list[tuple[RunRow, int]] = []
    waiting = [(row, 0) for row in reversed(below.get(0, []))]
    while waiting:
        row, depth = waiting.pop()
        found.append((row, depth))
        waiting += [(one, depth + 1) for one in reversed(below.get(row.number, []))]
    return found


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
        "fork": None if row.fork is None else {"run": f"r{row.fork.run}", "turn": row.fork.turn},
        "plan": json.loads(row.plan),
        "attempt": row.attempt,
        "started_at": row.started_at.isoformat(),
        "changed_at": row.changed_at.isoformat(),
    }
