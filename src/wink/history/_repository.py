"""Open the history with GitPython, for programs that want to read it as any other repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wink._bounded import SETTINGS, content
from wink.errors import HistoryDamaged
from wink.history._store import CONFIG, NAME

if TYPE_CHECKING:
    from git import Repo


def repository(state: str) -> Repo | None:
    """The history kept in `state`, or None while nothing has been folded; raises `HistoryDamaged`.

    It is a bare repository. What git runs for it sees no settings of the user's or of the machine's, and none in it but ours:
    the state directory may have come with a workspace from somewhere.
    """
    place = os.path.join(state, NAME)
    if not os.path.lexists(place):
        return None
    _check_settings(place)
    try:
        # It starts git when it is imported, so not before somebody asks for it.
        from git import InvalidGitRepositoryError, NoSuchPathError, Repo
    except ImportError as error:
        raise HistoryDamaged(place, f"GitPython cannot be used here: {error}") from error
    try:
        found = Repo(place)
    except (InvalidGitRepositoryError, NoSuchPathError, ValueError) as error:
        raise HistoryDamaged(place, "git takes it for no repository") from error
    found.git.update_environment(
        GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull, GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0"
    )
    return found


def _check_settings(place: str) -> None:
    try:
        is_ours = content(f"{place}/config", most=SETTINGS) == CONFIG
    except OSError as error:
        raise HistoryDamaged(place, f"its settings: {error.strerror}") from error
    if not is_ours or any(
        os.path.lexists(f"{place}/{name}") for name in ("config.worktree", "info/attributes", "commondir")
    ):
        raise HistoryDamaged(place, "somebody has given it settings of its own, which git would follow")
