"""Let what one side has changed in a file follow the new name that the other side has given it.

The system tells of no renames: one is a deletion and a new file that has, to the byte, what the deleted one had when the program
began. Anything less is a deletion and a new file. What fits several files is a rename of none, and so is what is empty.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from wink.dataclass import replace
from wink.errors import RecordCorrupt
from wink_sandbox import Differences, Overlay, Step, remove_tree, repository_of, walk_tree
from wink_sandbox._upper import has_opaque
from wink_sandbox.tries._bases import Base, Bases
from wink_sandbox.tries._facts import Facts
from wink_sandbox.tries._marks import MOST, content_at
from wink_sandbox.tries.merging._three_way import found_content, is_marked, merged_mode

_PLACE: Final = "renamed"
_EMPTY: Final = hashlib.sha256(b"").hexdigest()


class Followed(NamedTuple):
    """`found` with what followed a rename in place of what was in conflict at the paths `settled`.

    The try lets go of `same`, and `merged` are the new names of what is made of both. `pairs` are all old and new names: what is at one is accepted with
    what is at the other, or not at all.
    """

    found: Differences
    settled: frozenset[str]
    same: tuple[Step, ...]
    merged: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]


class _Rename(NamedTuple):
    """What follows one: `step` is to be at the new name, with a content and a mode, and otherwise `like` the workspace's file, which is `found`.

    It is not `made` where one side has that already. Of a rename in the workspace the try lets go of `same`.
    """

    old: str
    step: Step
    like: str
    found: os.stat_result
    content: bytes
    mode: int
    is_made: bool
    same: Step | None = None


class Renames:
    """Follows the renames of one try, which is in use."""

    def __init__(self, overlay: Overlay, bases: Bases) -> None:
        self._overlay, self._bases = overlay, bases

    @property
    def _directory(self) -> str:
        return f"{self._overlay.directory}/{_PLACE}"

    def close(self) -> None:
        """Remove what was made."""
        with suppress(OSError):
            remove_tree(self._directory)

    def of(self, found: Differences, changed: Iterable[str]) -> Followed:
        """Follow the renames of files that have `changed` in the workspace meanwhile, or have another name there."""
        remove_tree(self._directory)
        made, merged, pairs, same = dict[str, Step](), dict[str, str](), dict[str, str](), list[Step]()
        for one in self._renames(found, changed):
            new = one.step.path
            with suppress(OSError):  # which is a conflict still
                if one.is_made:
                    made[new], merged[new] = self._laid(one)
                elif one.same is None:
                    merged[new] = ""
                merged[one.old], pairs[one.old] = "", new
                same += [one.same] if one.same is not None else []
        paths = {step.path for step in found.steps}
        rest = [made.get(step.path, step) for step in found.steps if step not in same]
        rest += [step for path, step in made.items() if path not in paths]
        rest.sort(key=lambda step: (step.path.split("/"), step.kind != "drop"))
        suspects = tuple(path for path in found.suspects if path not in merged)
        kept = replace(found, steps=tuple(rest), suspects=suspects, merged={**found.merged, **merged})
        return Followed(kept, frozenset(merged), tuple(same), tuple(made), tuple(pairs.items()))

    def settled(self, found: Differences, changed: Iterable[str]) -> frozenset[str]:
        """Those of the paths that have `changed` which follow a rename; the try need not be in use."""
        return frozenset(path for one in self._renames(found, changed) for path in (one.old, one.step.path))

    def _renames(self, found: Differences, changed: Iterable[str]) -> Iterator[_Rename]:
        root, upper = self._overlay.root, self._overlay.upper
        steps, gone, edited = self._sorted(found, changed)
        for old, new in self._renamed_in_the_try(gone, steps).items():
            (step, base), to = gone[old], steps[new][0]
            assert step.found is not None, "it was looked for"
            assert to.made is not None, "it is a new file"
            mode = merged_mode(base.mode & 0o777, step.found.st_mode & 0o777, to.made.st_mode & 0o777)
            with suppress(OSError, RecordCorrupt):
                here = found_content(f"{root}/{old}", step.found)
                if mode is not None:
                    is_made = _digest(here) != base.digest or mode != to.made.st_mode & 0o777
                    yield _Rename(old, to, f"{root}/{old}", step.found, here, mode, is_made)
        for old, (new, now) in self._renamed_in_the_workspace(edited).items():
            step, base = edited[old]
            assert step.made is not None, "the try has it"
            mode = merged_mode(base.mode & 0o777, now.st_mode & 0o777, step.made.st_mode & 0o777)
            there = content_at(f"{upper}/{old}", MOST)
            # What an update has marked is not accepted, whatever its name.
            if there is not None and mode is not None and not (is_marked(there) and Facts(self._overlay).marked):
                is_made = _digest(there) != base.digest or mode != now.st_mode & 0o777
                to = Step("file", new, now, step.made)
                yield _Rename(old, to, f"{root}/{new}", now, there, mode, is_made, step)

    def _sorted(
        self, found: Differences, changed: Iterable[str]
    ) -> tuple[dict[str, list[Step]], dict[str, tuple[Step, Base]], dict[str, tuple[Step, Base]]]:
        """The steps by paths, and of those that are in conflict which were deleted in the try, and which in the workspace."""
        steps: dict[str, list[Step]] = {}
        for step in found.steps:
            steps.setdefault(step.path, []).append(step)
        gone, edited = dict[str, tuple[Step, Base]](), dict[str, tuple[Step, Base]]()
        for path in changed:
            its, base = steps.get(path, []), self._bases.of(path)
            if len(its) != 1 or base is None or base.digest in ("", _EMPTY) or repository_of(path)[0] is not None:
                continue
            if its[0].kind == "drop" and its[0].found is not None and stat.S_ISREG(its[0].found.st_mode):
                gone[path] = its[0], base
            elif its[0].kind == "file" and its[0].found is None and base.content is not None:
                edited[path] = its[0], base
        return steps, gone, edited

    def _renamed_in_the_try(
        self, gone: Mapping[str, tuple[Step, Base]], steps: Mapping[str, list[Step]]
    ) -> dict[str, str]:
        # Where the workspace had a file that it has deleted, what the try has there is no new one.
        had = set(self._bases.among(steps)) if gone else set[str]()
        new: dict[str, list[str]] = {}
        for path, its in steps.items() if gone else ():
            is_new = len(its) == 1 and its[0].kind == "file" and its[0].found is None and path not in had
            if is_new and repository_of(path)[0] is None:
                content = content_at(f"{self._overlay.upper}/{path}", MOST)
                new.setdefault(_digest(content), []).append(path)
        pairs = _pairs({path: base.digest for path, (_, base) in gone.items()}, new)
        sizes = {made.st_size for path in pairs.values() if (made := steps[path][0].made) is not None}
        others = {_digest(content_at(path, MOST)) for path in self._deleted(steps, gone, sizes)}
        return {old: path for old, path in pairs.items() if gone[old][1].digest not in others}

    def _deleted(
        self, steps: Mapping[str, list[Step]], gone: Mapping[str, object], sizes: frozenset[int] | set[int]
    ) -> Iterator[str]:
        """Where other files of these sizes are that were deleted in the try, and that nobody has changed."""
        for its in steps.values() if sizes else ():
            step, place = its[0], f"{self._overlay.root}/{its[0].path}"
            if step.kind != "drop" or step.found is None or step.path in gone:
                continue
            if stat.S_ISREG(step.found.st_mode) and step.found.st_size in sizes:
                yield place
            for path, status in walk_tree(place, closed=False) if stat.S_ISDIR(step.found.st_mode) else ():
                if stat.S_ISREG(status.st_mode) and status.st_size in sizes:
                    yield f"{place}/{path}"

    def _renamed_in_the_workspace(
        self, edited: Mapping[str, tuple[Step, Base]]
    ) -> dict[str, tuple[str, os.stat_result]]:
        # Looked for in the whole tree, and only where there is a conflict otherwise.
        sizes = {len(base.content) for _, base in edited.values() if base.content is not None}
        new: dict[str, list[str]] = {}
        found: dict[str, os.stat_result] = {}
        for path, status in walk_tree(self._overlay.root, closed=False) if sizes else ():
            is_new = stat.S_ISREG(status.st_mode) and status.st_ctime_ns > self._overlay.since
            if not is_new or status.st_size not in sizes or path.startswith(".wink/") or repository_of(path)[0]:
                continue
            if not self._is_tried(path):
                with suppress(OSError, RecordCorrupt):
                    content = found_content(f"{self._overlay.root}/{path}", status)
                    new.setdefault(_digest(content), []).append(path)
                    found[path] = status
        pairs = _pairs({path: base.digest for path, (_, base) in edited.items()}, new)
        return {old: (path, found[path]) for old, path in pairs.items()}

    def _is_tried(self, path: str) -> bool:
        """Whether programs find something of the try's own at a path, or nothing, whatever of it is chosen now."""
        for at in (*(at for at in range(len(path)) if path[at] == "/"), len(path)):
            place = f"{self._overlay.upper}/{path[:at]}"
            try:
                found = os.lstat(place)
            except FileNotFoundError:
                return False
            except OSError:
                return True
            if not stat.S_ISDIR(found.st_mode) or has_opaque(place):
                return True
        return True

    def _laid(self, one: _Rename) -> tuple[Step, str]:
        """A step that makes a file of this, and where that is; raises `OSError`."""
        place = f"{self._directory}/{hashlib.sha256(os.fsencode(one.step.path)).hexdigest()}"
        os.makedirs(self._directory, 0o700, exist_ok=True)
        with open(place, "xb") as file:
            file.write(one.content)
        shutil.copystat(one.like, place, follow_symlinks=False)
        if os.geteuid() == 0:
            os.chown(place, one.found.st_uid, one.found.st_gid)
        os.chmod(place, one.mode)
        os.utime(place)
        return replace(one.step, made=os.lstat(place)), place


def _pairs(old: Mapping[str, str], new: Mapping[str, list[str]]) -> dict[str, str]:
    """Which path is which, where each has one that it can be."""
    digests = list(old.values())
    return {
        path: new[digest][0]
        for path, digest in old.items()
        if len(new.get(digest, ())) == 1 and digests.count(digest) == 1
    }


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()
