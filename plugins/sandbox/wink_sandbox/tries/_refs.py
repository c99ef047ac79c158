"""Take what git wrote in a try as objects and refs, and not as files, where its repository has changed in the workspace meanwhile.

Objects are added. A ref that only the try has moved is taken; any other arrives under a name of the try's. The workspace keeps its
index, `HEAD` and logs; where the branch that it is on is taken, its index follows as in a fast-forward. What is an ancestor
of what, and whether all objects of a commit are there, git itself says, in a private repository: all that is read was written by whoever.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, Self, TypeVar, cast

from wink.bounded import content_of
from wink.dataclass import replace
from wink.errors import RecordCorrupt
from wink.filesystem import is_git_data
from wink.state import opened_directory
from wink.trust import program
from wink_sandbox import (
    Differences,
    Overlay,
    Step,
    git_directory_of,
    git_environment,
    remove_tree,
    repository_of,
    walk_tree,
)
from wink_sandbox.tries._bases import Base
from wink_sandbox.tries._three_way import Conflict

T = TypeVar("T")

_PLACE: Final = "refs"
_SECONDS: Final = 60.0
_MOST_REFS: Final = 200
"""So many refs that differ are looked at one by one."""
_MOST_BYTES: Final = 16 << 20
_MOST_INDEX: Final = 256 << 20
_LONGEST: Final = 4096
_ARRIVALS: Final = 99
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OBJECT: Final = re.compile(
    r"objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]{40,64}\.(?:pack|idx|rev|keep|promisor|mtimes))"
    r"|lfs/objects/.+"
)
_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PACKED: Final = re.compile(r"^([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs/[^\n]+)$", re.MULTILINE)
_REF: Final = re.compile(r"refs/(?![-./])(?!.*(?://|\.\.|/\.|@\{|\.lock(?:/|$)))[^~^:?*\[\\\x00-\x20\x7f]+(?<![./])")
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+|\.{2,}|\.(?:lock)?$|^[.-]+")
_BUSY: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "info/sparse-checkout")
"""What in a git directory says that its branch and its index are in use for something."""
_NAMED: Final = ("HEAD", "rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
"""Where a working tree says which branch it is on, or will be on again."""
_COMMITS: Final = ("refs/heads/", "refs/remotes/")
"""Of these alone a later one says all that an earlier one does: a tag has a text of its own, and a stash its log."""
_LONGEST_NAME: Final = 255 - len(".lock")
_EMPTY: Final = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""The tree with nothing in it, by how long an id is; git knows it without an object."""

_NO_GIT: Final = "and is git's own; git is not installed, which could merge it"
_LOCKED: Final = "and git is at work there: try again, or remove its index.lock"
_UNREADABLE: Final = "and is git's own, and cannot be read: {}"
_MANY: Final = "and is git's own, in which more than {} refs differ"
_INCOMPLETE: Final = "and is git's own: of the try's commits not all objects are there, or are accepted"
_IN_THE_WAY: Final = "and is git's own: {} is in the way of {}"
_STAYS: Final = "was deleted in the try, and stays: it has moved in the workspace, or is in use there"
_STANDS: Final = (
    "was made to stand for another ref in the try, and stays as the workspace has it, which has changed it too"
)
_ODD_REF: Final = "{} has a name or says something in the try that is no ref to git"
_TOO_LONG: Final = "{} has too long a name"


class Arrived(NamedTuple):
    """A ref of a try that the workspace has moved as well, and what it is called there; `HEAD` is one of no branch."""

    ref: str
    name: str


class RefMerge(NamedTuple):
    """`found` with what was merged in place of what git wrote, and without what the workspace keeps of its own, the `same`.

    The conflicts at the paths that are `settled` are none any more, and `conflicts` say why others are.
    """

    found: Differences
    settled: frozenset[str]
    same: tuple[Step, ...]
    arrived: tuple[Arrived, ...]
    conflicts: tuple[Conflict, ...]


class _Left(Exception):
    """Why a repository cannot be merged."""


