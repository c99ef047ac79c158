"""Decide which of a program's changes may become the workspace's."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from wink.errors import PathRefused
from wink.filesystem import (
    SETTINGS,
    FileChange,
    distribution_at,
    import_places,
    is_git_config,
    is_git_data,
    protected_as,
    quoted_path,
    unportable_name,
)
from wink_sandbox._deep import walk_tree
from wink_sandbox._upper import Step

_PLANTED: Final = "would plant a git repository, whose hooks and settings the next git command would run"
_DELETED: Final = "is a git repository, which programs must not delete"
_ANOTHERS: Final = "is in a directory of another user, or has one in it, that you may not change"
_CLOSED: Final = "holds something that cannot be read here, and would be deleted"
_SEALED: Final = "has a mode by which not even you can read it, or take it back; give it another with chmod u+r in the try, a directory u+rx"
_DEEP: Final = "is so deep that what is in it has no path; make fewer levels, or shorter names"
_INSTALLED: Final = (
    "names a distribution, and is where the running Python finds it: its entry points are loaded by other programs"
)
_IRREGULAR: Final = "is where wink reads settings, and is no regular file; see what it leads to"
_UNPORTABLE: Final = "has a name in it that no Windows can hold"
_REFUSED: Final = "has a name that no Windows can hold, and portable_names is set; rename it in the try"
_LEADS_OUT: Final = "leads out of the workspace"
_MAY_LEAD_OUT: Final = "goes down and up again, and may lead out of the workspace"
_OF_EACH: Final = 3
_LINKS: Final = 6
"""So many links that lead out are named, of one directory and in all."""
_TARGET: Final = 200
_CODE: Final = "belongs to what git runs or is told by (only objects, refs, logs, index and HEAD are merged)"
_REPLACES: Final = "would have git show one object in the place of another"


_NEW_REPOSITORY: Final = (
    "would make a git repository of its directory, whose hooks and settings git runs for whoever works in it"
)
_CODE_OF_BARE: Final = "belongs to what git runs or is told by, in a bare repository"
_SIGNS: Final = ("HEAD", "objects", "refs", "commondir")
_RUN: Final = ("config", "config.worktree", "hooks", "info", "commondir", "gitdir")


def problem(step: Step, root: str, *, is_git: bool, check: Callable[[str], None]) -> str | None:
    """Why a step must not be taken, or None. `check` raises `PathRefused` for places that are not for programs.

    With `is_git` the root is a git directory.

    A name alone is no reason: what file tools refuse to make, since models confuse it, programs make on purpose.
    """
    path = step.path
    if step.is_too_deep:
        return _DEEP
    if _is_anothers(os.path.dirname(f"{root}/{path}")):
        return _ANOTHERS
    if _is_sealed(step.made):
        return _SEALED
    at, inside = repository_of(path)
    if at is None and is_git:
        at, inside = "", path
    if at is not None:
        return _git_problem(step, root, at, inside)
    if step.kind == "drop" and step.found is not None and stat.S_ISDIR(step.found.st_mode):
        try:
            for below, status in walk_tree(f"{root}/{path}"):
                if protected_as(below.rpartition("/")[2]) is not None:
                    return f"has {below!r} in it, which programs must not delete"
                if stat.S_ISDIR(status.st_mode) and _is_anothers(f"{root}/{path}/{below}"):
                    return _ANOTHERS
            if _is_anothers(f"{root}/{path}"):
                return _ANOTHERS
        except PermissionError:
            return _CLOSED
    try:
        check(path)
    except PathRefused as error:
        return error.reason
    return None


def _is_sealed(made: os.stat_result | None) -> bool:
    """Whether its owner, who asks, could not read what a program left: to take it back, somebody has to look at it."""
    if made is None or os.geteuid() == 0:
        return False
    needed = 0o500 if stat.S_ISDIR(made.st_mode) else 0o400 if stat.S_ISREG(made.st_mode) else 0
    return made.st_mode & needed != needed


def _is_anothers(directory: str) -> bool:
    """Whether another user's directory is closed to us: what is in it can be changed in a copy, and nowhere else."""
    try:
        return os.lstat(directory).st_uid != os.geteuid() != 0 and not os.access(directory, os.W_OK | os.X_OK)
    except OSError:
        return False


def unportable(steps: Iterable[Step]) -> Iterator[tuple[str, str]]:
    """The new names that no Windows can hold, each with a word on it; git's own files are checked out nowhere."""
    steps = tuple(steps)
    gone = {step.path for step in steps if step.kind == "drop"}
    for step in steps:
        is_new = step.kind in ("file", "link", "directory") and step.found is None and step.path not in gone
        if is_new and _is_unportable(step.path):
            yield step.path, _REFUSED


def _is_unportable(path: str) -> bool:
    return unportable_name(path.rpartition("/")[2]) is not None and repository_of(path)[0] is None


def steering(changes: Iterable[FileChange], root: str, *, portable_names: bool = False) -> tuple[tuple[str, str], ...]:
    """What of some changes decides what Python or wink loads when it starts the next time, each path with a word on it.

    `pip install -e .` makes such things rightly, so a person is told, and nothing is refused; so they are of new names that
    keep Windows from checking the project out, which with `portable_names` will be refused, and first of links that lead out
    of the workspace.
    """
    changes = tuple(changes)
    places = import_places(root)
    told: dict[str, str] = {}
    for change in changes:
        if change.after is not None:
            at = distribution_at(change.path, places)
            if at is not None:
                told[at] = _INSTALLED
            elif change.path.casefold() in SETTINGS and change.after.kind != "file":
                told[change.path] = _IRREGULAR
            elif change.before is None and unportable_name(change.path) is not None:
                told[change.path] = _REFUSED if portable_names and _is_unportable(change.path) else _UNPORTABLE
    return (*_leading_out(changes, root), *told.items())


