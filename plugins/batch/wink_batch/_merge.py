"""Put what tasks changed into one workspace, three ways as git does, naming what two of them want differently."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from wink.bounded import content_beneath
from wink.dataclass import dataclass, replace
from wink_batch._errors import BatchError
from wink_batch._git import Contents, GitFailed, contents, fetch, git, make
from wink_batch._journal import Batch
from wink_batch._results import Row

if TYPE_CHECKING:
    from wink.filesystem import FileTransaction
    from wink.workspace import Workspace

_LINK: Final = "120000"
_FOREVER: Final = 1 << 62
_LARGEST_READ: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Conflict:
    """A path that a task wants otherwise than `other`: the tasks merged before it that changed it, or the workspace."""

    task: str
    path: str
    other: str


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of each task: merged with these paths, left out for its conflicts, or without anything to merge.

    `call` is the number under which all of it can be undone. `notes` are paths that decide what Python or wink loads next,
    and links that lead out of the workspace, each with a word on it.
    """

    merged: tuple[tuple[str, tuple[str, ...]], ...]
    conflicts: tuple[Conflict, ...]
    unchanged: tuple[str, ...]
    call: int | None = None
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    mode: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _Change:
    path: str
    before: _File | None
    after: _File | None


def merge(batch: Batch, workspace: Workspace, tasks: Sequence[str] = (), *, dry_run: bool = False) -> Merged:
    """Merge the tasks, by default all that are done and did not fail their check, in their order, as one call.

    A task with any conflict is left out as a whole. Raises `BatchError` where a task's final state was not kept, or cannot
    be had any more.
    """
    names = tasks or [
        name for name, row in batch.results.items() if row["status"] == "done" and row.get("passed") is not False
    ]
    order = {name: number for number, name in enumerate(batch.tasks)}
    wanted: list[tuple[str, list[_Change]]] = []
    with tempfile.TemporaryDirectory(prefix="wink-merge-") as place:
        make(place)
        for name in sorted(names, key=lambda name: order.get(name, -1)):
            row = batch.result(name)
            if row is None:
                raise BatchError(f"task {name!r} is not over; leave it out, or go on with the batch first")
            wanted.append((name, _changes(batch, name, row, place) if row["changed"] else []))
    found: list[Merged] = []

    def take(part: FileTransaction) -> None:
        ground = _Ground(part.tree.store.root)
        found.append(ground.merged(wanted))
        if not dry_run:
            ground.write(part)

    if dry_run or not any(changes for _, changes in wanted):
        return _Ground(workspace.root).merged(wanted)
    from wink.workspace import apply
    from wink_sandbox import steering

    call, changes = apply(workspace, "merge", {"batch": batch.plan.name, "tasks": [name for name, _ in wanted]}, take)
    return replace(found[0], call=call, notes=steering(changes, workspace.root))


