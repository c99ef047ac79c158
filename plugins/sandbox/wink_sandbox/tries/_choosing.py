"""Choose, by paths and patterns, from what was changed in a try."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from wink.errors import NothingTried, PathRefused
from wink.filesystem import workspace_path
from wink_sandbox import Differences, Overlay, Step, with_git_config
from wink_sandbox.tries._layer import seen
from wink_sandbox.tries._parted import deleted_within, is_deleted_within, parted

if TYPE_CHECKING:
    from wink_sandbox import RemoteSetting

_REPOSITORY: Final = ".git"


def chosen(
    overlay: Overlay,
    name: str,
    paths: Sequence[str],
    without: Sequence[str] = (),
    confirmed: Collection[RemoteSetting] = (),
) -> Differences:
    """What was changed at and beneath some paths, all where there are none, and not `without` others; raises `NothingTried`.

    A directory that was deleted goes in part where only a part of it is meant.
    """
    found = tried = seen(overlay)
    if paths:
        places = [place for path in paths for place in _at(path, found, name)]
        alone = [one for one in places if not any(one != place and is_at(one, place) for place in places)]
        found = parted(found, alone).only(alone)
    left_out = [place for path in without for place in _repository_at(path, overlay.root) or _at(path, tried, name)]
    if left_out:
        found = parted(found, left_out)
        names = {*(step.path for step in found.steps), *(path for path, _ in found.notes)}
        found = found.without(one for one in names if any(is_at(one, place) for place in left_out))
    return with_git_config(found, confirmed)


def plain(path: str) -> str | None:
    """The path in the workspace that a text names; None where it names none, as many a pattern does."""
    try:
        return str(workspace_path(path))
    except PathRefused:
        return None


def is_at(name: str, place: str) -> bool:
    """Whether a path is at or beneath another one."""
    return not place or name == place or name.startswith(f"{place}/")


def _at(path: str, found: Differences, name: str) -> list[str]:
    """Where a path leads to that was changed, or a pattern as those of git; raises `NothingTried`."""
    # A name that no file tool would take can be given as it is, and one with a bracket in it means itself.
    place = path if any(step.path == path for step in found.steps) else plain(path)
    if place is not None and any(not place or f"{step.path}/".startswith(f"{place}/") for step in found.steps):
        return [place]
    if place is not None and is_deleted_within(found, place):
        return [place]
    from wink.filesystem.search import matching  # few paths are patterns

    fits = matching(path)
    places = [
        step.path
        for step in found.steps
        if fits is not None and fits.covers(step.path, is_directory=_is_directory(step))
    ]
    places += [one for one in deleted_within(found) if fits.covers(one, is_directory=False)] if fits is not None else []
    if not places and place is None:
        workspace_path(path)  # which says what is wrong with it
    if not places and place != "":
        raise NothingTried(path, name)
    noted = (path for path, _ in found.notes if fits is not None and fits.covers(path, is_directory=False))
    return [*places, *noted]


def _repository_at(path: str, root: str) -> list[str]:
    """The path, where that is of a `.git`: what git wrote elsewhere because of it is meant too."""
    place = plain(path) or ""
    is_one = os.path.basename(place) == _REPOSITORY and os.path.lexists(f"{root}/{place}")
    return [place] if is_one or place == _REPOSITORY else []


def _is_directory(step: Step) -> bool:
    found = step.made if step.made is not None else step.found
    return found is not None and stat.S_ISDIR(found.st_mode)
