"""Read from the settings how much of the past is kept."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple, cast

from wink.cli._wrong import nearest
from wink.cli.settings._sources import Source, sources
from wink.errors import SettingsError
from wink.record import Keep

_MOST: Final = {"calls": 1 << 40, "days": 100_000, "bytes": 1 << 60}


class KeepSettings(NamedTuple):
    """What is kept, and what the person should know, a line each."""

    keep: Keep
    notes: tuple[str, ...]


def keep_settings(
    workspace: str | os.PathLike[str], environ: Mapping[str, str] | None = None, *, without: Collection[str] = ()
) -> KeepSettings:
    """What is kept in a workspace, as the files say that it trusts of its own, and then the user's.

    What an agent could have written is not heeded: by a bound of 0 it could have the traces of what it did removed. Raises
    `SettingsError`, but for files of the workspace that are left out by `without`.
    """
    environ = os.environ if environ is None else environ
    found: dict[str, int] = {}
    notes: list[str] = []
    for source in sources(os.fspath(workspace), environ, without=without):
        table, place = source.table("history", {})
        given = _checked(table, place, source)
        if given and not source.may_loosen:
            notes.append(
                f"{source.place('history', is_table=True)}: [{place}] is not heeded, since an agent could have written it; "
                "`wink trust` the file, or say it in your own settings"
            )
            continue
        found = {**found, **given}  # later beats earlier
    return KeepSettings(Keep(**found), tuple(notes))


def keep_for(workspace: str | os.PathLike[str], *, without: Collection[str] = ()) -> Keep:
    """What is kept in a workspace; raises `SettingsError`, as `keep_settings` does."""
    return keep_settings(workspace, without=without).keep


def keep_lines(source: Source) -> tuple[str, ...]:
    """What a workspace's file says that only counts when it is trusted, a line each; raises `SettingsError`."""
    table, place = source.table("history", {})
    where = source.place("history", is_table=True)
    return tuple(f"{where}: {place}.keep.{key} = {value}" for key, value in _checked(table, place, source).items())


def _checked(table: Any, place: str, source: Source) -> dict[str, int]:
    if not isinstance(table, dict):
        raise SettingsError(source.shown, [f"$.{place}: must be a table"])
    problems: list[str] = []
    given: Any = {}
    for key, value in cast("dict[str, Any]", table).items():
        if key == "keep" and isinstance(value, dict):
            given = cast("dict[str, Any]", value)
        elif key == "keep":
            problems.append(f"$.{place}.keep: must be a table, such as {{ calls = 10000, days = 90 }}")
        else:
            problems.append(f"$.{place}.{key}: there is no such setting; there is keep")
    for key, value in cast("dict[str, Any]", given).items():
        where = f"$.{place}.keep.{key}"
        if key not in _MOST:
            known = nearest(key, _MOST, otherwise=f"there are {', '.join(_MOST)}")
            problems.append(f"{where}: there is no such setting; {known}")
        elif type(value) is not int or not 0 <= value <= _MOST[key]:
            problems.append(f"{where}: must be a whole number from 0 to {_MOST[key]}")
    if problems:
        raise SettingsError(source.shown, problems)
    return given
