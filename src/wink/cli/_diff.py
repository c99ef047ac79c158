"""`wink diff`: what calls changed."""

from __future__ import annotations

import json

import click

from wink.cli._calls import call_number, echo_diff, opened_for_reading, workspace_option


@click.command()
@click.argument("call", required=False)
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one file a line.")
def diff(call: str | None, workspace: str, as_json: bool) -> None:
    """Show what calls changed, as a unified diff.

    CALL is one call (c7), from a call until now (c7..), or from one call to another (c7..c9). Without it, everything is
    shown that is not as it was before the first call, of the paths that calls have changed.
    """
    first, dots, last = (call or "..").partition("..")
    with opened_for_reading(workspace) as opened:
        if not dots:
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
