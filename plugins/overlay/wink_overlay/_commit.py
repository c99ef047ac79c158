"""Bring an overlay's changes into its lower layer, or drop them.

What is written is what `diff` tells. A move is written as a whole: whoever commits only where something came from, and so
removes it there, commits also where it went.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from wink.errors import PathRefused, ReadOnlyFilesystem
from wink.filesystem import FileChange, FileTransaction, FileVersion, Node
from wink_overlay._changes import below, changes_below
from wink_overlay._errors import OverlayCommitFailed
from wink_overlay._lower import TreeLower, has_same_bytes, token_of
from wink_overlay._marks import OWN, Mark, in_gone, in_tree, joined
from wink_overlay._order import Order, Write, above
from wink_overlay._view import Seen

if TYPE_CHECKING:
    from wink_overlay._change_set import OverlayChangeSet
    from wink_overlay._foreign import ForeignLower
    from wink_overlay._store import OverlayStore

_DIFFABLE_TOGETHER: Final = 16 << 20
"""How many bytes of small files' contents a result holds, so that it can still be shown as a diff."""


def commit(
    part: FileTransaction, store: OverlayStore, paths: tuple[str, ...]
) -> tuple[FileChange, ...] | OverlayCommitFailed | ReadOnlyFilesystem:
    """Write what differs at these paths to the lower layer, and forget it here.

    A failure is returned, not raised, when something was put back below: that has to be noted here all the same.
    """
    store.lower.refresh()
    covered = _with_targets_of_moves(store, paths or ("",))
    for path in covered:
        _check_above(store, path)
    changes = changes_below(store, *covered)
    writes = _verified(store, changes)
    result = _kept(changes)
    if writes:
        try:
            _write(store, Order(writes))
        except (OverlayCommitFailed, ReadOnlyFilesystem) as failed:
            store.lower.refresh()
            _recognise(part, store, {write.path for write in writes})
            return failed
        store.lower.refresh()
    _forget(part, store, covered, changes)
    return result


def _write(store: OverlayStore, order: Order) -> None:
    lower = store.lower
    if isinstance(lower, TreeLower):
        from wink_overlay._to_tree import write

        write(lower, store, order)
    else:
        from wink_overlay._to_foreign import write

        write(cast("ForeignLower", lower), store, order)


def discard(part: FileTransaction, store: OverlayStore, paths: tuple[str, ...]) -> tuple[FileChange, ...]:
    """Forget what differs at these paths."""
    changes = _kept(changes_below(store, *paths))
    known = _known(store, paths or ("",))
    if known:
        with part.changing(known[0] or ".") as change_set:
            cast("OverlayChangeSet", change_set).forget(known)
    for change in changes:
        part.observe(change.path, None)
    return changes


def _known(store: OverlayStore, paths: tuple[str, ...]) -> list[str]:
    """The paths at which there is something to be forgotten."""
    upper = store.view.upper
    return [path for path in paths if upper.at(in_tree(path)) is not None or upper.at(in_gone(path)) is not None]


def _forget(
    part: FileTransaction, store: OverlayStore, paths: tuple[str, ...], changes: tuple[FileChange, ...]
) -> None:
    """Empty the upper layer of what was written, but for directories that the lower layer cannot hold."""
    stay = [
        (change.path, change.after.mode)
        for change in changes
        if change.after is not None and change.after.kind == "directory" and store.lower.node(change.path) is None
    ]
    known = _known(store, paths)
    if not known:
        return
    with part.changing(known[0] or ".") as change_set:
        overlay = cast("OverlayChangeSet", change_set)
        overlay.forget(known)
        for path, _ in stay:
            if store.view.find(path, follow=False).node is None:
                overlay.mkdir(path)


def _recognise(part: FileTransaction, store: OverlayStore, put_back: set[str]) -> None:
    """Know what was put back in the lower layer for what it was, though it may have another time or number now."""
    view = store.view
    known: list[tuple[str, Mark, bool]] = []
    for path, mark, nests in _marks(store, ""):
        directory, name = view.at(path.rpartition("/")[0]), path.rpartition("/")[2]
        inherited = None if directory is None else view.inherited(directory, name)
        was, moved = mark.was, mark.moved
        if was is not None and inherited in put_back:
            was = _token(store.lower.node(inherited))
        if moved is not None and mark.origin is not None and mark.origin in put_back:
            moved = _token(store.lower.node(mark.origin))
        # A directory's mark is set anew for the time that it then has, which tells older files from newer ones.
        has_files = inherited is not None and any(each.startswith(inherited + "/") for each in put_back)
        if was is not None and (has_files or (was, moved) != (mark.was, mark.moved)):
            known.append((path, replace(mark, was=was, moved=moved), nests))
    if known:
        with part.changing(known[0][0]) as change_set:
            cast("OverlayChangeSet", change_set).mark(known)


