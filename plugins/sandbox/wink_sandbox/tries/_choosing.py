"""Choose, by paths and patterns, from what was changed in a try."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from wink.dataclass import replace
from wink.errors import NothingTried, PathRefused
from wink.filesystem import workspace_path
from wink_sandbox import Differences, Overlay, Step, walk_tree, with_git_config
from wink_sandbox.tries._layer import seen

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
        found = _parted(found, alone).only(alone)
    left_out = [place for path in without for place in _repository_at(path, overlay.root) or _at(path, tried, name)]
    if left_out:
        found = _parted(found, left_out)
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
    if place is not None and _is_deleted_within(found, place):
        return [place]
    from wink.filesystem.search import matching  # few paths are patterns

    fits = matching(path)
    places = [
        step.path
        for step in found.steps
        if fits is not None and fits.covers(step.path, is_directory=_is_directory(step))
    ]
    places += (
        [one for one in _deleted_within(found) if fits.covers(one, is_directory=False)] if fits is not None else []
    )
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


def _parted(found: Differences, paths: Iterable[str]) -> Differences:
    """The same, but that deleted directories which these paths lie in stay, and what is in them is deleted one by one.

    What took such a directory's own place stays in the overlay: for that the directory would have to go.
    """
    paths = frozenset(paths)
    stays = {path[:at] for path in paths for at in range(len(path)) if path[at] == "/"}
    gone = [step for step in found.steps if _is_directory_gone(step) and step.path in stays]
    if not gone:
        return found
    anew = {step.path: step for step in found.steps if step.kind == "file"}
    inside = {step.path: tuple(_entries(found.overlay.root, step.path, stays - paths)) for step in gone}
    kept = {path for entries in inside.values() for path, _ in entries}
    above = {path for path in stays if any(is_at(path, one) for one in inside)}
    steps: list[Step] = []
    for step in found.steps:
        if step.path in inside and step.kind == "drop":
            for path, status in inside[step.path]:
                if not (path in anew and stat.S_ISREG(status.st_mode)):
                    steps.append(Step("drop", path, status))
        elif step.path in above and step.kind != "mode":
            continue
        elif step.kind == "file" and step.path in kept:
            place = f"{found.overlay.root}/{step.path}"
            status = os.lstat(place)
            steps.append(replace(step, found=status if stat.S_ISREG(status.st_mode) else None))
        else:
            steps.append(step)
    return replace(found, steps=tuple(steps))


def _deleted_within(found: Differences) -> Iterator[str]:
    """The paths of all that is in directories that a program deleted."""
    for step in found.steps:
        if _is_directory_gone(step):
            for path, _ in walk_tree(f"{found.overlay.root}/{step.path}", closed=False):
                yield f"{step.path}/{path}"


def _is_deleted_within(found: Differences, path: str) -> bool:
    """Whether something is there, in a directory that a program deleted."""
    is_within = any(_is_directory_gone(step) and path.startswith(f"{step.path}/") for step in found.steps)
    return is_within and os.path.lexists(f"{found.overlay.root}/{path}")


def _entries(root: str, directory: str, stays: Collection[str]) -> Iterator[tuple[str, os.stat_result]]:
    """What is in a directory, and in those in it that stay."""
    with os.scandir(f"{root}/{directory}") as entries:
        found = sorted((f"{directory}/{entry.name}", entry.stat(follow_symlinks=False)) for entry in entries)
    for path, status in found:
        if path in stays and stat.S_ISDIR(status.st_mode):
            yield from _entries(root, path, stays)
        else:
            yield path, status


def _is_directory_gone(step: Step) -> bool:
    return step.kind == "drop" and step.found is not None and stat.S_ISDIR(step.found.st_mode)
