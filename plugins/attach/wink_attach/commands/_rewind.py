"""`wink rewind`: files and conversation go back to the end of a turn together."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from wink.cli import (
    doubts,
    echo_json,
    echo_reverted,
    json_of_reverted,
    json_option,
    main,
    one_line,
    opened_for_reading,
    workspace_option,
    wrong,
)
from wink.errors import NothingToUndo
from wink.record import CallFilter
from wink_attach._agent import Resuming, Resumption
from wink_attach._offers import agent_named, agent_names
from wink_attach.commands._attach import is_attached, scope_of
from wink_attach.commands._rewind_run import rewind_run

if TYPE_CHECKING:
    from wink.record import Turn
    from wink.workspace import Reverted, Workspace

_EVERY = 1 << 31


@click.command()
@click.option(
    "--to",
    "number",
    required=True,
    type=click.IntRange(min=0),
    metavar="TURN",
    help="The last turn that stays, as `wink log` and `wink show` number them; of a run 0 keeps none.",
)
@click.option("--run", "run_name", metavar="RUN", help="A run of `wink run`, such as r1, and not an attached agent.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]")
@workspace_option
@click.option(
    "--fork/--in-place",
    default=None,
    help="In a copy of the conversation, as for attached agents unless told otherwise, or in itself, as for runs.",
)
@click.option("--go", is_flag=True, help="Start the agent there, with ARGS, instead of printing how.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@json_option
def rewind(
    number: int,
    run_name: str | None,
    words: tuple[str, ...],
    workspace: str,
    fork: bool | None,
    go: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Go back to the end of a turn of an attached agent or a run: what later turns did to files is undone, and what was said.

    How it goes on from there is printed, with ARGS for its command line. What you, or others, have changed meanwhile stays;
    where it is in the way nothing is changed, and the paths are named. `wink redo` brings the files forward again, and the
    conversation of a run with them; the copy's original is still the agent's.
    """
    root = os.path.realpath(workspace)
    if go and (dry_run or as_json):
        raise wrong("give --go, or --dry-run or --json, not both")
    if run_name is not None:
        on_with = rewind_run(workspace, run_name, number, words, fork=bool(fork), dry_run=dry_run, as_json=as_json)
        if go:
            _start(on_with)
        return
    with opened_for_reading(workspace) as opened:
        turn, gone = _turns(opened, number)
        numbers = [one.number for one in gone]
        planned = _undone(opened, numbers, dry_run=True)
        on = None if dry_run else _resumed(root, turn, gone[0], words, in_place=fork is False)
        if go and (on is None or not on.is_ready):
            raise wrong(on.note if on is not None else f"{turn.agent} cannot be started at a moment of a conversation")
        done = planned if dry_run else _undone(opened, numbers, dry_run=False)
        if as_json:
            echo_json(**_json_of(turn, gone, done, on))
            return
        for one in gone:
            click.echo(one_line(f"turn {one.number} {'would go' if dry_run else 'goes'}: {one.prompt}"))
        if done is None:
            click.echo("no file changes")
        else:
            echo_reverted(done, "would undo" if dry_run else "undone", opened)
            for one in gone:
                for line in doubts(done, opened, CallFilter(run=one.run)):
                    click.echo(one_line(f"  {line}"))
    if dry_run:
        return
    if on is None:
        click.echo(f"{turn.agent} has no way back in a conversation: the files alone are what they were")
        return
    if not go:
        click.echo(f"the conversation goes on after turn {turn.number} with\n  {shlex.join(on.words)}")
        if on.note:
            click.echo(f"  {on.note}")
        return
    _start(on.words)


def _turns(opened: Workspace, number: int) -> tuple[Turn, list[Turn]]:
    """The turn that stays, and those of its conversation that go, oldest first; raises `WrongInput`."""
    every = opened.record.queries.turns(_EVERY)
    turn = next((one for one in every if one.number == number), None)
    if turn is None:
        raise wrong(f"there is no turn {number}; `wink log` numbers them")
    gone = [one for one in reversed(every) if one.session == turn.session and one.number > number]
    if not gone:
        raise wrong(f"turn {number} is the last of its conversation; `wink undo --turn` takes it back")
    return turn, gone


def _undone(opened: Workspace, numbers: Sequence[int], *, dry_run: bool) -> Reverted | None:
    """What their calls changed, taken back; None where that is nothing."""
    try:
        return opened.undo(turn=numbers, dry_run=dry_run)
    except NothingToUndo:
        return None


def _resumed(root: str, turn: Turn, gone: Turn, words: Sequence[str], *, in_place: bool) -> Resumption | None:
    """How the agent goes on; None where it cannot. Raises `WrongInput` where it could, and the conversation is gone."""
    if not turn.conversation and turn.agent not in agent_names(root):
        return None  # one that works in an editor, and nobody has attached
    agent = agent_named(root, turn.agent)
    if not isinstance(agent, Resuming):
        return None
    if not turn.mark or not gone.mark:
        raise wrong(
            f"turn {turn.number} was recorded without its place in the conversation; `wink undo --turn` takes files back alone"
        )
    scope = scope_of(root, user=False)
    on = agent.resumed(scope, turn.conversation, turn.mark, gone.mark, words, in_place=in_place)
    if any(is_attached(agent, scope_of(root, user=user)) for user in (False, True)):
        return on
    return on._replace(words=("wink", "attach", turn.agent, "--", *on.words))


def _start(words: Sequence[str]) -> NoReturn:
    """Become what goes on: the agent, or wink with it or with a run."""
    if words[0] == "wink":
        main(words[1:])
    try:
        os.execvp(words[0], list(words))  # noqa: S606  # a program of the user's own
    except OSError as error:
        raise wrong(f"{words[0]!r} cannot be started: {error.strerror}") from None


def _json_of(turn: Turn, gone: Sequence[Turn], done: Reverted | None, on: Resumption | None) -> dict[str, Any]:
    told = {} if done is None else json_of_reverted(done)
    return {
        "to": turn.number,
        "turns": [one.number for one in gone],
        "command": None if on is None else list(on.words),
        "ready": on is not None and on.is_ready,
        "note": "" if on is None else on.note,
        "undone": told or None,
    }
