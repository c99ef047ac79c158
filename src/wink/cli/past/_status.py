"""`wink status`: what is not settled in a workspace, and what was done last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from wink.cli._calls import json_of_call, opened_for_reading, when
from wink.cli._changed import touched
from wink.cli._opening import asked_catalog
from wink.cli._shorten import arguments, fit, one_line
from wink.cli._standing import shown_workspace, workspace_option
from wink.cli._views import standings
from wink.cli.past._runs import unended_runs
from wink.limits import utc_now
from wink.runtime import pending_approvals

if TYPE_CHECKING:
    from datetime import datetime

    from wink.record import CallView

_WIDTH = 100


@click.command()
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
def status(workspace: str, as_json: bool) -> None:
    """Say what is tried and not real yet, which calls wait for a person, which runs can go on, and what the last call was.

    Changes nothing, and has exit status 0 whatever there is to tell.
    """
    with opened_for_reading(workspace) as opened:
        last = next(iter(opened.record.queries.page(limit=1, brief=True)), None)
        waiting, runs = pending_approvals(opened), unended_runs(opened)
        lines = list(standings(asked_catalog(opened.root), opened))
        root = opened.root
    if as_json:
        told = {
            "workspace": root,
            "last_call": None if last is None else json_of_call(last),
            "approvals": [one.id for one in waiting],
            "runs": [{"run": f"r{row.number}", "state": state} for row, state in runs],
            "plugins": lines,
        }
        click.echo(json.dumps(told))
        return
    now = utc_now()
    click.echo(one_line(f"workspace {shown_workspace()}"))
    click.echo(one_line(f"last call: {_shown(last, now)}") if last is not None else "no calls yet")
    for line in lines:
        click.echo(one_line(line))
    for one in waiting:
        click.echo(one_line(f"waits for you: {one.tool}, `wink approve {one.id}` or `wink deny {one.id}`"))
    for row, state in runs:
        goes_on = "" if state == "running" else f", `wink run --resume r{row.number}`"
        click.echo(one_line(f"run r{row.number} {state}: {fit(row.task, 60)}{goes_on}"))
    if not (lines or waiting or runs):
        click.echo("nothing is tried, waits or runs")


def _shown(call: CallView, now: datetime) -> str:
    front = f"c{call.position}  {when(call.started_at, now)}  {call.word}  {call.tool} {arguments(call.values, _WIDTH // 2)}"
    changed = call.changes if call.word in ("ok", "undone") else ()
    return f"{front.rstrip()}  [{touched(changed)}]" if changed else front.rstrip()
