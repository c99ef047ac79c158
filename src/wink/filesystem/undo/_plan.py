"""Work out what files must become for transactions to be taken back, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from wink.dataclass import dataclass
from wink.filesystem._change import COPIED_BYTES, FileChange, FileVersion
from wink.filesystem._git_data import branch_at, is_git_index, is_git_object, restoring
from wink.filesystem.undo._versions import Versions, has_mark_of

Conflicts = list[tuple[str, str]]
"""A path and what is wrong with it."""

CHANGED = "was changed since by somebody else"
"""Why a path cannot go back: it is not as the last of the changes left it."""
GOES = f"{CHANGED}, and is to go: move it away, and do the same again"
"""The same of a path at which nothing is wanted."""
BETWEEN = "was changed in between by something that is to stay"
"""Why a path cannot go back: one of the changes did not find what the one before had left."""
_GONE = "is not kept any more as it was before"
IN_USE = "is a directory that somebody else put something into"
_CHECKED_OUT = "is the branch that its repository is on; switch to another one, and do the same again"
OBJECT_GONE = "is an object of git's that was removed since, as git gc does, and this needs it"
"""Why what was undone cannot be done again."""
_HOMELESS = "has lost the directory that it was in"


@dataclass(frozen=True, slots=True)
class Target:
    """What one path is `now`, and what is `wanted` there: as it was before the transaction at `position`.

    `origin` is the path at which the wanted file is now, if a transaction moved it. What is there now is another's where it `is_forced`.
    """

    path: str
    now: FileVersion | None
    wanted: FileVersion | None
    position: int
    origin: str | None = None
    is_forced: bool = False


def plan(
    versions: Versions, changes: Iterable[tuple[int, FileChange]], *, force: bool = False
) -> tuple[dict[str, Target], Conflicts]:
    """What has to become of each path that these changes, oldest first, have touched.

    Nobody else's work may be lost: each change must have found what the one before it left, and what the last one left
    must still be there. A path that is again as it was needs nothing; what was no file, directory or link stays gone.
    With `force` what was saved there since goes, which the undo keeps as what it has replaced; not what no undo brings back.
    """
    chains: dict[str, list[tuple[int, FileChange]]] = {}
    for position, change in changes:
        chains.setdefault(change.path, []).append((position, change))
    targets: dict[str, Target] = {}
    conflicts: Conflicts = []
    for path, chain in chains.items():
        position, wanted = chain[0][0], chain[0][1].before
        wanted = None if wanted is not None and wanted.kind == "other" else wanted
        now = versions.present(path)
        if wanted is None and is_git_object(path):
            continue  # somebody's commit may need it by now; what nobody needs, `git gc` removes
        if _same(versions, path, wanted, position, now, position):
            continue
        problem = _problem(versions, path, chain, now)
        is_forced = force and problem in (CHANGED, GOES) and (now is None or now.kind != "other")
        if problem is not None and not is_forced:
            conflicts.append((path, problem))
        else:
            targets[path] = Target(path, now, wanted, position, is_forced=problem is not None)
    homes: dict[str, bool] = {}
    for path, target in list(targets.items()):
        origin = _origin(versions, target, targets)
        if origin is not None:
            targets[path] = Target(path, target.now, target.wanted, target.position, origin)
        elif not _is_at_hand(versions, target):
            conflicts.append((path, _GONE))
        if _is_in_use(versions, target, targets):
            conflicts.append((path, IN_USE))
        if target.wanted is not None and not _is_home(versions, path.rpartition("/")[0], targets, homes):
            conflicts.append((path, _HOMELESS))
    return targets, conflicts


def obstacles(versions: Versions, targets: Mapping[str, Target]) -> Conflicts:
    """What stands in the way of a plan besides what others have saved: whoever carries it out asks first, as a dry run does."""
    conflicts: Conflicts = []
    copied = 0
    token = restoring.set(True)
    try:
        for path, target in targets.items():
            now, wanted = target.now, target.wanted
            if wanted is None and _is_checked_out(versions, path, targets):
                conflicts.append((path, _CHECKED_OUT))
            stays = now is not None and wanted is not None and (now.kind, now.target) == (wanted.kind, wanted.target)
            is_replaced = not stays or (
                now is not None and now.kind == "file" and not has_same_content(versions, target)
            )
            if stays and not is_replaced and now is not None and wanted is not None and now.mode == wanted.mode:
                continue
            reason = versions.obstacle(path, wanted, is_replaced=is_replaced)
            if reason is not None:
                conflicts.append((path, reason))
            if is_replaced and wanted is not None and target.origin is None and wanted.kind == "file":
                copied += wanted.size if wanted.size <= COPIED_BYTES else 0
    finally:
        restoring.reset(token)
    if copied and copied > (left := versions.room()):
        conflicts.append((".", f"needs {copied} bytes on the disk, and {left} are left; make room and try again"))
    return conflicts


def _is_checked_out(versions: Versions, path: str, targets: Mapping[str, Target]) -> bool:
    """Whether there would be no such branch any more as a repository is on."""
    branch = branch_at(path)
    if branch is None or f"{branch[0]}/HEAD" in targets:
        return False
    head, packed = (versions.says(f"{branch[0]}/{name}") for name in ("HEAD", "packed-refs"))
    return head.strip() == b"ref: " + branch[1] and b" " + branch[1] + b"\n" not in packed


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
    if _same(versions, path, change.after, last, now, last):
        return None
    return GOES if chain[0][1].before is None and now is not None else CHANGED


def _same(
    versions: Versions, path: str, one: FileVersion | None, one_at: int, other: FileVersion | None, other_at: int
) -> bool:
    """Whether two versions cannot be told apart; in doubt they can."""
    if one is None or other is None:
        return one is other
    if (one.kind, one.mode, one.target) != (other.kind, other.mode, other.target) or one.kind == "other":
        return False
    is_same = one.kind != "file" or _is_same_file(versions, path, one, one_at, other, other_at)
    return is_same or (is_git_index(path) and _says_the_same(versions, path, one, one_at, other, other_at))


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
    is_marked = has_mark_of(one, other) and versions.is_as_left(one, other)
    if is_marked and (one.kept is None or one.kept.digest is None):
        return True
    mine, theirs = versions.digest(path, one, one_at), versions.digest(path, other, other_at)
    return is_marked if mine is None or theirs is None else mine == theirs


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
        return bool(wanted.target)  # wherever it leads: it is put back as it was, and never followed
    if has_same_content(versions, target):
        return True
    stream = versions.open(target.path, wanted, target.position)
    if stream is not None:
        stream.close()
    return stream is not None


def _is_in_use(versions: Versions, target: Target, targets: Mapping[str, Target]) -> bool:
    """Whether what is wanted, or with force nothing, is to take the place of a directory in which something stays."""
    now, wanted = target.now, target.wanted
    goes = target.is_forced if wanted is None else wanted.kind != "directory"
    if not goes or now is None or now.kind != "directory":
        return False
    return versions.stays(target.path, {path for path, one in targets.items() if one.wanted is None})


def _is_home(versions: Versions, above: str, targets: Mapping[str, Target], known: dict[str, bool]) -> bool:
    """Whether `above` will be a directory; it is looked at once for all that is in it."""
    if above not in known:
        planned = targets.get(above)
        there = versions.present(above) if planned is None else planned.wanted
        known[above] = not above or (there is not None and there.kind == "directory")
    return known[above]
