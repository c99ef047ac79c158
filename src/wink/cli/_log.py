"""`wink log`: the calls that were made on a workspace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

import click

from wink.cli._calls import arguments_of, ending, json_of_call, opened_for_reading, when, workspace_option
from wink.cli._shorten import arguments, fit
from wink.limits import utc_now
from wink.record import CallRow

_WIDTH = 100


@click.command()
@workspace_option
@click.option("--session", metavar="NAME", help="Only the calls of one session.")
@click.option("--limit", default=30, show_default=True, type=click.IntRange(min=1), help="How many calls at most.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one call a line.")
def log(workspace: str, session: str | None, limit: int, as_json: bool) -> None:
    """List the last calls, newest first: what was asked, what became of it, which files it changed.

    `wink show CALL` tells more about one of them.
    """
    with opened_for_reading(workspace) as opened:
        undone = opened.undone()
        calls = opened.calls(session, limit)
        if as_json:
            for call in calls:
                click.echo(json.dumps(json_of_call(call, undone)))
        elif not calls:
            click.echo("no calls yet")
        else:
            for line in _lines(calls, undone):
                click.echo(line)


def _lines(calls: tuple[CallRow, ...], undone: frozenset[int]) -> Iterator[str]:
    now = utc_now()
    times = [when(call.started_at, now) for call in calls]
    endings = [ending(call, undone) for call in calls]
    number_width = len(str(calls[0].position)) + 1
    time_width, ending_width = max(map(len, times)), max(map(len, endings))
    several = len({call.session for call in calls}) > 1
    for call, time, end in zip(calls, times, endings, strict=True):
        number = f"c{call.position}"
        front = f"{number:<{number_width}}  {time:<{time_width}}  {end:<{ending_width}}  "
        if several:
            front += f"{call.session}  "
        changed = f"  [{_paths(call)}]" if call.changes and end != "rolled back" else ""
        room = max(_WIDTH - len(front) - len(call.tool) - len(changed) - 1, 20)
        given = arguments_of(call)
        text = arguments(cast("object", given), room) if isinstance(given, dict) else fit(str(given), room)
        yield f"{front}{fit(f'{call.tool} {text}'.rstrip(), room + len(call.tool) + 1)}{changed}"


def _paths(call: CallRow) -> str:
    signs = {"created": "+", "modified": "~", "deleted": "-"}
    shown = [fit(f"{signs[change.kind]}{change.path}", 40) for change in call.changes[:3]]
    more = len(call.changes) - len(shown)
    return " ".join([*shown, f"and {more} more"] if more else shown)
