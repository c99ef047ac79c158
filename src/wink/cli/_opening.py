"""Open the workspace of a command, as the settings have it, and say what was recovered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import click

from wink.cli._shorten import visible
from wink.cli._standing import shown_path
from wink.cli._warnings import show_warnings
from wink.cli.settings import max_file_bytes_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wink.filesystem import Recovered
    from wink.workspace import Workspace

_SHOWN: Final = 20


def open_workspace(path: str) -> Workspace:
    """Open a workspace, and say on standard error what was recovered from a call that died."""
    from wink.cli._masked import use
    from wink.cli.settings import keep_for, masking_for
    from wink.filesystem import MAX_FILE_BYTES
    from wink.workspace import Workspace

    show_warnings()
    most = max_file_bytes_for(path, MAX_FILE_BYTES)
    workspace = Workspace.open(path, masking=use(masking_for(path)), max_file_bytes=most, keep=partial(keep_for, path))
    if workspace.recovered:
        click.echo("wink: a process was killed in the middle of a call:", err=True)
        for line in recovery_lines(workspace.recovered, workspace.state):
            click.echo(visible(f"  {line}"), err=True)
    return workspace


def recovery_lines(done: Iterable[Recovered], state: str) -> Iterable[str]:
    """What became of calls whose processes were killed, for people."""
    for one in done:
        paths = ", ".join(map(shown_path, one.paths[:_SHOWN])) or "no file"
        if len(one.paths) > _SHOWN:
            paths += f" and {len(one.paths) - _SHOWN} more"
        yield f"{'kept' if one.outcome == 'kept' else 'took back'} {one.transaction_id}: {paths}"
        for conflict in one.conflicts:
            where = f"; it is kept in {state}/{conflict.kept}" if conflict.kept else ""
            yield f"  {shown_path(conflict.path)} {conflict.reason}{where}"
