"""`wink show`: one call or one run, with all that is known of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from wink.cli._calls import (
    argument_lines,
    call_number,
    decided,
    json_of_call,
    json_of_change,
    opened_for_reading,
    plugin_of,
)
from wink.cli._changed import Shown, all_option, color_option, echo_diff
from wink.cli._pager import paged
from wink.cli._programs import program_lines, programs_of
from wink.cli._shorten import visible
from wink.cli._standing import workspace_option
from wink.cli._wrong import wrong
from wink.cli.past._story import json_of_run, json_of_said, run_lines, said_lines, turn_of

if TYPE_CHECKING:
    from wink.record import CallView, Said

_RUN: Final = re.compile(r"r([1-9][0-9]{0,14})")


@click.command()
@click.argument("call")
@workspace_option
@all_option
@color_option
@click.option("--prompt", "prompts", is_flag=True, help="Of a run, show its prompts whole.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def show(call: str, workspace: str, unfolded: bool, show_all: bool, prompts: bool, when: str, as_json: bool) -> None:
    """Show one CALL: what the model said before it, arguments, policies, the reply, and what it did to the files.

    Of a call that was rolled back, what it had done is shown as far as it is known. CALL can be a run as well, such as r3:
    what it was asked, and all that the model said, with its calls.
    """
    del when  # its callback has seen to it
    run = _RUN.fullmatch(call)
    if run is not None:
        _show_run(workspace, int(run[1]), prompts=prompts, as_json=as_json)
        return
    number = call_number(call)
    with opened_for_reading(workspace) as opened:
        found, changes = opened.call(number), opened.diff(number)
        said, programs = turn_of(opened, found), programs_of(opened.record.queries, found)
        if as_json:
            diffs = [json_of_change(change, diff=change.diff()) for change in changes]
            told = {"said": None if said is None else json_of_said(said)}
            click.echo(
                json.dumps(
                    {**json_of_call(found), **told, "programs": programs, "reply": found.rendered, "changes": diffs},
                    indent=2,
                )
            )
            return
        with paged(workspace):
            for line in _lines(found, said, programs):
                click.echo(visible(line))
            if changes:
                stayed = "changed:" if found.committed else "had changed, before it was taken back:"
                click.echo(f"\n{stayed}\n")
                shown = Shown(opened.filesystem.ignored(), unfolded, show_all, f"wink show c{number}")
                echo_diff(changes, shown, exact=False)


def _show_run(workspace: str, number: int, *, prompts: bool, as_json: bool) -> None:
    with opened_for_reading(workspace) as opened:
        row = opened.record.runs.find(number)
        if row is None:
            known = ", ".join(f"r{one.number}" for one in opened.record.runs.rows()[-5:])
            raise wrong(
                f"there is no run r{number} here; {f'the last ones are {known}' if known else 'there are none'}"
            )
        if as_json:
            click.echo(json.dumps(json_of_run(opened, row), indent=2))
            return
        with paged(workspace):
            for line in run_lines(opened, row, prompts=prompts):
                click.echo(visible(line))


def _lines(call: CallView, said: Said | None, programs: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"c{call.position}  {call.tool}  {call.word}"
    yield f"{call.started_at.astimezone():%Y-%m-%d %H:%M:%S}, {call.milliseconds:.1f} ms, session {call.session}, id {call.call_id}"
    if (plugin := plugin_of(call)) is not None:
        yield f"offered by plugin {plugin['name']} of {plugin['distribution']} {plugin['version']}".rstrip()
    if call.run:
        yield f"made in run {call.run}{f', turn {said.number}' if said else ''}"
    if said is not None and (said.text or said.thinking):
        yield "\nbefore it the model said:"
        yield from said_lines(said)
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
    if programs:
        yield "\nprograms:"
        yield from (f"  {line}" for line in program_lines(programs))
    if call.error and call.word in ("ok", "undone"):
        yield "\nnoted:"
        yield from (f"  {line}".rstrip() for line in call.error.split("\n"))
    if call.rendered:
        yield "\nreply:"
        yield from (f"  {line}".rstrip() for line in call.rendered.split("\n"))