class _Plan(NamedTuple):
    """What becomes of a git directory, by paths in it: new contents, and what goes."""

    files: dict[str, bytes]
    gone: frozenset[str]
    arrived: tuple[Arrived, ...]
    stays: dict[str, str]


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
            except _Left as reason:
                conflicts += [Conflict(path, str(reason)) for path in paths]
                continue
            except OSError as error:
                reason = _UNREADABLE.format(
                    f"{error.strerror}, {os.path.basename(os.fsdecode(error.filename or at))!r}"
                )
                conflicts += [Conflict(path, reason) for path in paths]
                continue
            found = merge.found
            settled |= merge.settled
            same += merge.same
            arrived += merge.arrived
        return RefMerge(found, frozenset(settled), tuple(same), tuple(arrived), tuple(conflicts))

    def _is_switched(self, at: str) -> bool:
        """Whether the workspace is on another branch: where no logs are kept, HEAD alone tells that."""
        head = _at(at, f"{self._own}/HEAD" if self._own else "HEAD")
        there = _status(f"{self._overlay.root}/{head}")
        return there is not None and there.st_ctime_ns > self._overlay.since and not self._knows(head)

    def _git_directory_of(self, path: str) -> str | None:
        """The git directory that a path belongs to, "" for the root; of the working tree that is meant, that of them all."""
        if self._overlay.is_git and repository_of(path)[0] is None:
            return None if path.startswith("modules/") else ""
        place = git_directory_of(path, self._overlay.root)
        return None if place is None else place[0].removesuffix(f"/{self._own}" if self._own else "")

    def _is_of_others(self, path: str, at: str) -> bool:
        """Whether a path is of a working tree that is not the one that is meant: its index and branch are not ours to keep."""
        within = _within(path, at)
        is_own = bool(self._own) and f"{within}/".startswith(f"{self._own}/")
        return "/worktrees/" in f"/{at}/" or (within.startswith("worktrees/") and not is_own)

    def _merged(self, found: Differences, at: str, changed: frozenset[str]) -> RefMerge:
        mine = {step.path: step for step in found.steps if self._git_directory_of(step.path) == at}
        own = {_within(path, at): step for path, step in mine.items()}
        dropped = {_within(step.path, at): step for step in found.steps if step.path in mine and step.kind == "drop"}
        _check_kinds(
            own,
            any(
                f"{path}/".startswith(_at(at, "worktrees/")) and self._is_of_others(path, at)
                for path in (step.path for step in found.steps)
            ),
        )
        kept = {name for name, step in own.items() if _is_kept(name, step)}
        differs = {_within(path, at) for path in changed}
        one = _Repository(self._overlay, self._base_of, self._knows, at, own, dropped, differs, self._own)
        plan = one.plan(self._name, tuple(sorted(kept)), self._known)
        steps, merged = self._steps(at, plan)
        replaced = {path for path in mine if _within(path, at) not in kept}
        rest = tuple(step for step in found.steps if step.path not in replaced)
        needed = _above(_at(at, name) for name in kept)  # the directories of objects are those of the try
        again = tuple(step for step in found.steps if step.path in needed & replaced and step.kind == "directory")
        ordered = sorted((*rest, *again, *steps), key=lambda step: (step.path.split("/"), step.kind != "drop"))
        same = tuple(step for step in found.steps if step.path in replaced - needed)
        stays = tuple((_at(at, name), why) for name, why in plan.stays.items())
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

    def _steps(self, at: str, plan: _Plan) -> tuple[list[Step], dict[str, str]]:
        """What is to be done for a plan, and where the files and directories for it lie."""
        root, steps, merged = self._overlay.root, list[Step](), dict[str, str]()
        in_place_of = {name for name in plan.files if _is_directory(_status(f"{root}/{_at(at, name)}"))}
        for name in sorted(in_place_of | {one for one in plan.gone if in_place_of.isdisjoint(_above_of(one))}):
            path = _at(at, name)
            if (there := _status(f"{root}/{path}")) is not None:
                steps.append(Step("drop", path, there))
                merged[path] = ""
        for name, content in sorted(plan.files.items()):
            path, there = _at(at, name), _status(f"{root}/{_at(at, name)}")
            there = None if name in in_place_of else there
            for above in _above_of(path):
                status = _status(f"{root}/{above}")
                if not _is_directory(status) and merged.get(above) in (None, ""):
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
        while (found := _status(other)) is None:
            other = os.path.dirname(other)
        if os.geteuid() == 0:
            os.chown(place, found.st_uid, found.st_gid)
        os.chmod(place, stat.S_IMODE(found.st_mode) & mode)

    def _place(self, path: str) -> str:
        return f"{self._directory}/{path}"


