"""Find repositories that a program would plant without calling them `.git`: to git, any directory can be one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from wink.filesystem import protected_as
from wink_sandbox._upper import Step

_PLANTED: Final = (
    "would make a git repository of its directory, whose hooks and settings git runs for whoever works in it"
)
_CODE: Final = "belongs to what git runs or is told by, in a bare repository"
_SIGNS: Final = ("HEAD", "objects", "refs", "commondir")
_RUN: Final = ("config", "config.worktree", "hooks", "info", "commondir", "gitdir")


def planted(steps: Iterable[Step], root: str) -> dict[tuple[str, str], None]:
    """What must not be merged for this, as paths with the reason.

    A directory is a repository if it has `HEAD`, and `objects` and `refs` of its own or in the one that `commondir` names.
    """
    found: dict[tuple[str, str], None] = {}
    steps = tuple(steps)
    gone = frozenset(step.path for step in steps if step.kind == "drop")
    made: dict[str, set[str]] = {}
    for step in steps:
        above, _, name = step.path.rpartition("/")
        # What is called `.git` has been looked at by its name; whatever lies in it can be one, for a submodule to be led to.
        if step.kind != "drop" and name in _SIGNS and protected_as(above.rpartition("/")[2]) != ".git":
            made.setdefault(above, set()).add(name)
    for directory, names in made.items():
        before = _there(root, directory, frozenset())
        after = names | _there(root, directory, gone)
        if _is_repository(after) and not _is_repository(before):
            made_it = min(names)  # without any one of them it is none
            found[f"{directory}/{made_it}" if directory else made_it, _PLANTED] = None
    for step in steps:
        at = _code_of(step.path)
        if at is not None and not _is_in_git(at) and _is_repository(_there(root, at, frozenset())):
            found[step.path, _CODE] = None
    return found


def _there(root: str, directory: str, gone: frozenset[str]) -> set[str]:
    """Which of the signs a directory of the workspace has, without what is deleted."""
    prefix = f"{directory}/" if directory else ""
    above = {prefix[:at] for at in range(len(prefix)) if prefix[at] == "/"}
    if above & gone:
        return set()
    return {name for name in _SIGNS if f"{prefix}{name}" not in gone and os.path.lexists(f"{root}/{prefix}{name}")}


def _is_repository(names: set[str]) -> bool:
    return "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)


def _code_of(path: str) -> str | None:
    """The directory that something at this path would be run for, if it is a repository."""
    names = path.split("/")
    for number in range(len(names) - 1, -1, -1):
        if names[number] in _RUN:
            return "/".join(names[:number])
    return None


def _is_in_git(path: str) -> bool:
    return any(protected_as(name) == ".git" for name in path.split("/"))
