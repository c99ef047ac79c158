"""`wink undo` and `wink redo`: take calls back, and bring them back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from wink.cli._calls import (
    GUESSED,
    NOT_KEPT,
    call_number,
    echo_json,
    json_of_change,
    json_option,
    opened_for_reading,
    turn_option,
)
from wink.cli._shorten import one_line
from wink.cli._standing import shown_path, told, workspace_option
from wink.cli._wrong import wrong
from wink.errors import UndoConflict, WinkError
from wink.filesystem import path_in_json

if TYPE_CHECKING:
    from wink.record import CallFilter
    from wink.workspace import Reverted, Workspace

_FORCE: Final = "with --force it is taken back all the same, and `wink redo` brings back what is there now"
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")


@click.command()
@click.argument("what", required=False, metavar="[N | CALL]")
@workspace_option
@click.option("--session", metavar="NAME", help="All calls of one session, or the last N of them.")
@click.option("--agent", metavar="NAME", help="The same of an attached agent, such as claude-code.")
@click.option("--run", metavar="RUN", help="The same of a run, as `wink runs` names it.")
@turn_option
@click.option("--force", is_flag=True, help="Take files back also where others have changed them since.")
@_dry_run
@json_option
def undo(
    what: str | None,
    workspace: str,
    session: str | None,
    agent: str | None,
    run: str | None,
    turn: int | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take back the last call that changed anything, the last N, or one CALL such as c7.

    With --session, --agent or --run all that the calls of that one changed, whatever others have done elsewhere since; with
    --turn all that an attached agent's calls changed for one prompt of yours.

    Files and session state go back together. Whatever was done since stays; where it stands in the way nothing is changed,
    and the paths are named. With --force it goes too, and is kept by the undo. An undo is a call itself: `wink redo` takes it
    back, and brings what was in the way back as it was.
    """
    call = call_number(what) if what is not None and what.startswith("c") else None
    if what is not None and call is None and not (what.isascii() and what.isdigit() and 0 < int(what) < 1 << 31):
        raise wrong(
            f"{what!r} is neither a number of calls nor a call; give for example 2, or c7 as `wink log` shows it"
        )
    given = sum(one is not None for one in (call or turn, session, agent, run))
    if given > 1 or (turn is not None and what is not None):
        raise wrong(
            "give a call, --session, --agent, --run or --turn, not several of them; a number of calls not with --turn"
        )
    with opened_for_reading(workspace) as opened:
        n = int(what) if what is not None and call is None else None
        take_back = partial(opened.undo, call, n=n, session=session, agent=agent, run=run, turn=turn)
        try:
            done = take_back(dry_run=dry_run, force=force)
        except UndoConflict as error:
            if not force:
                with suppress(WinkError):  # then --force would not help either
                    take_back(dry_run=True, force=True)
                    raise click.ClickException(f"{told(error)}; {_FORCE}") from error
            raise
        run = opened.call(done.calls[0]).run if turn is not None and done.calls else run
        is_one = session is not None or agent is not None or run is not None
        if not is_one:
            noted = ((number, opened.call(number).error or "") for number in done.calls)
            guesses = [f"c{number} is not all taken back: {text}" for number, text in noted if NOT_KEPT in text]
        else:
            from wink.record import CallFilter

            guesses = list(doubts(done, opened, CallFilter(session, run=run, agent=agent)))
        if as_json:
            echo_json(**json_of_reverted(done), notes=guesses)
            return
        echo_reverted(done, "undone" if not dry_run else "would undo", opened)
        for line in guesses:
            click.echo(one_line(f"  {line}"))


def doubts(done: Reverted, opened: Workspace, wanted: CallFilter) -> Iterator[str]:
    """Say of which changes it is not known whether they are an agent's own, taken back or not, and what stays since it was not kept."""
    undone = opened.record.undone()
    page = opened.record.queries.page(wanted, limit=None, brief=True, width=0)
    for call in reversed(page):
        if NOT_KEPT in (call.error or "") and (call.position in done.calls or call.transaction not in undone):
            yield f"c{call.position} is not all taken back: {call.error}"
        if not (call.error or "").startswith(GUESSED):
            continue
        if call.position in done.calls:
            yield f"c{call.position} is {call.error}"
        elif call.effects == "read" and call.transaction not in undone:
            yield f"c{call.position} stays, {call.error}; `wink undo c{call.position}` takes it back"


@click.command()
@workspace_option
@click.option("--session", metavar="NAME", help="Only the undos of one session's calls.")
@_dry_run
@json_option
def redo(workspace: str, session: str | None, dry_run: bool, as_json: bool) -> None:
    """Take back the last undo that stands."""
    with opened_for_reading(workspace) as opened:
        done = opened.redo(session=session, dry_run=dry_run)
        if as_json:
            echo_json(**json_of_reverted(done))
        else:
            echo_reverted(done, "redone" if not dry_run else "would redo", opened)


def json_of_reverted(done: Reverted) -> dict[str, object]:
    """What was taken back, or would be where `call` is None, for machines."""
    return {
        "call": None if done.call is None else f"c{done.call}",
        "calls": [f"c{call}" for call in done.calls],
        "changes": [json_of_change(change) for change in done.changes],
        "session_state": list(done.types),
        "kept": list(map(path_in_json, done.kept)),
        "lost": list(map(path_in_json, done.lost)),
        "forced": list(map(path_in_json, done.forced)),
    }


def echo_reverted(done: Reverted, what: str, opened: Workspace) -> None:
    """Say what was taken back, or show what would be."""
    from wink.cli._changed import Shown, echo_diff, echo_paths

    calls = ", ".join(f"c{call}" for call in done.calls) or "what others changed"
    by = "" if done.call is None else f" (c{done.call})"
    click.echo(f"{what} {calls}{by}")
    shown = Shown(opened.filesystem.ignored())
    if done.call is None:
        echo_diff(done.changes, shown)
    else:
        echo_paths(done.changes, shown, how=f"wink show c{done.call}")
    if done.types:
        click.echo(f"  session state: {', '.join(name.rpartition(':')[2] for name in done.types)}")
    for path in done.forced:
        way = "" if done.call is None else f"; what was there is kept in c{done.call}, and `wink redo` brings it back"
        click.echo(one_line(f"  {shown_path(path)} had been changed since{way}"))
    for path in done.kept:
        click.echo(one_line(f"  {shown_path(path)} stays: somebody else has changed it"))
    for path in done.lost:
        click.echo(one_line(f"  {shown_path(path)} does not come back: it was a socket, a FIFO or a device"))
