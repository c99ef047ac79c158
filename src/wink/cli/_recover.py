"""`wink recover`: end what a killed process left, also where wink cannot decide by itself."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click

from wink.cli._calls import workspace_option
from wink.cli._shorten import visible
from wink.cli._warnings import show_warnings
from wink.cli._wrong import wrong
from wink.errors import RecordCorrupt, RecordUnavailable
from wink.filesystem import HostFilesystem, Recovered
from wink.workspace import STATE_DIRECTORY, Otherwise, Workspace
from wink.workspace import recover as recover_files


@click.command()
@workspace_option
@click.option("--keep", is_flag=True, help="Leave the files as they are where recovery cannot finish.")
@click.option("--undo", is_flag=True, help="Take back what the record does not know, also where it cannot be read.")
def recover(workspace: str, keep: bool, undo: bool) -> None:
    """End the calls that killed processes left half done.

    This happens by itself before the next call. Here it can be asked for, and where it fails, be decided with --keep or
    --undo.
    """
    if keep and undo:
        raise wrong("give --keep or --undo, not both")
    otherwise: Otherwise | None = "keep" if keep else "undo" if undo else None
    show_warnings()
    try:
        with Workspace.open(workspace) as opened:
            opened.recover(otherwise=otherwise)
            done = opened.recovered
    except (RecordCorrupt, RecordUnavailable):
        if otherwise is None:
            raise
        with HostFilesystem(workspace, state=os.path.join(workspace, STATE_DIRECTORY)) as files:
            done = recover_files(files, None, 30.0, otherwise)
    for line in _lines(done):
        click.echo(visible(line))


def _lines(done: Iterable[Recovered]) -> Iterable[str]:
    told = False
    for one in done:
        told = True
        paths = ", ".join(one.paths) or "no file"
        yield f"{'kept' if one.outcome == 'kept' else 'took back'} {one.transaction_id}: {paths}"
        for conflict in one.conflicts:
            where = f"; it is kept in {STATE_DIRECTORY}/{conflict.kept}" if conflict.kept else ""
            yield f"  {conflict.path} {conflict.reason}{where}"
    if not told:
        yield "nothing to recover"
