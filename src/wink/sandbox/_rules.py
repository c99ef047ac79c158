"""Decide which of a program's changes may become the workspace's."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import Final

from wink.errors import PathRefused
from wink.filesystem import protected_as, unportable_name, workspace_path
from wink.sandbox._upper import Step, tree

_GIT_DATA = """
    objects refs logs packed-refs index HEAD ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MSG MERGE_MODE MERGE_AUTOSTASH
    AUTO_MERGE SQUASH_MSG COMMIT_EDITMSG CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD BISECT_LOG shallow gc.log gc.pid
"""

GIT_MAY: Final = frozenset(_GIT_DATA.split())
"""What of a repository a merge takes: what git only ever reads as data."""

_GIT_NOT: Final = re.compile(r"objects/info/(http-)?alternates$")
_PLANTED: Final = "would plant a git repository, whose hooks and settings the next git command would run"
_CODE: Final = "belongs to what git runs or is told by (only objects, refs, logs, index and HEAD are merged)"


def problem(
    step: Step, root: str, *, portable_names: bool, has_repository: Callable[[str], bool], check: Callable[[str], None]
) -> str | None:
    """Why a step must not be taken, or None. `check` raises `PathRefused` for places that are not for programs."""
    path = step.path
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
    if not inside:
        return None if step.kind == "mode" else _PLANTED
    if inside.split("/")[0] not in GIT_MAY or _GIT_NOT.match(inside):
        # An empty `*.lock` or the like that a killed git left is not worth a failure, but neither is it merged.
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
