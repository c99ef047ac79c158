"""`wink diff`: what calls changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from wink.cli._calls import (
    all_option,
    call_number,
    calls_of_turn,
    echo_diff,
    json_of_change,
    opened_for_reading,
    turn_option,
)
from wink.cli._shorten import one_line
from wink.cli._standing import workspace_option
from wink.cli._wrong import wrong

if TYPE_CHECKING:
    from wink.cli._views import Pending
    from wink.workspace import Workspace


@click.command()
@click.argument("call", required=False)
@workspace_option
@click.option("--try", "tried", metavar="NAME", help="Show what was tried under this name.")
@click.option("--home", is_flag=True, help="Show what was tried in the home directory, which is never accepted.")
@click.option("--conflicts", is_flag=True, help="Show only what has changed in the workspace too since the try began.")
@turn_option
@all_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one file a line.")
def diff(
    call: str | None,
    workspace: str,
    tried: str | None,
    home: bool,
    conflicts: bool,
    turn: int | None,
    show_all: bool,
    as_json: bool,
) -> None:
    """Show what calls changed, or what was tried, as a unified diff.

    CALL is one call (c7), from a call until now (c7..), or from one call to another (c7..c9). Without it, everything is
    shown that is not as it was before the first call, of the paths that calls have changed; while something is being tried,
    what that has changed is shown instead.
    """
    if call and (tried or home or conflicts):
        raise wrong(f"give a call or {'--try' if tried else '--home' if home else '--conflicts'}, not both")
    if home and conflicts:
        raise wrong(
            "give --home or --conflicts, not both: what is in the home is never accepted, so that nothing is in its way"
        )
    if turn is not None and (call or tried or home or conflicts):
        raise wrong("give a call, --turn, or what was tried, not several of them")
    first, dots, last = (call or "..").partition("..")
    with opened_for_reading(workspace) as opened:
        found = None if call or turn is not None else _pending(workspace, opened, tried, home=home, conflicts=conflicts)
        if (home or conflicts) and found is None:
            raise wrong("nothing is being tried here; `wink try -- COMMAND` runs a program without changing anything")
        if found is not None:
            changes = found.changes
            if not as_json:
                click.echo(found.title, err=True)
        elif turn is not None:
            changes = opened.diff(*calls_of_turn(opened, turn))
        elif not dots:
            changes = opened.diff(call_number(first))
        elif last:
            begin, end = call_number(first or "c1"), call_number(last)
            changes = opened.diff(min(begin, end), max(begin, end))
        else:
            changes = opened.diff(since=call_number(first) if first else None)
        if as_json:
            for change in changes:
                click.echo(json.dumps(json_of_change(change, diff=change.diff())))
            return
        echo_diff(changes, show_all=show_all, how="--all")


def _pending(path: str, workspace: Workspace, name: str | None, **asked: bool) -> Pending | None:
    from wink.cli._views import pending
    from wink.cli.settings import commands_catalog

    catalog, problem = commands_catalog(path)
    if problem is not None:
        click.echo(one_line(f"wink: {problem}; wink's own plugins alone are asked what was tried"), err=True)
    return pending(catalog, workspace, name, **asked)
