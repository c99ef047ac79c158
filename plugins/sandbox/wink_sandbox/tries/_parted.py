"""Take a directory that a program deleted entry by entry, where only a part of it is chosen, or a part is to stay."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator

from wink.dataclass import replace
from wink_sandbox import Differences, Step, walk_tree


def parted(found: Differences, paths: Iterable[str]) -> Differences:
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
    above = {path for path in stays if any(_is_at(path, one) for one in inside)}
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


def deleted_within(found: Differences) -> Iterator[str]:
    """The paths of all that is in directories that a program deleted."""
    for step in found.steps:
        if _is_directory_gone(step):
            for path, _ in walk_tree(f"{found.overlay.root}/{step.path}", closed=False):
                yield f"{step.path}/{path}"


def is_deleted_within(found: Differences, path: str) -> bool:
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


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
