"""Add up what transactions changed, for a diff from before the first to after the last of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from wink.filesystem._change import FileChange, FileVersion
from wink.filesystem.undo._versions import Versions


def net_changes(
    versions: Versions, changes: Iterable[tuple[int, FileChange]], *, until_now: bool
) -> tuple[FileChange, ...]:
    """One change for each path that is not as it was, with content as far as it is known.

    `until_now` compares with what is there now, whoever wrote it, otherwise with what the last of them left.
    """
    first: dict[str, tuple[int, FileChange]] = {}
    last: dict[str, tuple[int, FileChange]] = {}
    changes = tuple(changes)
    for position, change in changes:
        first.setdefault(change.path, (position, change))
        last[change.path] = position, change
    net: dict[str, FileChange] = {}
    for path, (began, earliest) in first.items():
        ended, latest = last[path]
        after = versions.present(path) if until_now else latest.after
        if _is_unchanged(versions, path, earliest.before, after, began, ended):
            continue
        shown = versions.with_content(began, FileChange(path, earliest.before, None))
        end = versions.with_content(ended, FileChange(path, None, after))
        net[path] = FileChange(path, shown.before, end.after)
    for path, origin in _origins(changes).items():
        one, other = net.get(path), net.get(origin)
        if one is not None and one.before is None and other is not None and other.after is None:
            net[path] = replace(one, moved_from=origin)
    return tuple(net.values())


def _origins(changes: Iterable[tuple[int, FileChange]]) -> dict[str, str]:
    """From which path each file came that was moved, perhaps several times."""
    origins: dict[str, str] = {}
    for _, group in groupby(changes, key=itemgetter(0)):
        made = [change for _, change in group if change.before is None or change.after is None]
        moved = {
            change.path: origins.get(change.moved_from, change.moved_from)
            for change in made
            if change.moved_from is not None
        }
        for change in made:
            origins.pop(change.path, None)
        origins |= moved
    return origins


def _is_unchanged(
    versions: Versions, path: str, before: FileVersion | None, after: FileVersion | None, began: int, ended: int
) -> bool:
    if before is None or after is None:
        return before is after
    if (before.kind, before.mode, before.target, before.size) != (after.kind, after.mode, after.target, after.size):
        return False
    if before.kind != "file":
        return True
    digest = versions.digest(path, before, began)
    return digest is not None and digest == versions.digest(path, after, ended)
