"""Read from the settings what files may be like: how large, whether Windows must hold their names, and which of the home are real."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple, cast

from wink.cli.settings._sources import sources
from wink.errors import SettingsError

_KEY: Final = "max_file_bytes"
_NAMES: Final = "portable_names"
_PERSIST: Final = "persist"
_MOST: Final = 100


class PersistSettings(NamedTuple):
    """The files of the home that a try may make real, where that is said, and what the person should know, a line each."""

    entries: tuple[str, ...] = ()
    shown: str = ""
    place: str = _PERSIST
    notes: tuple[str, ...] = ()


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


def persist_settings(workspace: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> PersistSettings:
    """What `persist` says in the user's own settings; a workspace's file is not heeded, nor if the user trusts it.

    Raises `SettingsError`. What the entries mean is for `wink try` to say.
    """
    found, notes = PersistSettings(), list[str]()
    for source in sources(os.fspath(workspace), os.environ if environ is None else environ):
        given, place = source.table(_PERSIST, None)
        if given is None:
            continue
        if source.is_workspace:
            where = source.place(_PERSIST)
            notes.append(f"{where}: {place} is not heeded in a file of the workspace; say it in your own settings")
            continue
        items: list[Any] = cast("list[Any]", given) if isinstance(given, list) else [None]
        if len(items) > _MOST or not all(isinstance(item, str) for item in items):
            raise SettingsError(source.shown, [f"$.{place}: must be a list of at most {_MOST} texts"])
        found = PersistSettings(tuple(items), source.shown, place)
    return found._replace(notes=tuple(notes))
