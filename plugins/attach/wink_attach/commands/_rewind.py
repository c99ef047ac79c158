"""`wink rewind`: files and conversation go back to the end of a turn together."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from wink.cli import (
    doubts,
    echo_json,
    echo_reverted,
    json_of_reverted,
    json_option,
    one_line,
    opened_for_reading,
    workspace_option,
    wrong,
)
from wink.errors import NothingToUndo
from wink.record import CallFilter
from wink_attach._agent import Resuming, Resumption
from wink_attach._judge import Judge
from wink_attach._offers import agent_named
from wink_attach.commands._attach import is_attached, scope_of
from wink_attach.commands._running import run_attached

if TYPE_CHECKING:
    from wink.record import Turn
    from wink.workspace import Reverted, Workspace

_EVERY = 1 << 31


@click.command()
@click.option(
    "--to",
    "number",
    required=True,
    type=click.IntRange(min=1),
    metavar="TURN",
    help="The last turn that stays, as `wink log` numbers them.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]")
@workspace_option
@click.option("--in-place", is_flag=True, help="In the conversation itself, not in a copy of it.")
@click.option("--go", is_flag=True, help="Start the agent there, with ARGS, instead of printing how.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@json_option
def rewind(
    number: int,
    words: tuple[str, ...],
    workspace: str,
    in_place: bool,
    go: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Go back to the end of a turn of an attached agent: what its later turns did to files is undone, and so is what was said.

    The conversation goes on in a copy that ends there; how the agent is started with it is printed, with ARGS for its command
    line. What you, or others, have changed meanwhile stays; where it is in the way nothing is changed, and the paths are named.
    `wink redo` brings the files forward again, and the conversation as it was is still the agent's.
    """
    root = os.path.realpath(workspace)
    if go and (dry_run or as_json):
        raise wrong("give --go, or --dry-run or --json, not both")
    with opened_for_reading(workspace) as opened:
        turn, gone = _turns(opened, number)
        numbers = [one.number for one in gone]
        planned = _undone(opened, numbers, dry_run=True)
        on = None if dry_run else _resumed(root, turn, gone[0], words, in_place=in_place)
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
    _start(root, turn.agent, on.words)


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


def _start(root: str, name: str, words: Sequence[str]) -> None:
    """Become the agent, attached as it was."""
    if words[:2] == ("wink", "attach"):
        run_attached(agent_named(root, name), root, words[4:], closed=Judge.denies(root), environ=os.environ)
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