def _leading_out(changes: Sequence[FileChange], root: str) -> Iterator[tuple[str, str]]:
    """The links that lead out, a few of each directory and a few in all, and how many more there are beneath which one."""
    seen: Counter[str] = Counter()
    shown, more = 0, list[str]()
    for change in changes:
        after = change.after
        if after is None or after.target is None:
            continue
        leads = _leads(change.path, after.target, root)
        if not leads:
            continue
        above = os.path.dirname(change.path)
        seen[above] += 1
        if seen[above] > _OF_EACH or shown >= _LINKS:
            more.append(above)
            continue
        shown += 1
        target = quoted_path(after.target)
        yield change.path, f"{leads}, to {target if len(target) <= _TARGET else target[:_TARGET] + '…'}"
    if more:
        yield os.path.commonpath(more) or ".", f"… and {len(more)} more links like these"


def _leads(path: str, target: str, root: str) -> str:
    """What is to be said of a link, which is the only one on its way: where it goes down and up again, that may be otherwise."""
    names = [name for name in target.split("/") if name not in ("", ".")]
    if target.startswith("/"):
        is_inside = ".." not in names and f"/{'/'.join(names)}/".startswith(f"{root.rstrip('/')}/")
        return "" if is_inside else _LEADS_OUT
    rises = next((number for number, name in enumerate(names) if name != ".."), len(names))
    if rises > path.count("/"):
        return _LEADS_OUT
    return _MAY_LEAD_OUT if ".." in names[rises:] else ""


def is_state(path: str) -> bool:
    """Whether a path is in something that looks like wink's own state."""
    return any(protected_as(name) == ".wink" for name in path.split("/"))


def repository_of(path: str) -> tuple[str | None, str]:
    """The path of the `.git` that a path is in, and the rest."""
    names = path.split("/")
    for number, name in enumerate(names):
        if protected_as(name) == ".git":
            return "/".join(names[: number + 1]), "/".join(names[number + 1 :])
    return None, ""


def git_directory_of(path: str, root: str) -> tuple[str, str] | None:
    """The git directory that a path lies in, which was there before, and the path in it: for a submodule that in `.git/modules`."""
    at, inside = repository_of(path)
    own = _own_part(f"{root}/{at}", inside) if at is not None and inside and is_repository(root, at) else None
    return None if not own else (f"{at}/{inside}".removesuffix(own).rstrip("/"), own)


def _git_problem(step: Step, root: str, at: str, inside: str) -> str | None:
    if not is_repository(root, at):
        return _PLANTED
    if not inside and step.kind != "mode":
        return _DELETED if step.kind == "drop" else _PLANTED
    if not inside:
        return None
    own = _own_part(f"{root}/{at}", inside)
    if own is None or not (is_git_data(step.path if at else f".git/{inside}") and is_git_data(f".git/{own}")):
        return _CODE
    if own == "info" and step.kind != "directory":
        return _CODE
    if f"{own}/".startswith("refs/replace/"):
        return _REPLACES
    if step.kind == "link" or (step.made is not None and step.kind == "file" and step.made.st_nlink > 1):
        return "would be a link in a git repository"
    return None


def is_known_config(path: str, root: str, *, is_git: bool) -> bool:
    """Whether a path is that of the settings of a repository that was there before; with `is_git` the root is one."""
    at, inside = repository_of(path)
    if at is None and is_git:
        at, inside = "", path
    if at is None or not is_git_config(path if at else f".git/{path}") or not is_repository(root, at):
        return False
    return _own_part(f"{root}/{at}", inside) == "config"


def _own_part(place: str, inside: str) -> str | None:
    """The path in the git directory at `place`, or in the one that this has for a submodule or worktree; None where that is new.

    The shortest one: to git, whatever is called `hooks` among the refs of one is a ref.
    """
    names = inside.split("/")
    while names[0] in ("modules", "worktrees"):
        for end in range(2, len(names)):
            if is_file(f"{place}/{'/'.join(names[:end])}/HEAD"):
                break
        else:
            return None
        place, names = f"{place}/{'/'.join(names[:end])}", names[end:]
    return "/".join(names)


def with_parents(paths: Iterable[str]) -> frozenset[str]:
    """Paths and all directories above them."""
    return frozenset(
        above for path in paths for above in (path, *(path[:at] for at in range(len(path)) if path[at] == "/"))
    )


def is_file(place: str) -> bool:
    """Whether a regular file has this name, and not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(place).st_mode)
    except OSError:
        return False


def is_repository(root: str, at: str) -> bool:
    """Whether there was a git directory at this path before."""
    try:
        return stat.S_ISDIR(os.lstat(f"{root}/{at}").st_mode)
    except OSError:
        return False


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
        if _has_signs(after) and not _has_signs(before):
            made_it = min(names)  # without any one of them it is none
            found[f"{directory}/{made_it}" if directory else made_it, _NEW_REPOSITORY] = None
    for step in steps:
        at = _code_of(step.path)
        if at is not None and not _is_in_git(at) and _has_signs(_there(root, at, frozenset())):
            found[step.path, _CODE_OF_BARE] = None
    return found


def _there(root: str, directory: str, gone: frozenset[str]) -> set[str]:
    """Which of the signs a directory of the workspace has, without what is deleted."""
    prefix = f"{directory}/" if directory else ""
    above = {prefix[:at] for at in range(len(prefix)) if prefix[at] == "/"}
    if above & gone:
        return set()
    return {name for name in _SIGNS if f"{prefix}{name}" not in gone and os.path.lexists(f"{root}/{prefix}{name}")}


def _has_signs(names: set[str]) -> bool:
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
