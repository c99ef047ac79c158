"""`wink trust`: let a workspace's settings count as one's own, for exactly the content that one has looked at."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, cast

import click

from wink.bounded import SETTINGS, content
from wink.cli._shorten import visible
from wink.cli._standing import shown_path, workspace_option
from wink.cli._wrong import wrong
from wink.cli.settings._keep_settings import keep_lines
from wink.cli.settings._rules import loosening, rule_settings
from wink.cli.settings._settings import installed_catalog
from wink.cli.settings._sources import WORKSPACE_FILES, Source, for_people, sources
from wink.cli.settings._trust_store import Standing, TrustStore, store_file
from wink.errors import PluginWarning
from wink.state import DIRECTORY, adopt, unknown

_SHOWN: Final = 3
"""So many states are named."""


class Offered(NamedTuple):
    """A file of the workspace, and what it would loosen, a line each."""

    source: Source
    lines: tuple[str, ...]


@click.command()
@workspace_option
@click.option("--list", "as_list", is_flag=True, help="List every file that is trusted.")
@click.option("--revoke", is_flag=True, help="Trust this workspace's files no more.")
@click.option("--show", is_flag=True, help="Only show what would be loosened.")
@click.option("--state", "as_state", is_flag=True, help="Take over the record, tries and history that lie here.")
@click.option(
    "--tools",
    "tools_file",
    metavar="FILE",
    type=click.Path(),
    help="Let a file of tools in the workspace run as it is.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def trust(
    workspace: str,
    *,
    as_list: bool,
    revoke: bool,
    show: bool,
    as_state: bool,
    tools_file: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Trust a workspace's settings as they are now.

    What a file of the workspace loosens, beyond your own settings, is shown, and counts once you have agreed; a file that
    changes after that only restricts again. An agent can edit these files, so look before you agree.

    With --state the state that lies in the workspace counts as yours: after the workspace was copied, restored from a backup
    or brought from another machine, or where it was made by the first version of wink. Whoever made it can have prepared
    what tries find in their homes, and what an undo writes: not for a workspace that came from a stranger.

    With --tools a Python file in the workspace may be given to `--tools` of other commands, as it is now.
    """
    if tools_file is not None:
        if as_list or show or as_json or as_state:
            raise wrong("--tools goes with --workspace, --revoke and --yes only")
        return _trust_tools(workspace, tools_file, revoke=revoke, yes=yes)
    if as_state and (as_list or revoke or show or as_json):
        raise wrong("--state goes with --workspace and --yes only")
    if as_list and revoke:
        raise wrong("give --list or --revoke, not both")
    if as_list:
        return _list(as_json=as_json)
    if not os.path.isdir(workspace):
        raise wrong(f"there is no directory {workspace!r}; name one with --workspace")
    if as_state:
        return _trust_state(os.path.realpath(workspace), yes=yes)
    store = _store(workspace)
    if revoke:
        return _revoke(store, workspace)
    offered = _offered(workspace)
    loosening_ones = [one for one in offered if one.lines]
    pending = [one for one in loosening_ones if one.source.standing != "trusted"]
    if as_json:
        click.echo(json.dumps([_row(one) for one in offered], indent=2, ensure_ascii=False))
    else:
        _show(offered)
    if show or not pending:
        return 0
    if not yes and not _is_agreed(pending):
        click.echo("nothing was trusted", err=True)
        return 1
    for one in pending:
        store.trust(one.source.path, one.source.data)
        if not as_json:
            click.echo(visible(f"{one.source.shown} is trusted as it is now; `wink trust --revoke` takes it back"))
    return 0


def _trust_state(root: str, *, yes: bool) -> int:
    there = unknown(root)
    if not there:
        click.echo("there is no state here but your own; there is nothing to trust")
        return 0
    found, *others = there
    if others:
        names = ", ".join(one.name for one in there[:_SHOWN])
        if len(there) > _SHOWN:
            names += f" and {len(there) - _SHOWN} more"
        raise wrong(f"there are several ({names}) in .wink; leave the one that is yours, and move the others away")
    click.echo(visible(f"{shown_path(os.path.normpath(os.path.join(DIRECTORY, found.name)))}: {found.why}"), err=True)
    if not yes and sys.stdin.isatty() and not click.confirm("Did you, or your own wink, make it?", err=True):
        click.echo("nothing was trusted", err=True)
        return 1
    place = adopt(root, found)
    click.echo(visible(f"it is yours from now on, in {shown_path(os.path.relpath(place, root))}"))
    return 0


def _trust_tools(workspace: str, path: str, *, revoke: bool, yes: bool) -> int:
    store = _store(workspace)
    if revoke:
        click.echo(visible(f"{path} is not trusted any more" if store.revoke(path) else f"{path} was not trusted"))
        return 0
    try:
        data = content(path, most=4 * SETTINGS)
    except (OSError, ValueError) as error:
        raise wrong(
            f"cannot read {path!r}: {(error.strerror if isinstance(error, OSError) else None) or error}"
        ) from error
    lines = data.count(b"\n")
    if not yes and sys.stdin.isatty() and not click.confirm(f"Run the {lines} lines of {path} as yours?", err=True):
        click.echo("nothing was trusted", err=True)
        return 1
    store.trust(path, data)
    click.echo(visible(f"{path} is trusted as it is now; `wink trust --tools {path} --revoke` takes it back"))
    return 0


