"""`wink show`: one call, with all that is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from wink.cli._calls import (
    all_option,
    argument_lines,
    call_number,
    decided,
    echo_diff,
    json_of_call,
    json_of_change,
    opened_for_reading,
    plugin_of,
)
from wink.cli._shorten import visible
from wink.cli._standing import workspace_option

if TYPE_CHECKING:
    from wink.record import CallView


@click.command()
@click.argument("call")
@workspace_option
@all_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def show(call: str, workspace: str, show_all: bool, as_json: bool) -> None:
    """Show one CALL: arguments, what the policies said, the reply, and what it did to the files.

    Of a call that was rolled back, what it had done is shown as far as it is known.
    """
    number = call_number(call)
    with opened_for_reading(workspace) as opened:
        found, changes = opened.call(number), opened.diff(number)
        if as_json:
            diffs = [json_of_change(change, diff=change.diff()) for change in changes]
            click.echo(json.dumps({**json_of_call(found), "reply": found.rendered, "changes": diffs}, indent=2))
            return
        for line in _lines(found):
            click.echo(visible(line))
        if changes:
            stayed = "changed:" if found.committed else "had changed, before it was taken back:"
            click.echo(f"\n{stayed}\n")
            echo_diff(changes, exact=False, show_all=show_all, how="--all")


def _lines(call: CallView) -> Iterator[str]:
    yield f"c{call.position}  {call.tool}  {call.word}"
    yield f"{call.started_at.astimezone():%Y-%m-%d %H:%M:%S}, {call.milliseconds:.1f} ms, session {call.session}, id {call.call_id}"
    if (plugin := plugin_of(call)) is not None:
        yield f"offered by plugin {plugin['name']} of {plugin['distribution']} {plugin['version']}".rstrip()
    given = call.values
    if isinstance(given, dict) and given:
        yield "\narguments:"
        for name, value in given.items():  # type: ignore[reportUnknownVariableType]
            yield from argument_lines(str(name), value)  # type: ignore[reportUnknownArgumentType]
    elif given:
        yield f"\narguments:\n  {given}"
    if call.decisions:
        yield "\npolicies:"
        yield from (f"  {line}" for line in decided(call.decisions))
    if call.error and call.word in ("ok", "undone"):
        yield "\nnoted:"
        yield from (f"  {line}".rstrip() for line in call.error.split("\n"))
    if call.rendered:
        yield "\nreply:"
        yield from (f"  {line}".rstrip() for line in call.rendered.split("\n"))
