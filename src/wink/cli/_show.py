"""`wink show`: one call, with all that is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from wink.cli._calls import (
    arguments_of,
    call_number,
    echo_diff,
    ending,
    json_of_call,
    opened_for_reading,
    plugin_of,
    workspace_option,
)
from wink.cli._shorten import visible
from wink.record import CallRow


@click.command()
@click.argument("call")
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def show(call: str, workspace: str, as_json: bool) -> None:
    """Show one CALL: arguments, what the policies said, the reply, and what it did to the files.

    Of a call that was rolled back, what it had done is shown as far as it is known.
    """
    number = call_number(call)
    with opened_for_reading(workspace) as opened:
        found, undone = opened.call(number), opened.undone()
        changes = opened.diff(number)
        if as_json:
            diffs = [{"path": change.path, "kind": change.kind, "diff": change.diff()} for change in changes]
            click.echo(json.dumps({**json_of_call(found, undone), "reply": found.rendered, "changes": diffs}, indent=2))
            return
        for line in _lines(found, ending(found, undone)):
            click.echo(visible(line))
        if changes:
            stayed = "changed:" if found.committed else "had changed, before it was taken back:"
            click.echo(f"\n{stayed}\n")
            echo_diff(changes, exact=False)


def _lines(call: CallRow, end: str) -> Iterator[str]:
    took = call.duration.total_seconds() * 1000
    yield f"c{call.position}  {call.tool}  {end}"
    yield f"{call.started_at.astimezone():%Y-%m-%d %H:%M:%S}, {took:.1f} ms, session {call.session}, id {call.call_id}"
    if (plugin := plugin_of(call)) is not None:
        yield f"offered by plugin {plugin['name']} of {plugin['distribution']} {plugin['version']}".rstrip()
    given = arguments_of(call)
    if isinstance(given, dict) and given:
        yield "\narguments:"
        for name, value in given.items():  # type: ignore[reportUnknownVariableType]
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            first, *rest = text.split("\n")
            yield f"  {name}: {first}"
            yield from (f"    {line}" for line in rest)
    elif given:
        yield f"\narguments:\n  {given}"
    if call.decisions:
        yield "\npolicies:"
        for policy, allowed, reason, asks in call.decisions:
            said = "allowed" if allowed else "asked a person" if asks else "denied"
            yield f"  {policy}: {said}{f', {reason}' if reason else ''}"
    if call.rendered:
        yield "\nreply:"
        yield from (f"  {line}".rstrip() for line in call.rendered.split("\n"))