class _Repository:
    """One git directory, as the workspace has it and as the try does."""

    def __init__(
        self,
        overlay: Overlay,
        base_of: Callable[[str], Base | None],
        knows: Callable[[str], bool],
        at: str,
        tried: Mapping[str, Step],
        dropped: Mapping[str, Step],
        changed: Iterable[str],
        own: str,
    ) -> None:
        if program("git") is None:
            raise _Left(_NO_GIT)
        self._overlay, self._base_of, self._knows, self._at = overlay, base_of, knows, at
        self._tried, self._dropped = tried, dropped
        self._changed, self._own = frozenset(changed), f"{own}/" if own else ""
        self._here, self._there = f"{overlay.root}/{at}".rstrip("/"), f"{overlay.upper}/{at}".rstrip("/")
        if os.path.lexists(f"{self._here}/{self._own}index.lock"):
            raise _Left(_LOCKED)
        self._packed = _packed(_read(self._here, "packed-refs"))
        self._packed_in = _above(self._packed)
        before = self._base_of(_at(at, "packed-refs"))
        is_kept = before is not None and before.content is not None
        self._was_packed = _packed(before.content) if before is not None and is_kept else self._packed
        self._is_packed_known = is_kept or (before is None and self._is_still("packed-refs"))
        self._tried_packed = self._was_packed
        if "packed-refs" in tried:
            is_gone = tried["packed-refs"].kind == "drop"
            self._tried_packed = {} if is_gone else _packed(_read(self._there, "packed-refs"))
        self._head = _text(_read(self._here, f"{self._own}HEAD"))
        self._symbolic: dict[str, bytes] = {}
        self._refs = self._touched()
        self._now = {ref: self._value(ref) for ref in self._refs}
        if sum(now is not None and now != self._refs[ref] for ref, now in self._now.items()) > _MOST_REFS:
            raise _Left(_MANY.format(_MOST_REFS))
        self._index = _read(self._here, f"{self._own}index", _MOST_INDEX)

    # -- what the two have

    def _touched(self) -> dict[str, str | None]:
        """The refs that the try has given another value, or none."""
        refs: dict[str, str | None] = {}
        for name, step in self._dropped.items():
            if name.startswith("refs/"):
                below = list(_files_below(f"{self._here}/{name}")) if _is_directory(step.found) else [""]
                refs |= {one: self._tried_packed.get(one) for one in (f"{name}/{path}".rstrip("/") for path in below)}
        for name, step in self._tried.items():
            if name.startswith("refs/") and step.kind == "file":
                content = _read(self._there, name) or b""
                refs[name] = _id(content)
                if refs[name] is None:
                    target = _text(content).removeprefix("ref: ")
                    if not content.startswith(b"ref: ") or not _REF.fullmatch(target):
                        raise _Left(_UNREADABLE.format(_ODD_REF.format(repr(name))))
                    self._symbolic[name] = content
                    del refs[name]
        if "packed-refs" in self._tried:
            for ref in self._was_packed.keys() | self._tried_packed.keys():
                # One that lies by itself since the try began, the try has not seen.
                is_loose = ref in refs or (os.path.lexists(f"{self._here}/{ref}") and self._is_still(ref))
                if not is_loose and self._was_packed.get(ref) != self._tried_packed.get(ref):
                    refs[ref] = self._tried_packed.get(ref)
        for ref in (*refs, *self._symbolic):
            if not _REF.fullmatch(ref):
                raise _Left(_UNREADABLE.format(_ODD_REF.format(repr(ref))))
            if any(len(os.fsencode(part)) > _LONGEST_NAME for part in ref.split("/")):
                raise _Left(_UNREADABLE.format(_TOO_LONG.format(repr(f"{ref[:80]}…"))))
        return refs

    def _value(self, ref: str) -> str | None:
        loose = None if _is_directory(_status(f"{self._here}/{ref}")) else _read(self._here, ref)
        return _id(loose) if loose is not None else self._packed.get(ref)

    def _has_moved(self, git: _Git, ref: str, value: str | None) -> bool:
        """Whether the workspace has moved a ref since the try began, which has `value` there, and not as a fast-forward of it; in doubt it has."""
        now, base = self._now[ref], self._base_of(_at(self._at, ref))
        is_commit, was = ref.startswith(_COMMITS), None
        if base is not None and base.content is not None:
            was = _id(base.content)
            if was == now:
                return False
        elif os.path.lexists(f"{self._here}/{ref}"):
            if self._is_still(ref):
                return False
        elif self._is_packed_known:
            was = self._was_packed.get(ref)
            if was == now:
                return False
        if now is None and was is None:
            return False  # nothing is there to be lost
        # What the workspace has taken back is not to come again, by a commit that was made on it.
        is_back = was is not None and now is not None and git.is_ancestor(now, was)
        return now is None or value is None or not is_commit or is_back or not git.is_ancestor(now, value)

    def _is_still(self, name: str) -> bool:
        there = _status(f"{self._here}/{name}")
        is_old = there is None or there.st_ctime_ns <= self._overlay.since
        return is_old or self._knows(_at(self._at, name))

    # -- what becomes of them

    def plan(self, name: str, kept: tuple[str, ...], known: dict[object, object]) -> _Plan:
        """What becomes of the refs, with what of the try's is `kept`; git's answers are `known`. Raises `_Left`."""
        heads = (self._head, _text(_read(self._there, f"{self._own}HEAD")) if f"{self._own}HEAD" in self._tried else "")
        values = (*self._refs.values(), *self._now.values(), *self._packed.values(), *heads)
        is_long = any(value is not None and len(value) == 64 and _ID.fullmatch(value) for value in values)
        objects = [name for name in kept if name.startswith("objects/")]
        with _Git(self._here, self._there, objects, known, is_long=is_long) as git:
            return self._planned(git, name)

    def _planned(self, git: _Git, name: str) -> _Plan:
        taken, arriving, gone = dict[str, str](), dict[str, str](), set[str]()
        stays, in_use = dict[str, str](), self._in_use()
        branch = self._head.removeprefix("ref: ") if self._head.startswith("ref: ") else ""
        branch = branch if _REF.fullmatch(branch) else ""
        index: bytes | None = None
        for ref, value in sorted(self._refs.items(), key=lambda one: (one[1] is not None, one[0])):
            now = self._now[ref]
            if value == now:
                continue
            has_moved = self._has_moved(git, ref, value)
            if value is None:
                if has_moved or ref in in_use or ref == branch:
                    stays[ref] = _STAYS
                else:
                    gone.add(ref)
            elif has_moved and now is not None and ref.startswith(_COMMITS) and git.is_ancestor(value, now):
                continue
            elif (
                has_moved
                or ref in in_use
                or (ref == "refs/stash" and not self._is_log_free(ref))
                or not self._is_free(ref, taken, gone)
            ):
                arriving[ref] = value
            elif ref != branch or self._index is None or (index := self._followed(git, now, value)) is not None:
                taken[ref] = value
            else:
                arriving[ref] = value
        values = {*taken.values(), *arriving.values()}
        own_head = f"{self._own}HEAD"
        head = _id(_read(self._there, own_head)) if own_head in self._tried else None
        at = self._value(branch) if branch else _id(self._head.encode())
        known = [value for value in (at, *self._now.values(), *self._packed.values()) if value is not None]
        if head is not None and not git.is_reached(head, [*values, *(value for value in known[:_MOST_REFS])]):
            arriving["HEAD"] = head
        values.update(arriving.values())
        if not git.has_all(values, known):
            raise _Left(_INCOMPLETE)
        files = {ref: f"{value}\n".encode() for ref, value in taken.items()}
        for ref, content in self._symbolic.items():
            if ref in self._changed or not self._is_free(ref, taken, gone):
                stays[ref] = _STANDS
            else:
                files[ref] = content
        for ref in taken:
            log = self._log(ref)
            if log is not None and self._is_log_free(ref) and self._fits(f"logs/{ref}", gone):
                files[f"logs/{ref}"] = log
        if index is not None and index != self._index:
            files[f"{self._own}index"] = index
        arrived = list[Arrived]()
        for ref, value in arriving.items():
            as_name = self._arrival(git, ref, name, value, taken, gone)
            taken[as_name] = value
            arrived.append(Arrived(ref, as_name))
            if self._value(as_name) == value:
                continue
            files[as_name] = f"{value}\n".encode()
            log = self._log_of_its_own(ref)
            if log and not os.path.lexists(f"{self._here}/logs/{as_name}") and self._fits(f"logs/{as_name}", gone):
                files[f"logs/{as_name}"] = log
        if gone & self._packed.keys():
            files["packed-refs"] = _without(_read(self._here, "packed-refs") or b"", gone)
        logs = {f"logs/{ref}" for ref in gone if f"logs/{ref}" in self._tried and self._is_log_free(ref)}
        return _Plan(files, frozenset(gone | logs), tuple(arrived), stays)

    def _is_free(self, ref: str, planned: Mapping[str, str], gone: Collection[str]) -> bool:
        """Whether git can have a ref of this name beside those that there are: none is the directory of another."""
        for above in _above_of(ref):
            if above in planned or above in self._symbolic or (above in self._packed and above not in gone):
                return False
        below = (one for one in (*planned, *self._symbolic) if one.startswith(f"{ref}/"))
        if any(below) or (ref in self._packed_in and not self._packed_beneath(ref) <= set(gone)):
            return False
        return self._fits(ref, gone)

    def _packed_beneath(self, ref: str) -> set[str]:
        return {one for one in self._packed if one.startswith(f"{ref}/")}

    def _fits(self, name: str, gone: Collection[str]) -> bool:
        """Whether a file can lie there, when those that are `gone`, or their logs, have gone."""
        out = {*gone, *(f"logs/{ref}" for ref in gone)}
        for above in _above_of(name):
            status = _status(f"{self._here}/{above}")
            if status is not None and not stat.S_ISDIR(status.st_mode) and above not in out:
                return False
        if not _is_directory(_status(f"{self._here}/{name}")):
            return True
        return all(
            f"{name}/{path}" in out for path, found in walk_tree(f"{self._here}/{name}") if not _is_directory(found)
        )

    def _in_use(self) -> frozenset[str]:
        """The branches that other working trees are on, or will be on again when they have rebased; the workspace's own, while it merges or rebases, too."""
        places = ["", self._own] if not self._overlay.is_git else [self._own]  # nobody works in a bare one
        with suppress(OSError), os.scandir(f"{self._here}/worktrees") as entries:
            places += [f"worktrees/{entry.name}/" for entry in entries]
        said = {f"{place}{name}" for place in places for name in _NAMED}
        if not any(os.path.lexists(f"{self._here}/{self._own}{name}") for name in _BUSY):
            said.discard(f"{self._own}HEAD")
        names = (_text(_read(self._here, one)).removeprefix("ref: ") for one in said)
        return frozenset(one if one.startswith("refs/") else f"refs/heads/{one}" for one in names)

    def _followed(self, git: _Git, now: str | None, value: str) -> bytes | None:
        """The workspace's index when its branch has moved; None where what is staged there stands in the way."""
        assert self._index is not None, "asked for where there is one"
        return git.read_tree(self._index, now or _EMPTY[len(value)], value)

    def _log(self, ref: str) -> bytes | None:
        step = self._tried.get(f"logs/{ref}")
        return _read(self._there, f"logs/{ref}") if step is not None and step.kind == "file" else None

    def _log_of_its_own(self, ref: str) -> bytes:
        """What the try has done to a ref, where it is known what was noted of it before."""
        log, before = self._log(ref) or b"", self._base_of(_at(self._at, f"logs/{ref}"))
        return log.removeprefix(before.content) if before is not None and before.content is not None else log

    def _is_log_free(self, ref: str) -> bool:
        return f"logs/{ref}" not in self._changed

    def _arrival(
        self, git: _Git, ref: str, name: str, value: str, planned: Mapping[str, str], gone: Collection[str]
    ) -> str:
        """What a ref is called that both have moved."""
        kind, _, rest = ref.removeprefix("refs/").partition("/")
        is_branch = kind == "heads" or ref == "HEAD"
        beside = f"refs/try/{name}/{ref.removeprefix('refs/')}"
        # Where there is a branch called try, or try/NAME, no other can begin so.
        for plain in (f"refs/heads/try/{name}/{rest or ref}", beside) if is_branch else (beside,):
            for number in range(1, _ARRIVALS):
                one = plain if number == 1 else f"{plain}-{number}"
                if planned.get(one) == value:
                    return one
                if one in planned or len(os.fsencode(one.rpartition("/")[2])) > _LONGEST_NAME:
                    continue
                if not self._is_free(one, planned, gone):
                    continue
                there = self._value(one)
                if there in (None, value) or (one.startswith(_COMMITS) and git.is_ancestor(there or "", value)):
                    return one
        raise _Left(_IN_THE_WAY.format(repr(beside), repr(ref)))


