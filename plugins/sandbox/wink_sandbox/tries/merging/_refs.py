"""Take what git wrote in a try as objects and refs, and not as files, where its repository has changed in the workspace meanwhile.

Objects are added. A ref that only the try has moved is taken; any other arrives under a name of the try's. The workspace keeps its
index, `HEAD` and logs; where the branch that it is on is taken, its index follows as in a fast-forward. What is an ancestor
of what, and whether all objects of a commit are there, git itself says, in a private repository: all that is read was written by whoever.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from wink.dataclass import replace
from wink.filesystem import is_git_data
from wink_sandbox import Differences, Overlay, Step, git_directory_of, remove_tree, repository_of
from wink_sandbox.tries._bases import Base
from wink_sandbox.tries.merging._git_files import (
    UNREADABLE,
    NotMerged,
    directories_above,
    is_directory,
    parents_of,
    place_in,
    status_of,
    within,
)
from wink_sandbox.tries.merging._repository import Arrived, Plan, Repository
from wink_sandbox.tries.merging._three_way import Conflict

_PLACE: Final = "refs"
_OBJECT: Final = re.compile(
    r"objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]{40,64}\.(?:pack|idx|rev|keep|promisor|mtimes))"
    r"|lfs/objects/.+"
)
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+|\.{2,}|\.(?:lock)?$|^[.-]+")


class RefMerge(NamedTuple):
    """`found` with what was merged in place of what git wrote, and without what the workspace keeps of its own, the `same`.

    The conflicts at the paths that are `settled` are none any more, and `conflicts` say why others are.
    """

    found: Differences
    settled: frozenset[str]
    same: tuple[Step, ...]
    arrived: tuple[Arrived, ...]
    conflicts: tuple[Conflict, ...]


def is_merged(path: str, root: str) -> bool:
    """Whether a path is one of a git directory, which is merged by objects and refs."""
    place = git_directory_of(path, root)
    return place is not None and "/worktrees/" not in f"/{place[0]}/"


class Refs:
    """Merges the repositories of one try, which is in use; what git has said once it is not asked again.

    `base_of` gives what a path was when the try began, and `knows` whether what is there now is as the try has seen it. `own` is where in the git
    directory what belongs to the one working tree lies that is meant, as `worktrees/NAME`.
    """

    def __init__(
        self,
        overlay: Overlay,
        base_of: Callable[[str], Base | None],
        knows: Callable[[str], bool],
        name: str,
        own: str = "",
    ) -> None:
        self._overlay, self._base_of, self._knows, self._own = overlay, base_of, knows, own
        self._name = _ODD.sub("-", name).strip("-") or "try"
        self._known: dict[object, object] = {}

    @property
    def _directory(self) -> str:
        return f"{self._overlay.directory}/{_PLACE}"

    def close(self) -> None:
        """Remove what was merged."""
        remove_tree(self._directory)

    def of(self, found: Differences, changed: Iterable[str]) -> RefMerge:
        """Merge the repositories of which paths have `changed` in the workspace meanwhile."""
        remove_tree(self._directory)
        places: dict[str, list[str]] = {}
        for path in changed:
            at = self._git_directory_of(path)
            if at is not None and not self._is_of_others(path, at):
                places.setdefault(at, []).append(path)
        for step in found.steps:
            at = self._git_directory_of(step.path)
            if at is not None and at not in places and not self._is_of_others(step.path, at) and self._is_switched(at):
                places[at] = [step.path]
        settled, same = set[str](), list[Step]()
        arrived, conflicts = list[Arrived](), list[Conflict]()
        for at, paths in places.items():
            try:
                merge = self._merged(found, at, frozenset(paths))
            except NotMerged as reason:
                conflicts += [Conflict(path, str(reason)) for path in paths]
                continue
            except OSError as error:
                reason = UNREADABLE.format(f"{error.strerror}, {os.path.basename(os.fsdecode(error.filename or at))!r}")
                conflicts += [Conflict(path, reason) for path in paths]
                continue
            found = merge.found
            settled |= merge.settled
            same += merge.same
            arrived += merge.arrived
        return RefMerge(found, frozenset(settled), tuple(same), tuple(arrived), tuple(conflicts))

    def _is_switched(self, at: str) -> bool:
        """Whether the workspace is on another branch: where no logs are kept, HEAD alone tells that."""
        head = place_in(at, f"{self._own}/HEAD" if self._own else "HEAD")
        there = status_of(f"{self._overlay.root}/{head}")
        return there is not None and there.st_ctime_ns > self._overlay.since and not self._knows(head)

    def _git_directory_of(self, path: str) -> str | None:
        """The git directory that a path belongs to, "" for the root; of the working tree that is meant, that of them all."""
        if self._overlay.is_git and repository_of(path)[0] is None:
            return None if path.startswith("modules/") else ""
        place = git_directory_of(path, self._overlay.root)
        return None if place is None else place[0].removesuffix(f"/{self._own}" if self._own else "")

    def _is_of_others(self, path: str, at: str) -> bool:
        """Whether a path is of a working tree that is not the one that is meant: its index and branch are not ours to keep."""
        below = within(path, at)
        is_own = bool(self._own) and f"{below}/".startswith(f"{self._own}/")
        return "/worktrees/" in f"/{at}/" or (below.startswith("worktrees/") and not is_own)

    def _merged(self, found: Differences, at: str, changed: frozenset[str]) -> RefMerge:
        mine = {step.path: step for step in found.steps if self._git_directory_of(step.path) == at}
        own = {within(path, at): step for path, step in mine.items()}
        dropped = {within(step.path, at): step for step in found.steps if step.path in mine and step.kind == "drop"}
        _check_kinds(
            own,
            any(
                f"{path}/".startswith(place_in(at, "worktrees/")) and self._is_of_others(path, at)
                for path in (step.path for step in found.steps)
            ),
        )
        kept = {name for name, step in own.items() if _is_kept(name, step)}
        differs = {within(path, at) for path in changed}
        one = Repository(self._overlay, self._base_of, self._knows, at, own, dropped, differs, self._own)
        plan = one.plan(self._name, tuple(sorted(kept)), self._known)
        steps, merged = self._steps(at, plan)
        replaced = {path for path in mine if within(path, at) not in kept}
        rest = tuple(step for step in found.steps if step.path not in replaced)
        needed = directories_above(
            place_in(at, name) for name in kept
        )  # the directories of objects are those of the try
        again = tuple(step for step in found.steps if step.path in needed & replaced and step.kind == "directory")
        ordered = sorted((*rest, *again, *steps), key=lambda step: (step.path.split("/"), step.kind != "drop"))
        same = tuple(step for step in found.steps if step.path in replaced - needed)
        stays = tuple((place_in(at, name), why) for name, why in plan.stays.items())
        return RefMerge(
            replace(
                found,
                steps=tuple(ordered),
                notes=(*found.notes, *stays),
                suspects=tuple(path for path in found.suspects if path not in replaced),
                merged={**found.merged, **merged},
            ),
            changed,
            same,
            plan.arrived,
            (),
        )

    def _steps(self, at: str, plan: Plan) -> tuple[list[Step], dict[str, str]]:
        """What is to be done for a plan, and where the files and directories for it lie."""
        root, steps, merged = self._overlay.root, list[Step](), dict[str, str]()
        in_place_of = {name for name in plan.files if is_directory(status_of(f"{root}/{place_in(at, name)}"))}
        for name in sorted(in_place_of | {one for one in plan.gone if in_place_of.isdisjoint(parents_of(one))}):
            path = place_in(at, name)
            if (there := status_of(f"{root}/{path}")) is not None:
                steps.append(Step("drop", path, there))
                merged[path] = ""
        for name, content in sorted(plan.files.items()):
            path, there = place_in(at, name), status_of(f"{root}/{place_in(at, name)}")
            there = None if name in in_place_of else there
            for above in parents_of(path):
                status = status_of(f"{root}/{above}")
                if not is_directory(status) and merged.get(above) in (None, ""):
                    place = self._place(above)
                    os.makedirs(place)
                    self._like(place, f"{root}/{os.path.dirname(above)}", 0o7777)
                    steps.append(Step("directory", above, None, os.lstat(place)))
                    merged[above] = place
            place = self._place(path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "xb") as file:
                file.write(content)
            self._like(place, f"{root}/{path if there is not None else os.path.dirname(path)}", 0o666)
            steps.append(Step("file", path, there, os.lstat(place)))
            merged[path] = place
        return steps, merged

    def _like(self, place: str, other: str, mode: int) -> None:
        """Give something the owner and the permissions that another thing of git's has, or the nearest directory above that."""
        while (found := status_of(other)) is None:
            other = os.path.dirname(other)
        if os.geteuid() == 0:
            os.chown(place, found.st_uid, found.st_gid)
        os.chmod(place, stat.S_IMODE(found.st_mode) & mode)

    def _place(self, path: str) -> str:
        return f"{self._directory}/{path}"


def _is_kept(name: str, step: Step) -> bool:
    """Whether what the try has is taken as a file: a new object, or what is no data of git's, of which rules and settings decide."""
    if _OBJECT.fullmatch(name):
        return step.kind == "file" and step.found is None
    return not is_git_data(f".git/{name}")


def _check_kinds(own: Mapping[str, Step], has_worktrees: bool) -> None:
    """Raise `NotMerged` for what is merged neither as refs nor as files."""
    if has_worktrees or "shallow" in own:
        raise NotMerged(UNREADABLE.format("its worktrees, or how much of its history it has, were changed in the try"))
    for name, step in own.items():
        if step.kind == "link" and is_git_data(f".git/{name}"):
            raise NotMerged(UNREADABLE.format(f"{name!r} is a link in the try"))
