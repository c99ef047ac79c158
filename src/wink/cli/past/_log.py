"""`wink log`: the calls that were made on a workspace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import click

from wink.cli._calls import json_of_call, opened_for_reading, touched, when
from wink.cli._shorten import arguments, fit
from wink.cli._standing import workspace_option

if TYPE_CHECKING:
    from wink.record import CallView
    from wink.workspace import Workspace

_WIDTH = 100
_PAGE = 200


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
        pages = _pages(opened, session, limit)
        if as_json:
            for calls in pages:
                click.echo("\n".join(json.dumps(json_of_call(call)) for call in calls))
            return
        first = next(pages, ())
        if not first:
            click.echo("no calls yet")
            return
        several = len({call.session for call in first}) > 1
        if len(first) == _PAGE and session is None:  # there may be more pages, with calls of others
            several = len(opened.sessions()) > 1
        oldest = first[0].position
        for calls in chain((first,), pages):
            click.echo("\n".join(_lines(calls, last=first[0].position, several=several)))
            oldest = calls[-1].position
        kept = opened.record.forgetting.first()
        if kept is not None and oldest == kept[0] > 1:
            click.echo(f"calls before c{oldest} are not kept any more")


def _pages(opened: Workspace, session: str | None, limit: int) -> Iterator[tuple[CallView, ...]]:
    """The calls, so many at a time that the first are shown at once."""
    from wink.record import CallFilter
    from wink.workspace import session_name

    wanted, before = CallFilter(session=None if session is None else session_name(session)), None
    while limit > 0:
        calls = opened.record.queries.page(wanted, before=before, limit=min(limit, _PAGE), brief=True)
        if not calls:
            return
        yield calls
        limit, before = limit - len(calls), calls[-1].position


def _lines(calls: tuple[CallView, ...], *, last: int, several: bool) -> Iterator[str]:
    from wink.limits import utc_now

    now = utc_now()
    times = [when(call.started_at, now) for call in calls]
    number_width = len(str(last)) + 1
    time_width, word_width = max(map(len, times)), max(len(call.word) for call in calls)
    for call, time in zip(calls, times, strict=True):
        number = f"c{call.position}"
        front = f"{number:<{number_width}}  {time:<{time_width}}  {call.word:<{word_width}}  "
        if several:
            front += f"{call.session}  "
        changed = f"  [{touched(call.changes)}]" if call.changes and call.word in ("ok", "undone") else ""
        room = max(_WIDTH - len(front) - len(call.tool) - len(changed) - 1, 20)
        text = f"{call.tool} {arguments(call.values, room)}".rstrip()
        yield f"{front}{fit(text, room + len(call.tool) + 1)}{changed}"