class _Git:
    """Git in a private repository that has the workspace's objects and some of the try's, and nothing else of either."""

    def __init__(
        self, here: str, there: str, objects: Sequence[str], known: dict[object, object], *, is_long: bool
    ) -> None:
        self._here, self._there, self._objects, self._known, self._is_long = here, there, objects, known, is_long
        self._made: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._made is not None:
            self._made.cleanup()

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether a commit is another one, or one of those that it was made from."""
        return self._asked(("ancestor", one, other), lambda: self._is_ancestor(one, other))

    def is_reached(self, one: str, others: Iterable[str]) -> bool:
        """Whether a commit is one of some others, or what they were made from."""
        return any(self.is_ancestor(one, other) for other in dict.fromkeys(others))

    def has_all(self, values: Iterable[str], known: Iterable[str]) -> bool:
        """Whether all objects are there that these need; not looked for are those that the `known` need, where these are there."""
        wanted, bounds = tuple(sorted(values)), tuple(dict.fromkeys(known))
        key = ("objects", wanted, bounds, tuple(self._objects))
        return not wanted or self._asked(key, lambda: self._has_all(wanted, bounds))

    def read_tree(self, index: bytes, one: str, other: str) -> bytes | None:
        """An index that follows from one commit to another; None where it has changed what has changed between them."""
        return self._asked(("index", index, one, other), lambda: self._read_tree(index, one, other))

    def _asked(self, key: object, ask: Callable[[], T]) -> T:
        """What was asked before, of the same, is not asked again: ids name what never changes."""
        if key not in self._known:
            self._known[key] = ask()
        return cast("T", self._known[key])

    def _is_ancestor(self, one: str, other: str) -> bool:
        return self._run("merge-base", "--is-ancestor", one, other).returncode == 0

    def _has_all(self, values: Sequence[str], known: Sequence[str]) -> bool:
        asked = "".join(f"{one}\n" for one in known)
        said = self._run("cat-file", "--batch-check=%(objectname) %(objecttype)", said=asked).stdout.decode()
        there = [line.split()[0] for line in said.splitlines() if line.endswith((" commit", " tag"))]
        wanted = "".join(f"{one}\n" for one in (*values, *(f"^{one}" for one in there)))
        return self._run("rev-list", "--objects", "--quiet", "--stdin", said=wanted).returncode == 0

    def _read_tree(self, index: bytes, one: str, other: str) -> bytes | None:
        place = f"{self._place()}/index"
        with open(place, "wb") as file:
            file.write(index)
        if self._run("read-tree", "-i", "-m", one, other).returncode != 0:
            return None
        with open(place, "rb") as file:
            return file.read()

    def _place(self) -> str:
        if self._made is not None:
            return self._made.name
        self._made = TemporaryDirectory(prefix="wink-refs-")
        place = self._made.name
        for name in ("refs", "objects/info", "work"):
            os.makedirs(f"{place}/{name}")
        os.symlink(f"{self._here}/objects", f"{place}/theirs")
        files = {
            "HEAD": b"ref: refs/heads/none\n",
            "config": b"[core]\n\trepositoryformatversion = 1\n",
            "objects/info/alternates": f"{place}/theirs\n".encode(),
        }
        if self._is_long:
            files["config"] += b"[extensions]\n\tobjectformat = sha256\n"
        shallow = _read(self._here, "shallow")
        for name, content in (files if shallow is None else {**files, "shallow": shallow}).items():
            with open(f"{place}/{name}", "xb") as file:
                file.write(content)
        for name in self._objects:
            os.makedirs(os.path.dirname(f"{place}/{name}"), exist_ok=True)
            os.symlink(f"{self._there}/{name}", f"{place}/{name}")
        return place

    def _run(self, *words: str, said: str = "") -> subprocess.CompletedProcess[bytes]:
        git, place = program("git"), self._place()
        assert git is not None, "looked for before"
        environment = git_environment(place) | {
            "GIT_WORK_TREE": f"{place}/work",
            "GIT_INDEX_FILE": f"{place}/index",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
        }
        try:
            return subprocess.run(
                [git, *words],
                cwd=f"{place}/work",
                env=environment,
                input=said.encode(),
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _Left(_UNREADABLE.format(f"git {words[0]}: {type(error).__name__}")) from None


def _within(path: str, at: str) -> str:
    """The path in a git directory."""
    return path[len(at) + 1 :] if at else path


def _at(at: str, name: str) -> str:
    return f"{at}/{name}" if at else name


def _is_kept(name: str, step: Step) -> bool:
    """Whether what the try has is taken as a file: a new object, or what is no data of git's, of which rules and settings decide."""
    if _OBJECT.fullmatch(name):
        return step.kind == "file" and step.found is None
    return not is_git_data(f".git/{name}")


