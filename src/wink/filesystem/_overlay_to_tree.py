"""Write an overlay's changes into one of wink's own filesystems, all of them in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from wink.errors import OverlayCommitFailed, ReadOnlyFilesystem, WorkspaceBusy
from wink.filesystem._overlay_lower import TreeLower
from wink.filesystem._overlay_order import Order, Write, above
from wink.filesystem._store import Frame, Staging

if TYPE_CHECKING:
    from wink.filesystem._overlay import OverlayStore
    from wink.filesystem._part import FilePart

_PIECE: Final = 1 << 20


def write(lower: TreeLower, store: OverlayStore, order: Order) -> None:
    """Make every path as the overlay shows it, or nothing."""
    first = order.writes[0].path
    if lower.files.read_only:
        raise ReadOnlyFilesystem(first, f"the lower layer {lower.name!r} was opened for reading only")

    def commit_overlay(part: FilePart, *paths: str) -> None:
        with part.changing(paths[0]) as frame:
            _Transfer(lower, store, frame).run(order)
            for path in paths:
                part.note(path, None)

    try:
        # A root takes its turn and commits; the handle of a call makes it a part of the call.
        cast("Any", lower.files)._access.run(commit_overlay, *(lower.place(each.path) for each in order.writes))
    except WorkspaceBusy:
        raise
    except OSError as failed:
        at = failed.filename if isinstance(failed.filename, str) else first
        raise OverlayCommitFailed(lower.name, f"could not be written there ({failed})", [at]) from failed


class _Transfer:
    __slots__ = ("_frame", "_lower", "_store")

    def __init__(self, lower: TreeLower, store: OverlayStore, frame: Frame) -> None:
        self._lower, self._store, self._frame = lower, store, frame

    def run(self, order: Order) -> None:
        place, frame = self._lower.place, self._frame
        fetched = {each.path: self._staged(each) for each in order.fetches}
        try:
            for each in order.early:
                frame.delete(place(each.path))
            for each in order.makes:
                self._make(each, order, fetched)
            for each in order.late:
                frame.delete(place(each.path))
        finally:
            for staged in fetched.values():
                staged.discard()

    def _make(self, each: Write, order: Order, fetched: dict[str, Staging]) -> None:
        place, frame, change = self._lower.place, self._frame, each.change
        path, after = place(each.path), change.after
        before = None if each.turns else change.before
        assert after is not None
        for directory in above(each.path):
            if self._lower.node(directory) is None:
                frame.mkdir(place(directory))
        if after.kind == "directory":
            if before is None:
                frame.mkdir(path)
            frame.chmod(path, after.mode)
        elif after.kind == "link":
            if before is not None:
                frame.delete(path)
            frame.symlink(path, after.target or "")
        elif each.origin is not None and order.moves.get(each.origin) is each:
            frame.move(place(each.origin), path)
        else:
            content = fetched.get(each.path)
            content = self._staged(each) if content is None else content
            try:
                frame.put(path, content, exclusive=before is None, mode=after.mode)
            finally:
                content.discard()

    def _staged(self, each: Write) -> Staging:
        staged = self._frame.stage()
        try:
            stream = self._store.open(each.path)[0] if each.origin is None else self._lower.open(each.origin)[0]
            with stream:
                while chunk := stream.read(_PIECE):
                    staged.write(chunk)
        except BaseException:
            staged.discard()
            raise
        return staged
