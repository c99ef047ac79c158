"""Let what one side has changed in a file follow the new name that the other side has given it.

The system tells of no renames: one is a deletion and a new file that has, to the byte, what the deleted one had when the program
began. Anything less is a deletion and a new file. What fits several files is a rename of none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from wink.dataclass import replace
from wink.errors import RecordCorrupt
from wink_sandbox import Differences, Overlay, Step, remove_tree, repository_of, walk_tree
from wink_sandbox.tries._bases import Base, Bases
from wink_sandbox.tries._marks import MOST, content_at
from wink_sandbox.tries._three_way import found_content, merged_mode

_PLACE: Final = "renamed"


class Followed(NamedTuple):
    """`found` with what followed a rename in place of what was in conflict at the paths `settled`; the try lets go of `same`, and `merged` are the new names."""

    found: Differences
    settled: frozenset[str]
    same: tuple[Step, ...]
    merged: tuple[str, ...]


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
        steps, gone, edited = self._sorted(found, changed)
        made: dict[str, Step] = {}
        merged: dict[str, str] = {}
        same = list[Step]()
        for old, new in self._renamed_in_the_try(gone, steps).items():
            step, base = gone[old]
            with suppress(OSError, RecordCorrupt):  # which is a conflict still
                assert step.found is not None, "it was looked for"
                here = found_content(f"{self._overlay.root}/{old}", step.found)
                made[new] = self._laid(steps[new][0], f"{self._overlay.root}/{old}", here, base, step.found, merged)
                merged[old] = ""
        for old, new in self._renamed_in_the_workspace(edited, steps).items():
            step, base = edited[old]
            there = content_at(f"{self._overlay.upper}/{old}", MOST)
            with suppress(OSError):
                if there is not None and step.made is not None:
                    place = f"{self._overlay.root}/{new}"
                    now = os.lstat(place)
                    made[new] = self._laid(Step("file", new, now, step.made), place, there, base, now, merged)
                    merged[old] = ""
                    same.append(step)
        rest = [made.get(step.path, step) for step in found.steps if step not in same]
        rest += [step for path, step in made.items() if path not in steps]
        rest.sort(key=lambda step: (step.path.split("/"), step.kind != "drop"))
        suspects = tuple(path for path in found.suspects if path not in merged)
        kept = replace(found, steps=tuple(rest), suspects=suspects, merged={**found.merged, **merged})
        return Followed(kept, frozenset(merged), tuple(same), tuple(made))

    def settled(self, found: Differences, changed: Iterable[str]) -> frozenset[str]:
        """Those of the paths that have `changed` which follow a rename; the try need not be in use."""
        steps, gone, edited = self._sorted(found, changed)
        here, there = self._renamed_in_the_workspace(edited, steps), self._renamed_in_the_try(gone, steps)
        return frozenset((*here, *there))

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
            if len(its) != 1 or base is None or not base.digest or repository_of(path)[0] is not None:
                continue
            if its[0].kind == "drop" and its[0].found is not None and stat.S_ISREG(its[0].found.st_mode):
                gone[path] = its[0], base
            elif its[0].kind == "file" and its[0].found is None:
                edited[path] = its[0], base
        return steps, gone, edited

    def _renamed_in_the_try(
        self, gone: Mapping[str, tuple[Step, Base]], steps: Mapping[str, list[Step]]
    ) -> dict[str, str]:
        new: dict[str, list[str]] = {}
        for path, its in steps.items() if gone else ():
            if len(its) == 1 and its[0].kind == "file" and its[0].found is None and repository_of(path)[0] is None:
                content = content_at(f"{self._overlay.upper}/{path}", MOST)
                new.setdefault(_digest(content), []).append(path)
        return _pairs({path: base.digest for path, (_, base) in gone.items()}, new)

    def _renamed_in_the_workspace(
        self, edited: Mapping[str, tuple[Step, Base]], steps: Mapping[str, list[Step]]
    ) -> dict[str, str]:
        # Looked for in the whole tree, and only where there is a conflict otherwise.
        sizes = {len(base.content) for _, base in edited.values() if base.content is not None}
        new: dict[str, list[str]] = {}
        for path, status in walk_tree(self._overlay.root, closed=False) if sizes else ():
            is_new = stat.S_ISREG(status.st_mode) and status.st_ctime_ns > self._overlay.since
            if is_new and status.st_size in sizes and path not in steps and not path.startswith((".git/", ".wink/")):
                with suppress(OSError, RecordCorrupt):
                    content = found_content(f"{self._overlay.root}/{path}", status)
                    new.setdefault(_digest(content), []).append(path)
        return _pairs({path: base.digest for path, (_, base) in edited.items()}, new)

    def _laid(
        self, step: Step, like: str, content: bytes, base: Base, found: os.stat_result | None, merged: dict[str, str]
    ) -> Step:
        """A step that makes a file of this content, with the permissions of both sides; raises `OSError`."""
        assert found is not None, "the workspace has it, by one name or the other"
        assert step.made is not None, "and so has the try"
        mode = merged_mode(base.mode & 0o777, found.st_mode & 0o777, step.made.st_mode & 0o777)
        if mode is None:
            raise OSError("both have changed its permissions")
        place = f"{self._directory}/{hashlib.sha256(os.fsencode(step.path)).hexdigest()}"
        os.makedirs(self._directory, 0o700, exist_ok=True)
        with open(place, "xb") as file:
            file.write(content)
        shutil.copystat(like, place, follow_symlinks=False)
        if os.geteuid() == 0:
            os.chown(place, found.st_uid, found.st_gid)
        os.chmod(place, mode)
        os.utime(place)
        merged[step.path] = place
        return replace(step, made=os.lstat(place))


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
