"""Decide which of a program's changes may become the workspace's."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from typing import Final

from wink.errors import PathRefused
from wink.filesystem import FileChange, is_git_data, protected_as, unportable_name, workspace_path
from wink.filesystem._installed import SETTINGS, distribution_at, import_places
from wink.sandbox._deep import tree
from wink.sandbox._upper import Step

_PLANTED: Final = "would plant a git repository, whose hooks and settings the next git command would run"
_DELETED: Final = "is a git repository, which programs must not delete"
_DEEP: Final = "is so deep that what is in it has no path; make fewer levels, or shorter names"
_INSTALLED: Final = (
    "names a distribution, and is where the running Python finds it: its entry points are loaded by other programs"
)
_IRREGULAR: Final = "is where wink reads settings, and is no regular file; see what it leads to"
_CODE: Final = "belongs to what git runs or is told by (only objects, refs, logs, index and HEAD are merged)"


def problem(
    step: Step, root: str, *, portable_names: bool, has_repository: Callable[[str], bool], check: Callable[[str], None]
) -> str | None:
    """Why a step must not be taken, or None. `check` raises `PathRefused` for places that are not for programs."""
    path = step.path
    if step.is_too_deep:
        return _DEEP
    at, inside = _repository(path)
    if at is not None:
        return _git_problem(step, at, inside, has_repository)
    if step.kind == "drop" and step.found is not None and stat.S_ISDIR(step.found.st_mode):
        for below, _ in tree(f"{root}/{path}"):
            if protected_as(below.rpartition("/")[2]) is not None:
                return f"has {below!r} in it, which programs must not delete"
    try:
        if step.kind != "drop":
            workspace_path(path)
        check(path)
    except PathRefused as error:
        return error.reason
    if portable_names and step.found is None and step.kind != "drop":
        name = unportable_name(path)
        if name is not None:
            return f"has the name {name!r} in it, which no Windows can hold"
    return None


def steering(changes: Iterable[FileChange], root: str) -> tuple[tuple[str, str], ...]:
    """What of some changes decides what Python or wink loads when it starts the next time, each path with a word on it.

    `pip install -e .` makes such things rightly, so a person is told, and nothing is refused.
    """
    places = import_places(root)
    told: dict[str, str] = {}
    for change in changes:
        if change.after is not None:
            at = distribution_at(change.path, places)
            if at is not None:
                told[at] = _INSTALLED
            elif change.path.casefold() in SETTINGS and change.after.kind != "file":
                told[change.path] = _IRREGULAR
    return tuple(told.items())


def is_state(path: str) -> bool:
    """Whether a path is in something that looks like wink's own state."""
    return any(protected_as(name) == ".wink" for name in path.split("/"))


def _repository(path: str) -> tuple[str | None, str]:
    """The path of the `.git` that a path is in, and the rest."""
    names = path.split("/")
    for number, name in enumerate(names):
        if protected_as(name) == ".git":
            return "/".join(names[: number + 1]), "/".join(names[number + 1 :])
    return None, ""


def _git_problem(step: Step, at: str, inside: str, has_repository: Callable[[str], bool]) -> str | None:
    if not has_repository(at):
        return _PLANTED
    if not inside and step.kind != "mode":
        return _DELETED if step.kind == "drop" else _PLANTED
    if not inside:
        return None
    if not is_git_data(step.path) or (inside == "info" and step.kind != "directory"):
        return _CODE
    if step.kind == "link" or (step.made is not None and step.kind == "file" and step.made.st_nlink > 1):
        return "would be a link in a git repository"
    return None


def with_parents(paths: Iterable[str]) -> frozenset[str]:
    """Paths and all directories above them."""
    return frozenset(
        above for path in paths for above in (path, *(path[:at] for at in range(len(path)) if path[at] == "/"))
    )


def is_repository(root: str, at: str) -> bool:
    """Whether there was a git directory at this path before."""
    try:
        return stat.S_ISDIR(os.lstat(f"{root}/{at}").st_mode)
    except OSError:
        return False
