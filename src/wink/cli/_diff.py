"""`wink diff`: what calls changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from wink.cli._calls import call_number, echo_diff, opened_for_reading, workspace_option
from wink.cli._wrong import wrong

if TYPE_CHECKING:
    from wink.tries import Try
    from wink.workspace import Workspace


@click.command()
@click.argument("call", required=False)
@workspace_option
@click.option("--try", "tried", metavar="NAME", help="Show what was tried under this name.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one file a line.")
def diff(call: str | None, workspace: str, tried: str | None, as_json: bool) -> None:
    """Show what calls changed, or what was tried, as a unified diff.

    CALL is one call (c7), from a call until now (c7..), or from one call to another (c7..c9). Without it, everything is
    shown that is not as it was before the first call, of the paths that calls have changed; while something is being tried,
    what that has changed is shown instead.
    """
    if call and tried:
        raise wrong("give a call or --try, not both")
    first, dots, last = (call or "..").partition("..")
    with opened_for_reading(workspace) as opened:
        pending = None if call else _pending(opened, tried)
        if pending is not None:
            changes = pending.differences().changes()
            if not as_json:
                click.echo(
                    f"tried as {pending.name!r}, not real yet; `wink diff c1..` shows what calls changed", err=True
                )
        elif not dots:
            changes = opened.diff(call_number(first))
        elif last:
            begin, end = call_number(first or "c1"), call_number(last)
            changes = opened.diff(min(begin, end), max(begin, end))
        else:
            changes = opened.diff(since=call_number(first) if first else None)
        if as_json:
            for change in changes:
                click.echo(json.dumps({"path": change.path, "kind": change.kind, "diff": change.diff()}))
            return
        echo_diff(changes)


def _pending(workspace: Workspace, name: str | None) -> Try | None:
    """The try to show: the one that is named, otherwise the only one."""
    from wink.cli._accept import chosen_try
    from wink.tries import tries

    return chosen_try(workspace, name) if name is not None or tries(workspace) else None
