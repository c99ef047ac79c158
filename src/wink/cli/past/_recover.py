"""`wink recover`: end what a killed process left, also where wink cannot decide by itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final

import click

from wink.cli._calls import echo_json, json_option
from wink.cli._opening import recovery_lines
from wink.cli._shorten import one_line, visible
from wink.cli._standing import shown_path, workspace_option
from wink.cli._warnings import show_warnings
from wink.cli._wrong import wrong
from wink.errors import RecordCorrupt, RecordTooNew, RecordUnavailable, StateNotKnown
from wink.filesystem import HostFilesystem, Recovered, path_in_json
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


class _Told:
    """What was done, which a person is told at once, and a machine in the end."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._recovered: list[Recovered] = []
        self._state = ""
        self._aside: list[dict[str, object]] = []
        self._is_anew = False

    def recovered(self, done: Iterable[Recovered], state: str) -> None:
        """What became of calls whose processes were killed."""
        self._recovered, self._state = [*self._recovered, *done], state
        self._say(*map(visible, recovery_lines(done, state)))

    def aside(self, names: Sequence[str], reason: str, place: str, *, shown: str = "") -> None:
        """What was moved, why and where to, and how people are shown its `names`; without any it is the record."""
        self._aside.append({"names": list(map(path_in_json, names)), "reason": reason, "place": path_in_json(place)})
        if len(self._aside) <= _SHOWN:
            which = shown or ", ".join(names[:_SHOWN])
            self._say(one_line(f"{which}{': ' if which else ''}{reason}: it is in {place}"))

    def ends(self, *, anew: bool) -> None:
        """How it stands with the record after something was moved."""
        self._is_anew = anew
        self._say("a new record begins with the next call" if anew else "the record is as it was")

    def end(self) -> None:
        """What is left to say."""
        if not self._recovered and not self._aside:
            self._say("nothing to recover")
        if self._as_json:
            found = [_json_of(one, self._state) for one in self._recovered]
            echo_json(recovered=found, set_aside=self._aside, new_record=self._is_anew)

    def _say(self, *lines: str) -> None:
        for line in () if self._as_json else lines:
            click.echo(line)


def _json_of(one: Recovered, state: str) -> dict[str, object]:
    conflicts = [
        {
            "path": path_in_json(conflict.path),
            "reason": conflict.reason,
            "kept": path_in_json(f"{state}/{conflict.kept}") if conflict.kept else None,
        }
        for conflict in one.conflicts
    ]
    paths = list(map(path_in_json, one.paths))
    return {"transaction": one.transaction_id, "outcome": one.outcome, "paths": paths, "conflicts": conflicts}


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
    told = _Told(as_json=as_json)
    (_set_aside if set_aside else _recover)(workspace, otherwise, told)
    told.end()


def _recover(workspace: str, otherwise: Otherwise | None, told: _Told) -> None:
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
    told.recovered(done, state)


def _set_aside(workspace: str, otherwise: Otherwise | None, told: _Told) -> None:
    root = os.path.realpath(workspace)
    try:
        problem = _problem(workspace)
    except StateNotKnown:
        _set_strangers_aside(root, told)
        return
    if problem is None:
        if unknown(root):
            _set_strangers_aside(root, told)
        elif not _set_journals_aside(workspace, told):
            raise wrong("the record can be used; there is no reason to put it aside")
        return
    if isinstance(problem, RecordCorrupt) and problem.path == os.path.join(root, DIRECTORY):
        place = put_all_aside(root, f"{DIRECTORY}-aside-{utc_now():%Y%m%dT%H%M%SZ}")
        told.aside([DIRECTORY], problem.reason, place, shown=shown_path(DIRECTORY))
        told.ends(anew=True)
        return
    state = locate(workspace)
    names, place = put_strange_aside(state)
    if names:
        told.aside(names, "wink did not put that there", place)
        if (problem := _problem(workspace)) is None:
            told.ends(anew=False)
            return
    if otherwise is None and has_journals(state):
        raise wrong("a call was left half done, and the record cannot say how it ended; give --keep or --undo, too")
    with HostFilesystem(workspace) as files:
        if otherwise is not None:
            told.recovered(recover_files(files, None, 30.0, otherwise), state)
        place = put_aside(files, state)
    told.aside((), problem.reason if isinstance(problem, RecordCorrupt) else "it is of a later wink", place)
    told.ends(anew=True)


def _problem(workspace: str) -> RecordCorrupt | RecordTooNew | None:
    """Why the record cannot be used."""
    try:
        open_record(workspace).close()
    except (RecordCorrupt, RecordTooNew) as error:
        return error
    return None


def _set_journals_aside(workspace: str, told: _Told) -> bool:
    """Move away what lies among the journals and is none; whether there was any."""
    state = locate(workspace)
    if not has_journals(state):
        return False
    with Workspace.open(workspace) as opened:
        names, place = put_journals_aside(opened.recover, state)
    if names:
        told.aside(names, "no journal that this wink can finish", place)
        told.ends(anew=False)
    return bool(names)


def _set_strangers_aside(root: str, told: _Told) -> None:
    """Move each state that is not known to be this user's to where nobody looks."""
    for number, found in enumerate(unknown(root), 1):
        place = put_stranger_aside(root, found, f"aside-{utc_now():%Y%m%dT%H%M%SZ}-{number}")
        name = os.path.normpath(os.path.join(DIRECTORY, found.name))
        told.aside([name], found.why, place, shown=shown_path(name))
    told.ends(anew=True)