def trusted_as_it_is(path: str, data: bytes, workspace: str) -> Standing:
    """Whether the user trusts a file of a workspace with exactly this content."""
    return TrustStore.of_user(os.environ, workspace=workspace).standing(path, data)


def _store(workspace: str) -> TrustStore:
    store = TrustStore.of_user(os.environ, workspace=workspace)
    if store.path is None:
        path = store_file(os.environ)
        if path is None:
            raise wrong("there is no place for what you trust; set HOME or XDG_STATE_HOME")
        raise wrong(f"{path} lies in this workspace, where an agent can write it; set XDG_STATE_HOME to another place")
    return store


def _offered(workspace: str) -> list[Offered]:
    """The workspace's files as they are, with what each would loosen if nothing of it were trusted."""
    found = [source for source in sources(workspace, os.environ) if source.is_workspace]
    rules = rule_settings(workspace)
    by_path = {file.source.path: file for file in rules.files}
    tables = _table_lines(workspace, found)
    offered: list[Offered] = []
    for source in found:
        file = by_path.get(source.path)
        if file is not None and file.source.data != source.data:
            raise wrong(f"{source.shown} is being changed right now; look again")
        own = () if file is None else loosening(file, rules.own_default)
        offered.append(Offered(source, (*own, *tables.get(source.path, ()), *keep_lines(source))))
    return offered


def _table_lines(workspace: str, found: Iterable[Source]) -> dict[str, list[str]]:
    """The values for plugins that only count when they are trusted, as the plugins say; all of them where none can be asked."""
    lines: dict[str, list[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        catalog = installed_catalog(workspace, trusting=False)
        catalog.load_all()
    asked = {plugin.name for plugin in catalog.plugins if plugin.usable and plugin.state != "broken"}
    for source in found:
        for name, table in _plugin_tables(source).items():
            if name not in asked:
                place = source.place(f"plugins.{name}", is_table=True)
                values = (f"{place}: plugins.{name}.{key} = {_value(source, name, key)}" for key in table)
                lines.setdefault(source.path, []).extend(values)
    for plugin in catalog.plugins:
        for note in plugin.notes:
            place, _, what = note.partition(": ")
            key = what.partition(" is not heeded")[0]
            for source in found:
                if key != what and (place == source.shown or place.startswith(f"{source.shown}:")):
                    value = _value(source, plugin.name, key)
                    lines.setdefault(source.path, []).append(f"{place}: plugins.{plugin.name}.{key} = {value}")
    return lines


def _value(source: Source, plugin: str, key: str) -> str:
    return json.dumps(_plugin_tables(source).get(plugin, {}).get(key), ensure_ascii=False, default=str)


def _plugin_tables(source: Source) -> dict[str, dict[str, Any]]:
    plugins = cast("dict[str, Any]", source.table("plugins", {})[0])
    return {name: cast("dict[str, Any]", table) for name, table in plugins.items() if isinstance(table, dict)}


def _show(offered: list[Offered]) -> None:
    if not offered:
        click.echo("this workspace has no settings; there is nothing to trust")
    for source, lines in offered:
        standing = {"trusted": "trusted as it is", "changed": "changed since it was trusted", "unknown": "not trusted"}
        said = "would loosen" if source.standing != "trusted" else "loosens"
        if not lines:
            click.echo(visible(f"{source.shown}: only restricts, so it counts as it is; there is nothing to trust"))
            continue
        click.echo(visible(f"{source.shown}: {standing[source.standing]}; it {said}:"))
        for line in lines:
            click.echo(visible(f"  {line}"))


def _is_agreed(pending: list[Offered]) -> bool:
    """Whether the person in front of the terminal agrees; a script that runs this command has agreed."""
    files = " and ".join(one.source.shown for one in pending)
    return not sys.stdin.isatty() or click.confirm(f"Trust {files} as shown?", err=True)


def _revoke(store: TrustStore, workspace: str) -> int:
    here = {os.path.realpath(os.path.join(workspace, name)) for name in WORKSPACE_FILES}
    gone = [one.path for one in store.entries if one.path in here]
    for path in gone:
        store.revoke(path)
        click.echo(visible(f"{for_people(path, os.environ)} is not trusted any more"))
    if not gone:
        click.echo("nothing of this workspace was trusted")
    return 0


def _list(*, as_json: bool) -> int:
    store = TrustStore.of_user(os.environ)
    rows: list[dict[str, str]] = []
    for one in store.entries:
        try:
            standing = store.standing(one.path, content(one.path, most=SETTINGS))
        except (FileNotFoundError, NotADirectoryError):
            standing = "gone"
        except OSError:
            standing = "changed"
        rows.append({"path": one.path, "sha256": one.digest, "trusted_at": one.at, "standing": standing})
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    for row in [] if as_json else rows:
        said = {"trusted": "as it is", "changed": "changed since, so not trusted", "gone": "gone"}[row["standing"]]
        click.echo(visible(f"{for_people(row['path'], os.environ)}  {row['trusted_at']}  {said}"))
    if not rows and not as_json:
        click.echo("no file is trusted")
    return 0


def _row(one: Offered) -> dict[str, Any]:
    return {"file": one.source.shown, "standing": one.source.standing, "loosens": list(one.lines)}
