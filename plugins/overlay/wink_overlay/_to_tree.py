"""Write an overlay's changes into one of wink's own filesystems, all of them in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wink.errors import ReadOnlyFilesystem, WorkspaceBusy, WriteTooLarge
from wink.filesystem import ChangeSet, Staging
from wink_overlay._errors import OverlayCommitFailed
from wink_overlay._lower import TreeLower, staged
from wink_overlay._order import Order, Write, above

if TYPE_CHECKING:
    from wink_overlay._store import OverlayStore


def write(lower: TreeLower, store: OverlayStore, order: Order) -> None:
    """Make every path as the overlay shows it, or nothing."""
    first = order.writes[0].path
    if lower.files.read_only:
        raise ReadOnlyFilesystem(first, f"the lower layer {lower.name!r} was opened for reading only")

    paths = [lower.place(each.path) for each in order.writes]
    try:
        # A root takes its turn and commits; the handle of a call makes it a part of the call.
        with lower.files.transaction("commit_overlay", *paths) as part, part.changing(paths[0]) as change_set:
            _Transfer(lower, store, change_set).run(order)
            for path in paths:
                part.observe(path, None)
    except WorkspaceBusy:
        raise
    except OSError as failed:
        at = failed.filename if isinstance(failed.filename, str) else first
        raise OverlayCommitFailed(lower.name, f"could not be written there ({failed})", [at]) from failed


class _Transfer:
    __slots__ = ("_change_set", "_lower", "_store")

    def __init__(self, lower: TreeLower, store: OverlayStore, change_set: ChangeSet) -> None:
        self._lower, self._store, self._change_set = lower, store, change_set

    def run(self, order: Order) -> None:
        place, change_set = self._lower.place, self._change_set
        fetched = {each.path: self._content(each) for each in order.fetches}
        try:
            for each in order.early:
                change_set.delete(place(each.path))
            for each in order.makes:
                self._make(each, order, fetched)
            for each in order.late:
                change_set.delete(place(each.path))
        finally:
            for content in fetched.values():
                content.discard()

    def _make(self, each: Write, order: Order, fetched: dict[str, Staging]) -> None:
        place, change_set, change = self._lower.place, self._change_set, each.change
        path, after = place(each.path), change.after
        before = None if each.turns else change.before
        assert after is not None
        for directory in above(each.path):
            if self._lower.node(directory) is None:
                change_set.mkdir(place(directory))
        if after.kind == "directory":
            if before is None:
                change_set.mkdir(path)
            change_set.chmod(path, after.mode)
        elif after.kind == "link":
            if before is not None:
                change_set.delete(path)
            change_set.symlink(path, after.target or "")
        elif each.origin is not None and order.moves.get(each.origin) is each:
            change_set.move(place(each.origin), path)
        else:
            content = fetched.get(each.path)
            content = self._content(each) if content is None else content
            try:
                change_set.put(path, content, exclusive=before is None, mode=after.mode)
            finally:
                content.discard()

    def _content(self, each: Write) -> Staging:
        after, most = each.change.after, self._lower.files.max_file_bytes
        if after is not None and after.size > most:
            raise WriteTooLarge(self._lower.place(each.path), after.size, most)
        opened = self._store.open(each.path) if each.origin is None else self._lower.open(each.origin)
        return staged(self._change_set, opened[0])
