"""`wink watch`: what happens on a workspace while it happens, whoever does it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from wink.cli._masked import use
from wink.cli._opening import whatever_makes_sense
from wink.cli._standing import workspace_option
from wink.cli.past._follow import echo_rows, follow, place_named
from wink.cli.past._watch_lines import lines_about, pending_lines
from wink.cli.settings import masking_for
from wink.cli.work import STYLES
from wink.record import Place, Record
from wink.workspace import open_record

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from wink.cli.work import Line

_BEFORE: Final = 10
"""So many earlier calls are shown first."""


@click.command()
@workspace_option
@click.option("--session", metavar="NAME", help="Only what happens in one session.")
@click.option(
    "--since",
    metavar="PLACE",
    help="Begin after a call (c12), a place, `beginning` or `now`; before the last 10 calls.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, as `wink events --follow` does.")
def watch(workspace: str, session: str | None, since: str | None, as_json: bool) -> None:
    """Show the calls of all processes on a workspace as they end, with what waits for a person, until interrupted.

    Runs, approvals, tries and checkpoints are shown, too. Nobody who works on the workspace is held up.
    """
    masking = whatever_makes_sense(partial(masking_for, workspace))
    record = open_record(workspace, masking=use(masking))
    is_live = sys.stdout.isatty() and not as_json
    shown = _Terminal(os.path.abspath(workspace)) if is_live else _Plain()
    try:
        events = follow(record, _first(record, since), session)
        if as_json:
            echo_rows(events)
        told: frozenset[str] = frozenset()
        for found in events:
            if found is not None:
                shown.lines(lines_about(record, found[1]))
            else:
                waiting = pending_lines(record, session)
                shown.lines([line for key, line in waiting.items() if key not in told])
                told = frozenset(waiting)
    except KeyboardInterrupt:
        pass
    finally:
        shown.close()
        record.close()


def _first(record: Record, since: str | None) -> Place:
    if since is not None:
        return place_named(record, since)
    last = record.queries.last_place()
    return record.queries.place_of(last.call - _BEFORE) if last.call > _BEFORE else Place()


class _Plain:
    """Complete lines."""

    def lines(self, lines: Iterable[Line]) -> None:
        for line in lines:
            click.echo(str(line))
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing moves here."""


class _Terminal(_Plain):
    """Coloured lines, above one that says that this goes on."""

    def __init__(self, place: str) -> None:
        from rich.console import Console
        from rich.markup import escape

        self._console: Console = Console(highlight=False)
        self._status: Status = self._console.status(f"watching {escape(place)}; Ctrl-C ends")
        self._status.start()

    def lines(self, lines: Iterable[Line]) -> None:
        from rich.text import Text

        for line in lines:
            label = (f"{line.label:<13}", STYLES[line.label_tone])
            shown = Text.assemble(label, (line.text, STYLES[line.tone]))
            if line.aside:
                shown.append(f"  {line.aside}", STYLES["quiet"])
            self._console.print(shown, soft_wrap=True)

    def close(self) -> None:
        """Take the moving line away."""
        self._status.stop()
