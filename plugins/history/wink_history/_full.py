"""Checkpoints of everything that is in a workspace, and the way back to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, cast

from wink.errors import CheckpointExists, HistoryDamaged, WorkspaceBusy
from wink.filesystem import FileChange, FileVersion, HostFilesystem, Target, Versions, plan
from wink.limits import utc_now
from wink.record import Listed, Record
from wink_history._everything import TakenIn, take_in

if TYPE_CHECKING:
    from wink.workspace import Everything
    from wink_history._folding import Folding
    from wink_history._listing import Item
    from wink_history._scan import Progress, Tree

IGNORED_BYTES: Final = 64 << 20
"""How much of ignored files a checkpoint of everything takes in, unless told otherwise."""
_SECONDS: Final = 30.0


def checkpoint(
    folding: Folding,
    files: HostFilesystem,
    record: Record,
    name: str,
    budget: int | None,
    turn: Callable[[], AbstractContextManager[object]],
    progress: Progress | None,
    move: bool,
) -> TakenIn:
    """Take in everything as it is now under a name; raises `CheckpointExists`, unless it is to `move`, and `WorkspaceBusy`."""
    if not move and any(one.name == name for one in record.checkpoints()):
        raise CheckpointExists(name)
    with turn():
        record.folds.prepare()
    folding.fold()
    earlier = _latest(folding, record)
    with folding.store() as store:
        began = time.monotonic()
        while not store.lock():
            waited = time.monotonic() - began
            if waited > _SECONDS:
                raise WorkspaceBusy(files.root, waited, "")
            time.sleep(0.01)
        return take_in(
            store,
            cast("Tree", files.places),
            name,
            utc_now(),
            budget=IGNORED_BYTES if budget is None else budget,
            turn=turn,
            keep=lambda listed: record.checkpoint(name, listed, move=move),
            earlier=earlier,
            progress=progress or _silent,
        )


def everything_of(folding: Folding, record: Record, name: str, places: Sequence[str]) -> Everything:
    """What restoring a checkpoint of everything means, at `places` only if there are any; raises `HistoryDamaged`."""
    listed = next(one for one in record.listed() if one.name == name)
    items = folding.archive().items(listed.listing, listed.digest)

    def is_meant(path: str) -> bool:
        return not places or any(not place or path == place or path.startswith(place + "/") for place in places)

    return lambda versions, changes: wanted(versions, items, changes, is_meant)


def wanted(
    versions: Versions,
    items: Mapping[str, Item],
    changes: Sequence[tuple[int, FileChange]],
    is_meant: Callable[[str], bool],
) -> tuple[dict[str, Target], list[tuple[str, str]], tuple[str, ...]]:
    """What has to become of each path for everything to be as `items` say, after `changes` by calls.

    Gives targets, conflicts, and the paths that calls made and that stay, since somebody else has written to them. What
    nobody's call has made stays in any case. What lies in `.git` goes back as for any undo.
    """
    targets, conflicts = plan(versions, [change for change in changes if not is_listed(change[1].path)])
    for path, item in items.items():
        if item.missing or not is_meant(path):
            continue
        now = versions.present(path)
        if not _is_as(versions, path, now, item):
            targets[path] = Target(path, now, item.version(), 0)
    kept: list[str] = []
    last = {change.path: (position, change.after) for position, change in changes}
    for path, (position, left) in last.items():
        if path in items or not is_listed(path) or not is_meant(path):
            continue
        now = versions.present(path)
        if now is None:
            continue
        if left is not None and _is_left(versions, path, now, left, position):
            targets[path] = Target(path, now, None, position)
        else:
            kept.append(path)
    return targets, conflicts, tuple(sorted(kept))


def is_listed(path: str) -> bool:
    """Whether a checkpoint of everything covers a path: it leaves `.git` to git."""
    from wink.filesystem import protected_as

    return not any(protected_as(name) for name in path.split("/"))


def _is_as(versions: Versions, path: str, now: FileVersion | None, item: Item) -> bool:
    if now is None or now.kind != item.kind:
        return False
    if item.kind == "link":
        return now.target == item.target
    if item.kind == "directory":
        return now.mode == item.mode
    if now.size != item.size or now.kept is None:
        return False
    is_untouched = item.is_still(now.kept.inode, now.kept.modified_ns, now.kept.changed_ns)
    has_content = is_untouched or versions.present_digest(path, now) == item.digest
    return has_content and now.mode == item.mode


def _is_left(versions: Versions, path: str, now: FileVersion, left: FileVersion, position: int) -> bool:
    if now.kind != left.kind or now.kind != "file":
        return now.kind == left.kind and now.target == left.target
    if now.size != left.size:
        return False
    known = versions.digest(path, left, position)
    return known is not None and known == versions.present_digest(path, now)


def _latest(folding: Folding, record: Record) -> Mapping[str, Item]:
    """The last checkpoint of everything, which saves reading what has not changed since."""
    order = {one.name: one.at for one in record.checkpoints()}
    found: Iterable[Listed] = sorted(record.listed(), key=lambda one: order[one.name], reverse=True)
    for one in found:
        try:
            return folding.archive().items(one.listing, one.digest)
        except HistoryDamaged:
            break
    return {}


def _silent(count: int, path: str) -> None:
    del count, path
