"""Read from the settings what files may be like: how large one write may make one, and whether Windows must hold their names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from wink.cli.settings._sources import sources
from wink.errors import SettingsError

_KEY: Final = "max_file_bytes"
_NAMES: Final = "portable_names"


def max_file_bytes_for(
    workspace: str | os.PathLike[str], otherwise: int, environ: Mapping[str, str] | None = None
) -> int:
    """The smallest bound of all settings that give one, else `otherwise`; an agent's own file cannot raise it.

    The user's own settings, and a workspace's that the user trusts, may be above `otherwise`. Raises `SettingsError`.
    """
    allowed: list[int] = []
    restricting: list[int] = []
    for source in sources(os.fspath(workspace), os.environ if environ is None else environ):
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
