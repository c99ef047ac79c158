"""What becomes of the refs of one git directory that a try has written in, and the workspace too."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from wink.trust import program
from wink_sandbox import Overlay, Step, walk_tree
from wink_sandbox.tries._bases import Base
from wink_sandbox.tries.merging._git_files import (
    ID,
    UNREADABLE,
    NotMerged,
    directories_above,
    files_below,
    id_of,
    is_directory,
    packed_refs,
    parents_of,
    place_in,
    read,
    status_of,
    text_of,
    without_refs,
)
from wink_sandbox.tries.merging._private_git import PrivateGit

_MOST_REFS: Final = 200
"""So many refs that differ are looked at one by one."""
_MOST_INDEX: Final = 256 << 20
_ARRIVALS: Final = 99
_REF: Final = re.compile(r"refs/(?![-./])(?!.*(?://|\.\.|/\.|@\{|\.lock(?:/|$)))[^~^:?*\[\\\x00-\x20\x7f]+(?<![./])")
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


class Plan(NamedTuple):
    """What becomes of a git directory, by paths in it: new contents, and what goes."""

    files: dict[str, bytes]
    gone: frozenset[str]
    arrived: tuple[Arrived, ...]
    stays: dict[str, str]


class Repository:
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
            raise NotMerged(_NO_GIT)
        self._overlay, self._base_of, self._knows, self._at = overlay, base_of, knows, at
        self._tried, self._dropped = tried, dropped
        self._changed, self._own = frozenset(changed), f"{own}/" if own else ""
        self._here, self._there = f"{overlay.root}/{at}".rstrip("/"), f"{overlay.upper}/{at}".rstrip("/")
        if os.path.lexists(f"{self._here}/{self._own}index.lock"):
            raise NotMerged(_LOCKED)
        self._packed = packed_refs(read(self._here, "packed-refs"))
        self._packed_in = directories_above(self._packed)
        before = self._base_of(place_in(at, "packed-refs"))
        is_kept = before is not None and before.content is not None
        self._was_packed = packed_refs(before.content) if before is not None and is_kept else self._packed
        self._is_packed_known = is_kept or (before is None and self._is_still("packed-refs"))
        self._tried_packed = self._was_packed
        if "packed-refs" in tried:
            is_gone = tried["packed-refs"].kind == "drop"
            self._tried_packed = {} if is_gone else packed_refs(read(self._there, "packed-refs"))
        self._head = text_of(read(self._here, f"{self._own}HEAD"))
        self._symbolic: dict[str, bytes] = {}
        self._refs = self._touched()
        self._now = {ref: self._value(ref) for ref in self._refs}
        if sum(now is not None and now != self._refs[ref] for ref, now in self._now.items()) > _MOST_REFS:
            raise NotMerged(_MANY.format(_MOST_REFS))
        self._index = read(self._here, f"{self._own}index", _MOST_INDEX)

    # -- what the two have

    def _touched(self) -> dict[str, str | None]:
        """The refs that the try has given another value, or none."""
        refs: dict[str, str | None] = {}
        for name, step in self._dropped.items():
            if name.startswith("refs/"):
                below = list(files_below(f"{self._here}/{name}")) if is_directory(step.found) else [""]
                refs |= {one: self._tried_packed.get(one) for one in (f"{name}/{path}".rstrip("/") for path in below)}
        for name, step in self._tried.items():
            if name.startswith("refs/") and step.kind == "file":
                content = read(self._there, name) or b""
                refs[name] = id_of(content)
                if refs[name] is None:
                    target = text_of(content).removeprefix("ref: ")
                    if not content.startswith(b"ref: ") or not _REF.fullmatch(target):
                        raise NotMerged(UNREADABLE.format(_ODD_REF.format(repr(name))))
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
                raise NotMerged(UNREADABLE.format(_ODD_REF.format(repr(ref))))
            if any(len(os.fsencode(part)) > _LONGEST_NAME for part in ref.split("/")):
                raise NotMerged(UNREADABLE.format(_TOO_LONG.format(repr(f"{ref[:80]}…"))))
        return refs

    def _value(self, ref: str) -> str | None:
        loose = None if is_directory(status_of(f"{self._here}/{ref}")) else read(self._here, ref)
        return id_of(loose) if loose is not None else self._packed.get(ref)

    def _has_moved(self, git: PrivateGit, ref: str, value: str | None) -> bool:
        """Whether the workspace has moved a ref since the try began, which has `value` there, and not as a fast-forward of it; in doubt it has."""
        now, base = self._now[ref], self._base_of(place_in(self._at, ref))
        is_commit, was = ref.startswith(_COMMITS), None
        if base is not None and base.content is not None:
            was = id_of(base.content)
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
        there = status_of(f"{self._here}/{name}")
        is_old = there is None or there.st_ctime_ns <= self._overlay.since
        return is_old or self._knows(place_in(self._at, name))

    # -- what becomes of them

    def plan(self, name: str, kept: tuple[str, ...], known: dict[object, object]) -> Plan:
        """What becomes of the refs, with what of the try's is `kept`; git's answers are `known`. Raises `NotMerged`."""
        heads = (
            self._head,
            text_of(read(self._there, f"{self._own}HEAD")) if f"{self._own}HEAD" in self._tried else "",
        )
        values = (*self._refs.values(), *self._now.values(), *self._packed.values(), *heads)
        is_long = any(value is not None and len(value) == 64 and ID.fullmatch(value) for value in values)
        objects = [name for name in kept if name.startswith("objects/")]
        with PrivateGit(self._here, self._there, objects, known, is_long=is_long) as git:
            return self._planned(git, name)

    def _planned(self, git: PrivateGit, name: str) -> Plan:
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
        head = id_of(read(self._there, own_head)) if own_head in self._tried else None
        at = self._value(branch) if branch else id_of(self._head.encode())
        known = [value for value in (at, *self._now.values(), *self._packed.values()) if value is not None]
        if head is not None and not git.is_reached(head, [*values, *(value for value in known[:_MOST_REFS])]):
            arriving["HEAD"] = head
        values.update(arriving.values())
        if not git.has_all(values, known):
            raise NotMerged(_INCOMPLETE)
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
            files["packed-refs"] = without_refs(read(self._here, "packed-refs") or b"", gone)
        logs = {f"logs/{ref}" for ref in gone if f"logs/{ref}" in self._tried and self._is_log_free(ref)}
        return Plan(files, frozenset(gone | logs), tuple(arrived), stays)

    def _is_free(self, ref: str, planned: Mapping[str, str], gone: Collection[str]) -> bool:
        """Whether git can have a ref of this name beside those that there are: none is the directory of another."""
        for above in parents_of(ref):
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
        for above in parents_of(name):
            status = status_of(f"{self._here}/{above}")
            if status is not None and not stat.S_ISDIR(status.st_mode) and above not in out:
                return False
        if not is_directory(status_of(f"{self._here}/{name}")):
            return True
        return all(
            f"{name}/{path}" in out for path, found in walk_tree(f"{self._here}/{name}") if not is_directory(found)
        )

    def _in_use(self) -> frozenset[str]:
        """The branches that other working trees are on, or will be on again when they have rebased; the workspace's own, while it merges or rebases, too."""
        places = ["", self._own] if not self._overlay.is_git else [self._own]  # nobody works in a bare one
        with suppress(OSError), os.scandir(f"{self._here}/worktrees") as entries:
            places += [f"worktrees/{entry.name}/" for entry in entries]
        said = {f"{place}{name}" for place in places for name in _NAMED}
        if not any(os.path.lexists(f"{self._here}/{self._own}{name}") for name in _BUSY):
            said.discard(f"{self._own}HEAD")
        names = (text_of(read(self._here, one)).removeprefix("ref: ") for one in said)
        return frozenset(one if one.startswith("refs/") else f"refs/heads/{one}" for one in names)

    def _followed(self, git: PrivateGit, now: str | None, value: str) -> bytes | None:
        """The workspace's index when its branch has moved; None where what is staged there stands in the way."""
        assert self._index is not None, "asked for where there is one"
        return git.read_tree(self._index, now or _EMPTY[len(value)], value)

    def _log(self, ref: str) -> bytes | None:
        step = self._tried.get(f"logs/{ref}")
        return read(self._there, f"logs/{ref}") if step is not None and step.kind == "file" else None

    def _log_of_its_own(self, ref: str) -> bytes:
        """What the try has done to a ref, where it is known what was noted of it before."""
        log, before = self._log(ref) or b"", self._base_of(place_in(self._at, f"logs/{ref}"))
        return log.removeprefix(before.content) if before is not None and before.content is not None else log

    def _is_log_free(self, ref: str) -> bool:
        return f"logs/{ref}" not in self._changed

    def _arrival(
        self, git: PrivateGit, ref: str, name: str, value: str, planned: Mapping[str, str], gone: Collection[str]
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
        raise NotMerged(_IN_THE_WAY.format(repr(beside), repr(ref)))