def _with_targets_of_moves(store: OverlayStore, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths, and those at which something is seen that changing them in the lower layer would take away."""
    if "" in paths:
        return ("",)
    moved = [(path, mark.origin) for path, mark, _ in _marks(store, "") if mark.origin is not None]
    covered = dict.fromkeys(paths)
    grew = True
    while grew:
        grew = False
        for path, origin in moved:
            if not _is_within(path, covered) and _is_within(origin, covered):
                covered[path] = None
                grew = True
    return tuple(path for path in covered if not _is_within(path, [other for other in covered if other != path]))


def _marks(store: OverlayStore, path: str) -> Iterator[tuple[str, Mark, bool]]:
    """Every path that has a mark, and whether there may be others beneath it."""
    upper = store.view.upper
    mark, nests = upper.marked(path)
    if mark is not None:
        yield path, mark, nests
    if nests:
        for name in list(upper.marks(path)):
            yield from _marks(store, joined(path, name))


def _check_above(store: OverlayStore, path: str) -> None:
    """Refuse a part of a directory that was moved or made anew: without the directory it would mean something else."""
    for directory in above(path):
        seen = store.view.at(directory)
        if seen is not None and seen.mark is not None:
            raise PathRefused(path, f"is in {directory!r}, which was itself moved, deleted or made anew; name that")


def _verified(store: OverlayStore, changes: tuple[FileChange, ...]) -> list[Write]:
    """What is to be written; raises where the lower layer is not what it was when it was changed here."""
    touched = {change.path for change in changes}
    writes: list[Write] = []
    strangers: list[str] = []
    lower = below(store)
    for change in changes:
        path = change.path
        seen, there = store.view.at(path), lower.at(path)
        node = None if there is None else there.node
        if not _is_as_expected(store, path, seen, node):
            if _is_there(store, change, node):
                continue
            strangers.append(path)
            continue
        is_below = seen is not None and seen.upper is None and seen.node is not None and seen.node.kind == "file"
        origin = seen.below if seen is not None and is_below else None
        writes.append(Write(change, origin, origin in touched))
    if strangers:
        raise OverlayCommitFailed(store.lower.name, "was changed there by somebody else", strangers)
    return writes


def _is_as_expected(store: OverlayStore, path: str, seen: Seen | None, node: Node | None) -> bool:
    """Whether the lower layer has for a path what it had when it was changed here."""
    lower = store.lower
    directory = store.view.at(path.rpartition("/")[0])
    is_open = directory is not None and directory.node is not None and directory.node.kind == "directory"
    inherited = store.view.inherited(directory, path.rpartition("/")[2]) if directory is not None and is_open else None
    mark = None if seen is None else seen.mark
    if mark is not None:
        hidden = None if inherited is None else lower.node(inherited)
        moved = None if mark.origin is None else lower.node(mark.origin)
        if _token(hidden) != mark.was or _token(moved) != mark.moved:
            return False
    if node is None or (inherited == path and mark is not None):
        return True
    if inherited == path:
        # Nothing was there when this was made; a directory may differ in its mode only.
        is_directory = seen is not None and seen.node is not None and seen.node.kind == "directory"
        return is_directory and node.kind == "directory"
    # In a directory that was deleted or moved as a whole, of which no file was looked at then.
    times = [at for directory in above(path) if (at := _marked_at(store, directory)) is not None]
    return bool(times) and (node.kind != "file" or node.modified_ns <= max(times))


def _marked_at(store: OverlayStore, path: str) -> int | None:
    """When the mark of a path was set, if it has one."""
    seen = store.view.at(path)
    if seen is None or seen.mark is None:
        return None
    upper = store.view.upper
    node = upper.at(f"{in_gone(path)}/{OWN}") or upper.at(in_gone(path))
    return None if node is None else node.modified_ns


def _token(node: Node | None) -> str | None:
    return None if node is None else token_of(node)


def _is_there(store: OverlayStore, change: FileChange, node: Node | None) -> bool:
    """Whether the lower layer has already what would be written, as after a commit that was interrupted."""
    after = change.after
    if after is None or node is None:
        return after is None and node is None
    if after.kind != node.kind or after.target != node.target:
        return False
    if after.kind != "file":
        return after.kind == "link"
    if after.size != node.size:
        return False
    with store.open(change.path)[0] as one, store.lower.open(change.path)[0] as two:
        return has_same_bytes(one, two)


def _kept(changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
    """The changes with contents that do not go away, as long as they are small together."""
    left = _DIFFABLE_TOGETHER
    found: list[FileChange] = []
    for change in changes:
        sides: list[FileVersion | None] = []
        for side in (change.before, change.after):
            content = None
            if side is not None and side.kind == "file" and side.size <= left:
                content = side.content()
                left -= len(content or b"")
            sides.append(side and replace(side, load=lambda content=content: content))
        found.append(replace(change, before=sides[0], after=sides[1]))
    return tuple(found)


def _is_within(path: str, covered: object) -> bool:
    """Whether a path is one of these, or beneath one."""
    known = cast("dict[str, None]", covered)
    while path:
        if path in known:
            return True
        path = path.rpartition("/")[0]
    return False