class _Ground:
    """The workspace, with what was merged so far."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._now: dict[str, _File | None] = {}
        self._from: dict[str, list[str]] = {}

    def merged(self, wanted: Sequence[tuple[str, list[_Change]]]) -> Merged:
        """Merge in memory, task by task."""
        merged: list[tuple[str, tuple[str, ...]]] = []
        conflicts: list[Conflict] = []
        unchanged: list[str] = []
        for name, changes in wanted:
            results: dict[str, _File | None] = {}
            against: list[Conflict] = []
            for change in changes:
                now = self._at(change.path)
                blocked = change.after is not None and self._is_blocked(
                    change.path, {one.path for one in changes if one.after is None}
                )
                result = None if blocked else _three(change, now)
                if result is None:
                    against.append(
                        Conflict(name, change.path, " and ".join(self._from.get(change.path, ("the workspace",))))
                    )
                elif result[0] != now:
                    results[change.path] = result[0]
            if against:
                conflicts += against
            elif results:
                merged.append((name, tuple(sorted(results))))
                self._now |= results
                for path in results:
                    self._from.setdefault(path, []).append(name)
            else:
                unchanged.append(name)
        return Merged(tuple(merged), tuple(conflicts), tuple(unchanged))

    def _is_blocked(self, path: str, going: set[str]) -> bool:
        """Whether a directory stands where a file is to be, or a file where its directory would have to be."""
        if os.path.isdir(f"{self._root}/{path}") and not os.path.islink(f"{self._root}/{path}"):
            return True
        above = path.rpartition("/")[0]
        while above:
            if above not in going and self._at(above) is not None:
                return True
            above = above.rpartition("/")[0]
        return False

    def _at(self, path: str) -> _File | None:
        if path in self._now:
            return self._now[path]
        place = f"{self._root}/{path}"
        try:
            found = os.lstat(place)
        except OSError:
            return None
        if stat.S_ISLNK(found.st_mode):
            return _File(_LINK, os.fsencode(os.readlink(place)))
        if not stat.S_ISREG(found.st_mode) or os.path.realpath(os.path.dirname(place)) != os.path.dirname(
            os.path.realpath(self._root) + f"/{path}"
        ):
            return None
        data = content_beneath(self._root, path, most=_LARGEST_READ)
        return _File("100755" if found.st_mode & 0o100 else "100644", data)

    def write(self, part: FileTransaction) -> None:
        """Do it in a call's part, as what a program left in an overlay is done."""
        from wink.filesystem import program_state
        from wink_sandbox import Overlay, Step, differences
        from wink_sandbox import merge as carry_over

        with tempfile.TemporaryDirectory(prefix="merge-", dir=program_state(part)) as place:
            overlay = Overlay(self._root, place, since=_FOREVER)
            os.mkdir(overlay.upper)
            os.chmod(overlay.upper, stat.S_IMODE(os.stat(self._root).st_mode))
            drops: list[Step] = []
            for path, file in sorted(self._now.items()):
                if file is None:
                    drops.append(Step("drop", path, found=os.lstat(f"{self._root}/{path}")))
                else:
                    self._lay(overlay.upper, path, file)
            found = differences(overlay)
            carry_over(replace(found, steps=(*drops, *found.steps)), part)

    def _lay(self, upper: str, path: str, file: _File) -> None:
        above = ""
        for name in path.split("/")[:-1]:
            above = f"{above}/{name}"
            if not os.path.isdir(upper + above):
                os.mkdir(upper + above)
                try:
                    mode = stat.S_IMODE(os.stat(self._root + above).st_mode)
                except OSError:
                    mode = 0o755
                os.chmod(upper + above, mode)
        place = f"{upper}/{path}"
        if file.mode == _LINK:
            os.symlink(file.content, place)
            return
        with open(place, "xb") as out:
            out.write(file.content)
            os.fchmod(out.fileno(), 0o755 if file.mode == "100755" else 0o644)


def _three(change: _Change, now: _File | None) -> tuple[_File | None] | None:
    """What is to stand there, in a tuple; None for a conflict."""
    before, after = change.before, change.after
    if now in (after, before):
        return (after,)
    if now is None or before is None or after is None or _LINK in (now.mode, before.mode, after.mode):
        return None
    mode = after.mode if now.mode == before.mode else now.mode
    content = _lines(now.content, before.content, after.content)
    return None if content is None else (_File(mode, content),)


def _lines(now: bytes, before: bytes, after: bytes) -> bytes | None:
    """Both changes of a text, where they do not touch each other."""
    if now == before:
        return after
    if after == before:
        return now
    from wink_sandbox.tries import MergeFailed, merge_texts

    (merged,) = merge_texts([(now, before, after)])
    if isinstance(merged, MergeFailed):
        raise BatchError(f"nothing was merged: {merged}")
    return merged.content if merged is not None and not merged.hunks else None


def _changes(batch: Batch, name: str, row: Row, repository: str) -> list[_Change]:
    """What a task changed, read from where its final state is."""
    reference = f"refs/wink/{batch.plan.name}/"
    where: str = row["checkpoint"]
    if not where or not row["commit"]:
        raise BatchError(
            f"the final state of task {name!r} was not kept; begin a batch without --checkpoint none to merge what it changes"
        )
    try:
        source = batch.tasks[name].workspace
        if source.kind == "git":
            fetch(repository, source.address, row["base"])
        if " refs/" in where:
            address, _, reference = where.partition(" ")
            # Users and passwords were left out of what is shown; the plan has them.
            address = batch.plan.checkpoint if batch.plan.checkpoint != "origin" else source.address
            git(repository, "fetch", "--quiet", "--no-tags", "--", address, f"+{reference}:{reference}", network=True)
        else:
            path = os.path.join(batch.directory, where)
            git(repository, "fetch", "--quiet", "--no-tags", "--", path, f"+{reference}*:{reference}*")
        with contents(repository) as objects:
            raw = git(repository, "diff-tree", "-r", "-z", "--no-renames", row["base"], row["commit"]).split(b"\0")
            return [_change(objects, raw[at], raw[at + 1]) for at in range(0, len(raw) - 1, 2)]
    except GitFailed as error:
        raise BatchError(f"the final state of task {name!r} cannot be had: {error}") from None


def _change(objects: Contents, facts: bytes, path: bytes) -> _Change:
    old_mode, new_mode, old, new, _ = facts.decode().lstrip(":").split(" ")

    def file(mode: str, sha: str) -> _File | None:
        return None if set(mode) == {"0"} else _File(mode, objects.read(sha))

    return _Change(os.fsdecode(path), file(old_mode, old), file(new_mode, new))