def _check_kinds(own: Mapping[str, Step], has_worktrees: bool) -> None:
    """Raise `_Left` for what is merged neither as refs nor as files."""
    if has_worktrees or "shallow" in own:
        raise _Left(_UNREADABLE.format("its worktrees, or how much of its history it has, were changed in the try"))
    for name, step in own.items():
        if step.kind == "link" and is_git_data(f".git/{name}"):
            raise _Left(_UNREADABLE.format(f"{name!r} is a link in the try"))


def _read(base: str, path: str, most: int = _MOST_BYTES) -> bytes | None:
    """What a regular file says that is not reached through a link; None where there is none; raises `_Left` for anything else."""
    above, _, name = path.rpartition("/")
    place = f"{base}/{above}" if above else base
    if not os.path.lexists(f"{base}/{path}"):
        return None
    try:
        with opened_directory(place) as directory:
            fd = os.open(name, _READ, dir_fd=directory)
        return content_of(fd, f"{base}/{path}", most)
    except FileNotFoundError:
        return None
    except RecordCorrupt as error:
        raise _Left(_UNREADABLE.format(f"{path!r} is no file that could be read, or too large")) from error
    except OSError as error:
        raise _Left(_UNREADABLE.format(f"{path!r}: {error.strerror}")) from error


def _text(content: bytes | None) -> str:
    return "" if content is None or len(content) > _LONGEST else content.decode("utf-8", "surrogateescape").strip()


