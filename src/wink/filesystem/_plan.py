"""Work out what files must become for transactions to be taken back, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wink.filesystem._change import FileChange, FileVersion
from wink.filesystem._versions import Versions, has_mark_of

Conflicts = list[tuple[str, str]]
"""A path and what is wrong with it."""

CHANGED = "was changed since by somebody else"
"""Why a path cannot go back: it is not as the last of the changes left it."""
BETWEEN = "was changed in between by something that is to stay"
"""Why a path cannot go back: one of the changes did not find what the one before had left."""
_GONE = "is not kept any more as it was before"
_LEADS_OUT = "was a link that leads out of the workspace, and such are not made"
IN_USE = "is a directory that somebody else put something into"
_HOMELESS = "has lost the directory that it was in"


@dataclass(frozen=True, slots=True)
class Target:
    """What one path is `now`, and what is `wanted` there: as it was before the transaction at `position`.

    `origin` is the path at which the wanted file is now, if a transaction moved it.
    """

    path: str
    now: FileVersion | None
    wanted: FileVersion | None
    position: int
    origin: str | None = None


def plan(versions: Versions, changes: Iterable[tuple[int, FileChange]]) -> tuple[dict[str, Target], Conflicts]:
    """What has to become of each path that these changes, oldest first, have touched.

    Nobody else's work may be lost: each change must have found what the one before it left, and what the last one left
    must still be there. A path that is again as it was needs nothing.
    """
    chains: dict[str, list[tuple[int, FileChange]]] = {}
    for position, change in changes:
        chains.setdefault(change.path, []).append((position, change))
    targets: dict[str, Target] = {}
    conflicts: Conflicts = []
    for path, chain in chains.items():
        position, wanted = chain[0][0], chain[0][1].before
        now = versions.present(path)
        if _same(versions, path, wanted, position, now, position):
            continue
        problem = _problem(versions, path, chain, now)
        if problem is not None:
            conflicts.append((path, problem))
        else:
            targets[path] = Target(path, now, wanted, position)
    for path, target in list(targets.items()):
        origin = _origin(versions, target, targets)
        if origin is not None:
            targets[path] = Target(path, target.now, target.wanted, target.position, origin)
        elif not _is_at_hand(versions, target):
            is_link = target.wanted is not None and target.wanted.kind == "link"
            conflicts.append((path, _LEADS_OUT if is_link else _GONE))
        if _is_in_use(versions, target, targets):
            conflicts.append((path, IN_USE))
        if not _has_home(versions, target, targets):
            conflicts.append((path, _HOMELESS))
    return targets, conflicts


def changed_by_others(versions: Versions, changes: Iterable[tuple[int, FileChange]]) -> Conflicts:
    """The paths that are not as the last of these changes left them."""
    last = {change.path: (position, change.after) for position, change in changes}
    return [
        (path, CHANGED)
        for path, (position, left) in last.items()
        if not _same(versions, path, left, position, versions.present(path), position)
    ]


def _problem(
    versions: Versions, path: str, chain: Sequence[tuple[int, FileChange]], now: FileVersion | None
) -> str | None:
    for (earlier, left), (later, found) in pairwise(chain):
        if not _same(versions, path, left.after, earlier, found.before, later):
            return BETWEEN
    last, change = chain[-1]
    return None if _same(versions, path, change.after, last, now, last) else CHANGED


def _same(
    versions: Versions, path: str, one: FileVersion | None, one_at: int, other: FileVersion | None, other_at: int
) -> bool:
    """Whether two versions cannot be told apart; in doubt they can."""
    if one is None or other is None:
        return one is other
    if (one.kind, one.mode, one.target) != (other.kind, other.mode, other.target) or one.kind == "other":
        return False
    if one.kind != "file":
        return True
    return _is_same_file(versions, path, one, one_at, other, other_at) or (
        path.endswith("/index") and _says_the_same(versions, path, one, one_at, other, other_at)
    )


def _says_the_same(
    versions: Versions, path: str, one: FileVersion, one_at: int, other: FileVersion, other_at: int
) -> bool:
    """Whether these are git indexes that say the same: `git status` writes one anew to note times in it."""
    said = versions.meaning(path, one, one_at)
    return said is not None and said == versions.meaning(path, other, other_at)


def _is_same_file(
    versions: Versions, path: str, one: FileVersion, one_at: int, other: FileVersion, other_at: int
) -> bool:
    if one.size != other.size:
        return False
    if (one.kept is None or one.kept.digest is None) and has_mark_of(one, other):
        return True
    mine, theirs = versions.digest(path, one, one_at), versions.digest(path, other, other_at)
    return has_mark_of(one, other) if mine is None or theirs is None else mine == theirs


def has_same_content(versions: Versions, target: Target) -> bool:
    """Whether only the mode of a file has to change."""
    now, wanted = target.now, target.wanted
    if now is None or wanted is None or (now.kind, wanted.kind) != ("file", "file") or now.size != wanted.size:
        return False
    digest = versions.digest(target.path, wanted, target.position)
    if digest is None:
        return has_mark_of(now, wanted)
    return digest == versions.digest(target.path, now, target.position)


def _origin(versions: Versions, target: Target, targets: Mapping[str, Target]) -> str | None:
    """Where the wanted file is now, if it can simply be moved back from there."""
    wanted = target.wanted
    if wanted is None or wanted.kind != "file" or target.now is not None:
        return None
    for path, _ in versions.arrived(wanted, target.position):
        there = targets.get(path)
        if there is not None and there.wanted is None and there.now is not None and has_mark_of(wanted, there.now):
            return path
    return None


def _is_at_hand(versions: Versions, target: Target) -> bool:
    wanted = target.wanted
    if wanted is None or wanted.kind == "directory":
        return True
    if wanted.kind == "link":
        return _stays_inside(target.path, wanted.target or "")
    if has_same_content(versions, target):
        return True
    stream = versions.open(target.path, wanted, target.position)
    if stream is None:
        return False
    stream.close()
    return True


def _stays_inside(path: str, link: str) -> bool:
    """Whether a link may be made; people may make others, and wink does not."""
    depth = path.count("/")
    for name in link.split("/"):
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 0:
            return False
    return bool(link) and not link.startswith("/")


def _is_in_use(versions: Versions, target: Target, targets: Mapping[str, Target]) -> bool:
    """Whether what is wanted is to take the place of a directory in which something stays."""
    now, wanted = target.now, target.wanted
    if now is None or wanted is None or now.kind != "directory" or wanted.kind == "directory":
        return False
    return versions.stays(target.path, {path for path, one in targets.items() if one.wanted is None})


def _has_home(versions: Versions, target: Target, targets: Mapping[str, Target]) -> bool:
    above = target.path.rpartition("/")[0]
    if target.wanted is None or not above:
        return True
    planned = targets.get(above)
    there = versions.present(above) if planned is None else planned.wanted
    return there is not None and there.kind == "directory"
