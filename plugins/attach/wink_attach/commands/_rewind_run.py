"""`wink rewind --run`: a run of `wink run` goes back to the end of one of its turns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from wink.cli import doubts, echo_json, echo_reverted, json_of_reverted, one_line, opened_for_reading, wrong
from wink.errors import NothingToUndo
from wink.record import CallFilter

if TYPE_CHECKING:
    from wink.workspace import Workspace

_RUN: Final = re.compile(r"r?([1-9][0-9]{0,14})", re.IGNORECASE)


def rewind_run(
    workspace: str, name: str, to: int, words: Sequence[str], *, fork: bool, dry_run: bool, as_json: bool
) -> tuple[str, ...]:
    """Do it, or only tell, and give the command that goes on with the run; raises `WrongInput`."""
    found = _RUN.fullmatch(name.strip())
    if found is None:
        raise wrong(f"{name!r} is no run; `wink runs --all` lists them, such as r1")
    with opened_for_reading(workspace) as opened:
        try:
            done = opened.rewind(int(found[1]), to, fork=fork, dry_run=dry_run)
        except NothingToUndo as error:
            raise wrong(str(error)) from None
        command = (
            "wink",
            "run",
            *(("--workspace", workspace) if workspace != "." else ()),
            "--resume",
            done.run,
            *words,
        )
        if as_json:
            told = json_of_reverted(done.reverted)
            echo_json(
                to=to, run=done.run, turns=list(done.turns), command=list(command), ready=not dry_run, undone=told
            )
            return command
        said = {one.number: one.text for one in opened.record.runs.said(int(found[1]))}
        for turn in done.turns:
            words_of = " ".join(said.get(turn, "").split())
            click.echo(one_line(f"turn {turn} {'would go' if dry_run else 'goes'}: {words_of}".rstrip(": ")))
        if done.reverted.calls or done.reverted.changes:
            echo_reverted(done.reverted, "would undo" if dry_run else "undone", opened)
            for line in doubts(done.reverted, opened, CallFilter(run=f"r{found[1]}")):
                click.echo(one_line(f"  {line}"))
        else:
            click.echo("no file changes")
        if lost := _undone_before(opened, int(found[1]), to):
            click.echo(f"undone before, of the turns that stay: {', '.join(f'c{call}' for call in lost)}")
    if not dry_run:
        after = f"after turn {to}" if to else "from its task"
        click.echo(f"{f'{done.run}, a copy of r{found[1]},' if fork else done.run} goes on {after} with")
        click.echo(f"  {shlex.join(command)}")
    return command


def _undone_before(opened: Workspace, number: int, to: int) -> list[int]:
    """The calls of the turns that stay which somebody has taken back: the conversation knows nothing of that."""
    undone, runs = opened.undone(), opened.record.runs
    calls = [past.call for past in opened.record.past_of(CallFilter(run=f"r{number}")) if past.position in undone]
    return [call for call in calls if call is not None and runs.turn_of(number, call) <= to]
