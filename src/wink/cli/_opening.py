"""Open the workspace of a command, as the settings have it, and say what was recovered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import click

from wink.cli._shorten import one_line, visible
from wink.cli._standing import shown_path
from wink.cli._warnings import show_warnings
from wink.cli.settings import WORKSPACE_FILES, max_file_bytes_for
from wink.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wink.errors import WinkError
    from wink.filesystem import Recovered
    from wink.plugins import Catalog
    from wink.workspace import Workspace

_SHOWN: Final = 20
T = TypeVar("T")


def open_workspace(path: str, *, looking: bool = False) -> Workspace:
    """Open a workspace, and say on standard error what was recovered from a call that died.

    Raises `SettingsError`; but for `looking`, and going back, a file of the workspace that makes no sense is told of and left
    out, since an agent could have made it so.
    """
    from wink.cli._masked import use
    from wink.cli.settings import keep_for, masking_for
    from wink.filesystem import MAX_FILE_BYTES
    from wink.workspace import Workspace

    show_warnings()

    def read(one: Callable[..., T]) -> T:
        return whatever_makes_sense(one) if looking else one()

    masking = use(read(partial(masking_for, path)))
    most = read(partial(max_file_bytes_for, path, MAX_FILE_BYTES))
    workspace = Workspace.open(path, masking=masking, max_file_bytes=most, keep=lambda: read(partial(keep_for, path)))
    if workspace.recovered:
        click.echo("wink: a process was killed in the middle of a call:", err=True)
        for line in recovery_lines(workspace.recovered, workspace.state):
            click.echo(visible(f"  {line}"), err=True)
    return workspace


def check_settings(path: str) -> None:
    """Raise the `SettingsError` for which `open_workspace` refuses a workspace to what lets tools run."""
    from wink.cli.settings import keep_for, masking_for
    from wink.filesystem import MAX_FILE_BYTES

    masking_for(path)
    max_file_bytes_for(path, MAX_FILE_BYTES)
    keep_for(path)


def whatever_makes_sense(read: Callable[..., T]) -> T:
    """What `read(without=...)` makes of the settings without those files of the workspace that make no sense.

    The person is told of each, once a command.

    Raises `SettingsError` for the user's own.
    """
    without: set[str] = set()
    while True:
        try:
            return read(without=without)
        except SettingsError as error:
            if error.source not in WORKSPACE_FILES or error.source in without:
                raise
            without.add(error.source)
            _tell_once(error, "what it says does not count here, and no tool runs until it is fixed")


def asked_catalog(root: str) -> Catalog:
    """The plugins that add to what a command shows: wink's own alone, and the person is told, where the settings make no sense."""
    from wink.cli.settings import commands_catalog

    catalog, problem = commands_catalog(root)
    if problem is not None:
        _tell_once(problem, "wink's own plugins alone are asked")
    return catalog


def _tell_once(error: WinkError, consequence: str) -> None:
    context = click.get_current_context(silent=True)
    told: set[str] = set() if context is None else context.meta.setdefault("wink.told", set())
    if str(error) not in told:
        told.add(str(error))
        click.echo(one_line(f"wink: {error}; {consequence}"), err=True)


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
