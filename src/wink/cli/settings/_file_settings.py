"""Read from the settings what files may be like, which of the home are real, which are tools, and which hosts programs may reach."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple, cast

from wink.cli.settings._sources import Source, sources
from wink.errors import SettingsError

_KEY: Final = "max_file_bytes"
_NAMES: Final = "portable_names"
_PERSIST: Final = "persist"
_HIDE: Final = "hide"
_MOST: Final = 100
_NETWORK: Final = "network"
_TOOLS_FILES: Final = "tools_files"
_DEFAULT: Final = "network_default"
_HOSTS: Final = 1000


class OwnList(NamedTuple):
    """A list of texts that only the user's own settings give, where that is said, and what the person should know, a line each.

    `origins` are the file and the line of each.
    """

    entries: tuple[str, ...] = ()
    shown: str = ""
    place: str = ""
    notes: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class NetworkSettings(NamedTuple):
    """The hosts that a try may reach, or whether it may reach any; None where nothing is said. `notes` are for the person, a line each.

    `asks` says that a person is asked about hosts that are not listed. `origins` are the file and the line of each host, `origin` those of the
    setting.
    """

    network: bool | tuple[str, ...] | None = None
    shown: str = ""
    place: str = _NETWORK
    notes: tuple[str, ...] = ()
    asks: bool = False
    origin: str = ""
    origins: tuple[str, ...] = ()


def max_file_bytes_for(
    workspace: str | os.PathLike[str],
    otherwise: int,
    environ: Mapping[str, str] | None = None,
    *,
    without: Collection[str] = (),
) -> int:
    """The smallest bound of all settings that give one, else `otherwise`; an agent's own file cannot raise it.

    The user's own settings, and a workspace's that the user trusts, may be above `otherwise`. Raises
    `SettingsError`, but for files of the workspace that are left out by `without`.
    """
    allowed: list[int] = []
    restricting: list[int] = []
    for source in sources(os.fspath(workspace), os.environ if environ is None else environ, without=without):
        given, called = source.table(_KEY, None)
        if given is None:
            continue
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise SettingsError(source.shown, [f"$.{called}: must be a number of bytes from 1 on"])
        (allowed if source.may_loosen else restricting).append(given)
    return min([min(allowed, default=otherwise), *restricting])


def portable_names_for(workspace: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> bool:
    """Whether any of all settings wants no new names that Windows cannot hold; an agent's own file can only ask for it.

    Raises `SettingsError`.
    """
    wanted = False
    for source in sources(os.fspath(workspace), os.environ if environ is None else environ):
        given, called = source.table(_NAMES, False)
        if not isinstance(given, bool):
            raise SettingsError(source.shown, [f"$.{called}: must be true or false"])
        wanted = wanted or given
    return wanted


def persist_settings(workspace: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> OwnList:
    """Which files of the home a try may make real: what `persist` says. What the entries mean is for `wink try` to say.

    Raises `SettingsError`.
    """
    return _own(_PERSIST, workspace, environ)


def hide_settings(workspace: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> OwnList:
    """What of the machine a try hides besides what it usually does, or with a `!` in front does not: what `hide` says.

    Raises `SettingsError`.
    """
    return _own(_HIDE, workspace, environ)


def tools_files_settings(workspace: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> OwnList:
    """Which files of functions are tools in every workspace: what `tools_files` says, absolute, or beginning with `~/`.

    Raises `SettingsError`.
    """
    found = _own(_TOOLS_FILES, workspace, environ)
    home = (os.environ if environ is None else environ).get("HOME") or ""
    paths = tuple(home + path[1:] if path.startswith("~/") and home else path for path in found.entries)
    if wrong := [path for path in paths if not os.path.isabs(path)]:
        raise SettingsError(found.shown, [f"$.{found.place}: {wrong[0]!r} must be absolute, or begin with ~/"])
    return found._replace(entries=paths)


def _own(key: str, workspace: str | os.PathLike[str], environ: Mapping[str, str] | None) -> OwnList:
    """What the user's own settings say; a workspace's file is not heeded, nor if the user trusts it."""
    found, notes = OwnList(place=key), list[str]()
    for source in sources(os.fspath(workspace), os.environ if environ is None else environ):
        given, place = source.table(key, None)
        if given is None:
            continue
        if source.is_workspace:
            where = source.place(key)
            notes.append(f"{where}: {place} is not heeded in a file of the workspace; say it in your own settings")
            continue
        items: list[Any] = cast("list[Any]", given) if isinstance(given, list) else [None]
        if len(items) > _MOST or not all(isinstance(item, str) for item in items):
            raise SettingsError(source.shown, [f"$.{place}: must be a list of at most {_MOST} texts"])
        found = OwnList(tuple(items), source.shown, place, origins=source.entry_places(key, items))
    return found._replace(notes=tuple(notes))


def network_settings(workspace: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> NetworkSettings:
    """What `network` and `network_default` say; a workspace's file that the user does not trust can only take hosts away.

    Raises `SettingsError`. What the entries mean is for `wink try` to say.
    """
    found, notes, asks = NetworkSettings(), list[str](), False
    # What restricts comes last, whatever the order of the files.
    given = sources(os.fspath(workspace), os.environ if environ is None else environ)
    for source in sorted(given, key=lambda source: not source.may_loosen):
        asks = _asks(source, asks, notes)
        value, place = source.table(_NETWORK, None)
        if value is None:
            continue
        items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
        is_list = isinstance(value, list) and len(items) <= _HOSTS and all(isinstance(item, str) for item in items)
        if not isinstance(value, bool) and not is_list:
            raise SettingsError(source.shown, [f"$.{place}: must be true, false or a list of at most {_HOSTS} hosts"])
        network = value if isinstance(value, bool) else tuple(items)
        if source.may_loosen or _is_tighter(network, found.network):
            asks = asks and (source.may_loosen or bool(network))
            lines = source.entry_places(_NETWORK, items)
            found = NetworkSettings(network, source.shown, place, origin=source.place(_NETWORK), origins=lines)
        else:
            where = source.place(_NETWORK)
            notes.append(
                f"{where}: {place} is not heeded, a file of the workspace can only take hosts away; say it in your own settings"
            )
    return found._replace(notes=tuple(notes), asks=asks)


def _asks(source: Source, so_far: bool, notes: list[str]) -> bool:
    """Whether a person is asked about other hosts once a file has been heeded; raises `SettingsError`."""
    value, called = source.table(_DEFAULT, None)
    if value is None:
        return so_far
    if value not in ("ask", "deny"):
        raise SettingsError(source.shown, [f'$.{called}: must be "ask" or "deny"'])
    if value == "ask" and not source.may_loosen:
        where = source.place(_DEFAULT)
        notes.append(f"{where}: {called} is not heeded in a file of the workspace; say it in your own settings")
        return so_far
    return value == "ask"


def _is_tighter(new: bool | tuple[str, ...], old: bool | tuple[str, ...] | None) -> bool:
    if not new or old is None or old is True:
        return new is not True
    return not isinstance(new, bool) and set(new) <= set(old or ())
