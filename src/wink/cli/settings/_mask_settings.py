"""Read from the settings, and from the environment, what has to be masked."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, cast

from wink.cli._wrong import nearest
from wink.cli.settings._sources import Source, sources
from wink.errors import MaskPatternError, SettingsError
from wink.record import Masking

_KEYS: Final = ("patterns", "names", "environment")
_MOST: Final = 100
_SECRET_VARIABLES: Final = (
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*API_KEY",
    "*APIKEY",
    "*_TOKEN",
    "*ACCESS_KEY",
    "*PRIVATE_KEY",
)
"""Variables whose values are secrets whatever anybody says."""
_SHORTEST: Final = 8
"""Values of variables that nobody has named are only secrets from this length on."""
_PLAIN: Final = frozenset({"true", "false", "disabled", "required", "password", "changeme", "optional"})


def masking_for(
    workspace: str | os.PathLike[str], environ: Mapping[str, str] | None = None, *, without: Collection[str] = ()
) -> Masking:
    """What is masked in a workspace: built-in rules, and those of all its settings and of the user's, which add up.

    A workspace can only have more masked: there is no setting that takes a rule away. Raises `SettingsError`, but for files
    of the workspace that are left out by `without`.
    """
    environ = os.environ if environ is None else environ
    patterns: list[str] = []
    names: list[str] = []
    variables: list[str] = []
    for source in sources(os.fspath(workspace), environ, without=without):
        table, place = source.table("mask", {})
        given = _checked(table, place, source)
        patterns += given.get("patterns", ())
        names += given.get("names", ())
        variables += given.get("environment", ())
    return Masking(patterns=patterns, names=names, values=_values(variables, environ))


def _values(named: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    wanted = tuple(named)
    return [
        value
        for name, value in environ.items()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
        or (
            len(value) >= _SHORTEST
            and value.lower() not in _PLAIN
            and not value.startswith(("/", "~"))
            and any(fnmatchcase(name.upper(), pattern) for pattern in _SECRET_VARIABLES)
        )
    ]


def _checked(table: Any, place: str, source: Source) -> dict[str, list[str]]:
    if not isinstance(table, dict):
        raise SettingsError(source.shown, [f"$.{place}: must be a table"])
    problems: list[str] = []
    for key, value in cast("dict[str, Any]", table).items():
        where = f"$.{place}.{key}"
        items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [None]
        if key not in _KEYS:
            known = nearest(key, _KEYS, otherwise=f"there are {', '.join(_KEYS)}")
            problems.append(f"{where}: there is no such setting; {known}")
        elif len(items) > _MOST or not all(isinstance(item, str) and item for item in items):
            problems.append(f"{where}: must be a list of at most {_MOST} texts")
        elif key == "patterns":
            problems += _wrong(items, where)
    if problems:
        raise SettingsError(source.shown, problems)
    return cast("dict[str, list[str]]", table)


def _wrong(patterns: Iterable[str], where: str) -> Iterable[str]:
    for number, pattern in enumerate(patterns):
        try:
            Masking(patterns=[pattern])
        except MaskPatternError as error:
            yield f"{where}[{number}]: {error}"
