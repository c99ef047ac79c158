"""Open the history with GitPython, for programs that want to read it as any other repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wink.errors import HistoryDamaged
from wink_history._git import neutral
from wink_history._untouched import untouched_store

if TYPE_CHECKING:
    from git import Repo


def repository(state: str) -> Repo | None:
    """The history kept in `state`, or None while nothing has been folded; raises `HistoryDamaged`.

    It is a bare repository. What git runs for it sees no settings of the user's or of the machine's, and none in it but ours:
    the state directory may have come with a workspace from somewhere.
    """
    place = untouched_store(state)
    if place is None:
        return None
    try:
        # It starts git when it is imported, so not before somebody asks for it.
        from git import InvalidGitRepositoryError, NoSuchPathError, Repo
    except ImportError as error:
        raise HistoryDamaged(place, f"GitPython cannot be used here: {error}") from error
    try:
        found = Repo(place)
    except (InvalidGitRepositoryError, NoSuchPathError, ValueError) as error:
        raise HistoryDamaged(place, "git takes it for no repository") from error
    found.git.update_environment(**neutral(place))
    return found
