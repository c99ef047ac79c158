"""`wink recover`: end what a killed process left, also where wink cannot decide by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, TypeAlias

import click

from wink.cli._calls import echo_json, json_option
from wink.cli._opening import recovery_lines
from wink.cli._shorten import one_line, visible
from wink.cli._standing import shown_path, workspace_option
from wink.cli._warnings import show_warnings
from wink.cli._wrong import wrong
from wink.errors import RecordCorrupt, RecordTooNew, RecordUnavailable, StateNotKnown
from wink.filesystem import HostFilesystem
from wink.limits import utc_now
from wink.state import DIRECTORY, locate, put_all_aside, unknown
from wink.state import put_aside as put_stranger_aside
from wink.workspace import (
    Otherwise,
    Workspace,
    has_journals,
    open_record,
    put_aside,
    put_journals_aside,
    put_strange_aside,
)
from wink.workspace import recover as recover_files

_SHOWN: Final = 20
_Say: TypeAlias = Callable[[str], object]


@click.command()
@workspace_option
@click.option("--keep", is_flag=True, help="Leave the files as they are where recovery cannot finish.")
@click.option("--undo", is_flag=True, help="Take back what the record does not know, also where it cannot be read.")
@click.option(
    "--set-aside",
    is_flag=True,
    help="Move a record that cannot be used, or a state that is not yours, to a directory of its own.",
)
@json_option
def recover(workspace: str, keep: bool, undo: bool, set_aside: bool, as_json: bool) -> None:
    """End the calls that killed processes left half done.

    This happens by itself before the next call. Here it can be asked for, and where it fails, be decided with --keep or
    --undo. A record that is damaged, or of a later wink, is never written to: --set-aside moves it to a directory
    `aside-…` as it is, and a new one begins. The same for a state that came with the workspace, or was copied.
    """
    if keep and undo:
        raise wrong("give --keep or --undo, not both")
    otherwise: Otherwise | None = "keep" if keep else "undo" if undo else None
    show_warnings()
    lines: list[str] = []
    say: _Say = lines.append if as_json else click.echo
    if set_aside:
        _set_aside(workspace, otherwise, say)
    else:
        _recover(workspace, otherwise, say)
    if as_json:
        echo_json(told=lines)


def _recover(workspace: str, otherwise: Otherwise | None, say: _Say) -> None:
    try:
        with Workspace.open(workspace) as opened:
            state = opened.state
            opened.recover(otherwise=otherwise)
            done = opened.recovered
    except (RecordCorrupt, RecordUnavailable):
        if otherwise is None:
            raise
        state = locate(workspace)
        with HostFilesystem(workspace) as files:
            done = recover_files(files, None, 30.0, otherwise)
    for line in recovery_lines(done, state):
        say(visible(line))
    if not done:
        say("nothing to recover")


def _set_aside(workspace: str, otherwise: Otherwise | None, say: _Say) -> None:
    root = os.path.realpath(workspace)
    try:
        problem = _problem(workspace)
    except StateNotKnown:
        _set_strangers_aside(root, say)
        return
    if problem is None:
        if unknown(root):
            _set_strangers_aside(root, say)
        elif not _set_journals_aside(workspace, say):
            raise wrong("the record can be used; there is no reason to put it aside")
        return
    if isinstance(problem, RecordCorrupt) and problem.path == os.path.join(root, DIRECTORY):
        place = put_all_aside(root, f"{DIRECTORY}-aside-{utc_now():%Y%m%dT%H%M%SZ}")
        say(one_line(f"{problem.reason}: it is in {place}"))
        say("a new record begins with the next call")
        return
    state = locate(workspace)
    names, place = put_strange_aside(state)
    if names:
        say(one_line(f"{', '.join(names)}: wink did not put that there: it is in {place}"))
        if (problem := _problem(workspace)) is None:
            say("the record is as it was")
            return
    if otherwise is None and has_journals(state):
        raise wrong("a call was left half done, and the record cannot say how it ended; give --keep or --undo, too")
    with HostFilesystem(workspace) as files:
        if otherwise is not None:
            for line in recovery_lines(recover_files(files, None, 30.0, otherwise), state):
                say(visible(line))
        place = put_aside(files, state)
    say(
        one_line(
            f"{problem.reason if isinstance(problem, RecordCorrupt) else 'it is of a later wink'}: it is in {place}"
        )
    )
    say("a new record begins with the next call")


def _problem(workspace: str) -> RecordCorrupt | RecordTooNew | None:
    """Why the record cannot be used."""
    try:
        open_record(workspace).close()
    except (RecordCorrupt, RecordTooNew) as error:
        return error
    return None


def _set_journals_aside(workspace: str, say: _Say) -> bool:
    """Move away what lies among the journals and is none; whether there was any."""
    state = locate(workspace)
    if not has_journals(state):
        return False
    with Workspace.open(workspace) as opened:
        names, place = put_journals_aside(opened.recover, state)
    if names:
        say(one_line(f"{', '.join(names[:_SHOWN])}: no journal that this wink can finish: it is in {place}"))
        say("the record is as it was")
    return bool(names)


def _set_strangers_aside(root: str, say: _Say) -> None:
    """Move each state that is not known to be this user's to where nobody looks."""
    for number, found in enumerate(unknown(root), 1):
        place = put_stranger_aside(root, found, f"aside-{utc_now():%Y%m%dT%H%M%SZ}-{number}")
        if number <= _SHOWN:
            say(
                one_line(
                    f"{shown_path(os.path.normpath(os.path.join(DIRECTORY, found.name)))}: {found.why}: it is in {place}"
                )
            )
    say("a new record begins with the next call")