def _id(content: bytes | None) -> str | None:
    """The id that a ref names; None for anything else, as the name of another ref."""
    said = _text(content)
    return said if _ID.fullmatch(said) else None


def _packed(content: bytes | None) -> dict[str, str]:
    """The refs that git has packed into one file."""
    found = _PACKED.finditer((content or b"").decode("utf-8", "surrogateescape"))
    return {one[2]: one[1] for one in found}


def _without(content: bytes, refs: Iterable[str]) -> bytes:
    """Packed refs without some, and without what they are peeled to."""
    gone = {os.fsencode(ref) for ref in refs}
    kept, is_gone = list[bytes](), False
    for line in content.splitlines(keepends=True):
        if not line.startswith(b"^"):
            is_gone = line.rstrip(b"\n").partition(b" ")[2] in gone and not line.startswith(b"#")
        if not is_gone:
            kept.append(line)
    return b"".join(kept)


def _files_below(place: str) -> Iterator[str]:
    return (path for path, found in walk_tree(place, closed=False) if stat.S_ISREG(found.st_mode))


def _status(place: str) -> os.stat_result | None:
    try:
        return os.lstat(place)
    except OSError:
        return None


def _is_directory(found: os.stat_result | None) -> bool:
    return found is not None and stat.S_ISDIR(found.st_mode)


def _above(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(above for path in paths for above in _above_of(path))


def _above_of(path: str) -> Iterator[str]:
    return (path[:at] for at in range(len(path)) if path[at] == "/")
