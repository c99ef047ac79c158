"""`wink log`: the calls that were made on a workspace."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from wink.cli._calls import GUESSED, NOT_KEPT, json_of_call, opened_for_reading, when
from wink.cli._changed import touched
from wink.cli._shorten import arguments, fit
from wink.cli._standing import workspace_option
from wink.cli._wrong import wrong

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from wink.record import CallFilter, CallView, Said, Turn
    from wink.workspace import Workspace

_WIDTH = 100
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PAGE = 200


class Outcome(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # it takes none before click 8.5
    """A word for what became of a call; the words are looked up when one is given, since few ask."""

    name = "word"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word, or wrong input."""
        if value not in (words := self._words()):
            self.fail(f"{value!r} is none of {', '.join(map(repr, words))}", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
        """The words that begin so."""
        del ctx, param
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self._words() if word.startswith(incomplete)]

    @staticmethod
    def _words() -> Sequence[str]:
        from wink.record import WORDS

        return [*WORDS]


@click.command()
@workspace_option
@click.option("--session", metavar="NAME", help="Only the calls of one session.")
@click.option("--agent", metavar="NAME", help="Only the calls of an attached agent, such as claude-code.")
@click.option("--tool", metavar="NAME", help="Only the calls of one tool.")
@click.option("--outcome", type=Outcome(), help="Only calls that ended so, as the log says it.")
@click.option(
    "--path",
    metavar="PATH",
    help="Only calls that changed a path with this in it; with * or ?, a pattern of whole ones.",
)
@click.option(
    "--since", metavar="WHEN", help="Only calls that began then or later: 2h, 3d, 2026-11-28, or 2026-11-28T09:30."
)
@click.option("--run", "run_name", metavar="RUN", help="Only the calls of one run, as `wink runs` names it.")
@click.option("--limit", default=30, show_default=True, type=click.IntRange(min=1), help="How many calls at most.")
@click.option("--story", is_flag=True, help="Oldest first, with what the models said between their calls.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one call a line.")
def log(
    workspace: str,
    session: str | None,
    agent: str | None,
    tool: str | None,
    outcome: str | None,
    path: str | None,
    since: str | None,
    run_name: str | None,
    limit: int,
    story: bool,
    as_json: bool,
) -> None:
    """List the last calls, newest first: what was asked, what became of it, which files it changed.

    `wink show CALL` tells more about one of them.
    """
    from wink.limits import utc_now
    from wink.record import CallFilter
    from wink.workspace import session_name

    wanted = CallFilter(
        session=None if session is None else session_name(session),
        tool=tool,
        outcome=outcome,
        path=path or "",
        run=run_name,
        agent=agent,
        since=None if since is None else moment_of(since, utc_now()),
    )
    with opened_for_reading(workspace) as opened:
        pages = _pages(opened, wanted, limit)
        if as_json and not story:
            for calls in pages:
                click.echo("\n".join(json.dumps(json_of_call(call)) for call in calls))
            return
        with nullcontext() if as_json or not sys.stdout.isatty() else _paged(workspace):
            if story:
                _tell(opened, pages, as_json=as_json)
            else:
                _list(opened, pages, wanted, otherwise="no calls yet" if wanted == CallFilter() else "no call fits")


def _paged(workspace: str) -> AbstractContextManager[object]:
    from wink.cli._pager import paged  # which scripts need not load

    return paged(workspace)


def _list(opened: Workspace, pages: Iterator[tuple[CallView, ...]], wanted: CallFilter, *, otherwise: str) -> None:
    """The last calls, a line each, or what is said where there are none."""
    first = next(pages, ())
    if not first:
        click.echo(otherwise)
        return
    several = len({call.session for call in first}) > 1
    if len(first) == _PAGE and wanted.session is None:  # there may be more pages, with calls of others
        several = len(opened.sessions()) > 1
    oldest, turns = first[0].position, {one.run: one for one in opened.record.queries.turns()}
    for calls in chain((first,), pages):
        click.echo("\n".join(_lines(calls, turns, last=first[0].position, several=several)))
        oldest = calls[-1].position
    kept = opened.record.forgetting.first()
    if kept is not None and oldest == kept[0] > 1:
        click.echo(f"calls before c{oldest} are not kept any more")


def _tell(opened: Workspace, pages: Iterator[tuple[CallView, ...]], *, as_json: bool) -> None:
    """The last calls as parts of their runs."""
    from wink.cli.past._story import call_line, json_of_said, note_lines, said_in, said_lines
    from wink.record import CallView

    calls = [call for page in pages for call in page][::-1]
    notes: dict[str, Said] = {}
    for one in said_in(opened, calls):
        if as_json:
            row = json_of_call(one) if isinstance(one, CallView) else json_of_said(one[1])
            kind, run = ("call", one.run or None) if isinstance(one, CallView) else ("said", one[0])
            click.echo(json.dumps({"event": kind, "run": run, **row}))
        elif isinstance(one, CallView):
            click.echo(call_line(one))
        else:
            run, said = one
            before = note_lines(notes[run]) if run in notes else ()
            click.echo("\n".join([*before, f"\n{run}, turn {said.number}:", *said_lines(said)]))
            notes[run] = said
    if not calls and not as_json:
        click.echo("no calls yet")


def moment_of(text: str, now: datetime) -> datetime:
    """The moment that a person means: so long before `now`, or a local date, with or without a time.

    >>> from datetime import UTC
    >>> moment_of("2h", datetime(2026, 1, 1, 12, tzinfo=UTC)).hour
    10
    """
    ago = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    try:
        if ago is not None:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        raise wrong(
            f"--since {text!r} is no time; give one like 2h or 3d, or a date like 2026-01-31 or 2026-01-31T09:30"
        ) from None


def _pages(opened: Workspace, wanted: CallFilter, limit: int) -> Iterator[tuple[CallView, ...]]:
    """The calls, so many at a time that the first are shown at once."""
    before = None
    while limit > 0:
        calls = opened.record.queries.page(wanted, before=before, limit=min(limit, _PAGE), brief=True)
        if not calls:
            return
        yield calls
        limit, before = limit - len(calls), calls[-1].position


def _lines(calls: tuple[CallView, ...], turns: Mapping[str, Turn], *, last: int, several: bool) -> Iterator[str]:
    from wink.limits import utc_now

    now = utc_now()
    times = [when(call.started_at, now) for call in calls]
    number_width = len(str(last)) + 1
    time_width, word_width = max(map(len, times)), max(len(call.word) for call in calls)
    shown = ""
    for call, time in zip(calls, times, strict=True):
        if call.run != shown and call.run in turns:
            turn = turns[call.run]
            yield fit(f"-- turn {turn.number} of {turn.agent}: {turn.prompt}", _WIDTH)
        shown = call.run
        number = f"c{call.position}"
        front = f"{number:<{number_width}}  {time:<{time_width}}  {call.word:<{word_width}}  "
        if several:
            front += f"{call.session}  "
        changed = f"  [{touched(call.changes)}]" if call.changes and call.word in ("ok", "undone") else ""
        noted = (call.error or "") if call.word in ("ok", "undone") else ""
        changed += "".join(
            f"  {word}" for word in (GUESSED, NOT_KEPT) if noted.startswith(word) or f"; {word}" in noted
        )
        room = max(_WIDTH - len(front) - len(call.tool) - len(changed) - 1, 20)
        text = f"{call.tool} {arguments(call.values, room)}".rstrip()
        yield f"{front}{fit(text, room + len(call.tool) + 1)}{changed}"
