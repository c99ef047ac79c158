"""Change an overlay: each operation becomes changes of one frame of the upper store, whose undo is the overlay's.

Nothing of the lower layer is copied to be overwritten, deleted or moved: a mark hides it, or shows it elsewhere.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from wink.errors import FileConflict, PathRefused
from wink.filesystem._change import FileChange
from wink.filesystem._memory import error
from wink.filesystem._overlay_lower import token_of
from wink.filesystem._overlay_marks import Mark, in_gone, in_tree, make_directories, set_mark
from wink.filesystem._overlay_upper import know_contents, told_of_upper
from wink.filesystem._overlay_view import Place, Seen, check_link
from wink.filesystem._paths import check_writable
from wink.filesystem._store import Frame, Node, Staging

if TYPE_CHECKING:
    from wink.filesystem._access import Tree
    from wink.filesystem._overlay import OverlayStore
    from wink.filesystem._part import FilePart

P = ParamSpec("P")
T = TypeVar("T")

_CHUNK: Final = 1 << 20


class OverlayFrame:
    """Implements `Frame` by a frame of the upper store, begun by the first change."""

    __slots__ = ("_frame", "_moves", "_store", "_touched", "_transaction_id")

    def __init__(self, store: OverlayStore, transaction_id: str) -> None:
        self._store: Final = store
        self._transaction_id: Final = transaction_id
        self._frame: Frame | None = None
        self._moves: list[tuple[int, str, str]] = []
        self._touched: list[tuple[int, str]] = []

    @property
    def position(self) -> int:
        """How many changes of the upper store were made."""
        return 0 if self._frame is None else self._frame.position

    def stage(self) -> Staging:
        """Start new content."""
        return self._upper().stage()

    def put(
        self,
        path: str,
        content: bytes | Staging,
        *,
        exclusive: bool = False,
        mode: int | None = None,
        replacing: bytes | None = None,
    ) -> Node:
        """Make `path` a file with this content; what the lower layer has there is hidden, and not fetched."""
        place = self._find(path, follow=not exclusive)
        above, old = self._writable(place, path), place.node
        if old is not None and exclusive:
            raise error(errno.EEXIST, path)
        if old is None and place.ends_in_link:
            raise PathRefused(path, "is a link that leads to nothing")
        if old is not None and old.kind == "directory":
            raise error(errno.EISDIR, path)
        if old is not None and old.kind != "file":
            raise PathRefused(path, "is not a regular file; FIFOs, sockets and devices cannot be used")
        if replacing is not None and old is None:
            raise FileConflict(path)
        if replacing is not None and old is None:
            raise FileConflict(path)
        return self._whole(place.path, self._put, place, above, content, mode, replacing)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove an entry; of the lower layer, with one mark, whatever is in it."""
        place = self._find(path, follow=False)
        above, old = self._writable(place, path), place.node
        if old is None:
            raise error(errno.ENOENT, path)
        if old.kind == "directory" and not recursive and any(True for _ in self._store.view.scan(place.seen)):
            raise error(errno.ENOTEMPTY, path)
        self._whole(place.path, self._remove, place.seen, above)

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Give an entry another name; what is in the lower layer is not copied."""
        here, there = self._find(source, follow=False), self._find(target, follow=False)
        from_above, to_above = self._writable(here, source), self._writable(there, target)
        old, taken = here.node, there.node
        if old is None:
            raise error(errno.ENOENT, source)
        if (there.path + "/").startswith(here.path + "/") and here.path != there.path:
            raise error(errno.EINVAL, source)
        if taken is not None and not (overwrite and here.path == there.path):
            if not overwrite:
                raise error(errno.EEXIST, target)
            if taken.kind == "directory":
                raise error(errno.EEXIST if old.kind == "directory" else errno.EISDIR, target)
            if old.kind == "directory":
                raise error(errno.ENOTDIR, target)
        if here.path != there.path:
            self._whole(here.path, self._move, here.seen, from_above, there.seen, to_above)

    def mkdir(self, path: str) -> None:
        """Make one directory."""
        place = self._find(path, follow=False)
        if place.above is None:
            raise error(errno.EEXIST, path)
        above = self._writable(place, path)
        if place.node is not None:
            raise error(errno.EEXIST, path)
        self._whole(place.path, self._make_directory, place.seen, above)

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits; a file of the lower layer is copied for it."""
        place = self._find(path, follow=True)
        above, old = self._writable(place, path), place.node
        if old is None:
            raise error(errno.ENOENT, path)
        if old.mode == mode & 0o777 and place.seen.upper is None:
            return
        self._whole(place.path, self._chmod, place, above, old, mode & 0o777)

    def symlink(self, path: str, target: str) -> None:
        """Make a relative link that stays inside the tree."""
        place = self._find(path, follow=False)
        above = self._writable(place, path)
        if place.node is not None:
            raise error(errno.EEXIST, path)
        check_link(place.path, target, path)
        self._whole(place.path, self._link, place.seen, above, target)

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        """The net change of each path since a position."""
        return self.between(since)

    def between(self, since: object, until: object | None = None) -> tuple[FileChange, ...]:
        """Like `changes`, between two positions in either order, or None for now."""
        frame = self._frame
        if frame is None:
            return ()
        from wink.filesystem._overlay_changes import changes_between

        first, last = (
            since if isinstance(since, int) else self.position,
            until if isinstance(until, int) else self.position,
        )
        moves = [(source, target) for position, source, target in self._moves if first <= position < last]
        changes = changes_between(self._store, frame.between, since, until, moves=moves)
        order: dict[str, int] = {}
        for position, path in self._touched:
            if first <= position:
                order.setdefault(path, len(order))
        return tuple(sorted(changes, key=lambda change: _turn(change.path, order)))

    def prepare(self) -> None:
        """Do all that can fail before the commit point."""
        if self._frame is not None:
            commits = self._store.commits
            if commits is not None and commits.is_wanted:
                told = self._store.told[self._transaction_id] = self._frame.changes()
                know_contents(self._store.upper, told)
            told_of_upper(self._frame.prepare)

    def publish(self) -> None:
        """Let the changes stand."""
        if self._frame is not None:
            self._frame.publish()
        self._frame, self._moves, self._touched = None, [], []

    def leave(self) -> None:
        """Leave the changes for recovery to judge."""
        if self._frame is not None:
            self._frame.leave()
        self._frame, self._moves, self._touched = None, [], []

    def undo(self, to: int = 0) -> None:
        """Take back everything after a position, newest first."""
        frame = self._frame
        if frame is None:
            return
        if to == 0:
            self._frame = None
            self._store.told.pop(self._transaction_id, None)
        try:
            told_of_upper(frame.undo, to)
        finally:
            for kept in (self._moves, self._touched):
                while kept and kept[-1][0] >= to:
                    kept.pop()

    @property
    def inner(self) -> Frame | None:
        """The upper store's frame, if anything was changed."""
        return self._frame

    def lend(self, below: Tree, use: Callable[[FilePart], None]) -> None:
        """Let a part of the upper layer's own tree change this frame."""
        from wink.filesystem._part import FilePart

        part: Any = FilePart(below)
        part._stack.frame = self._upper()
        try:
            told_of_upper(use, part)
        finally:
            self._frame = part._stack.frame  # undone to its beginning, it has ended

    def forget(self, paths: list[str]) -> None:
        """Let the lower layer be seen again at these paths and beneath them, as changes of this frame."""
        self._whole(paths[0], self._forget, paths)

    def mark(self, marks: list[tuple[str, Mark, bool]]) -> None:
        """Set the marks of these paths, each with whether there are others beneath it."""
        frame, upper = self._upper(), self._store.view.upper
        for path, mark, nests in marks:
            self._whole(path, set_mark, frame, upper, path, mark, beneath=nests)

    # -- what operations are made of; each is undone as a whole by `_whole`

    def _put(
        self, place: Place, above: Seen, content: bytes | Staging, mode: int | None, replacing: bytes | None = None
    ) -> Node:
        from wink.filesystem._overlay import stored

        frame, seen = self._upper(), place.seen
        self._copy_directories(above)
        if seen.upper is not None:
            return stored(frame.put(in_tree(seen.path), content, mode=mode, replacing=replacing))
        if seen.lower is not None and mode is None:
            mode = seen.lower.mode
        # First what is new, then what it hides: whoever reads meanwhile sees the one or the other. Nothing here can be
        # saved over; what the lower layer has is seen to be as it was by whoever read it.
        node = frame.put(in_tree(seen.path), content, exclusive=True, mode=mode)
        self._hide(seen, above)
        return stored(node)

    def _remove(self, seen: Seen, above: Seen) -> None:
        self._hide(seen, above)
        if seen.upper is not None:
            self._upper().delete(in_tree(seen.path), recursive=True)

    def _move(self, here: Seen, from_above: Seen, there: Seen, to_above: Seen) -> None:
        frame, view = self._upper(), self._store.view
        shown = self._shown_below(here)
        if there.node is not None:
            self._remove(there, to_above)
        self._copy_directories(to_above)
        was = view.upper.marked(there.path).mark
        nests = here.nests and here.node is not None and here.node.kind == "directory"
        if here.upper is not None:
            frame.move(in_tree(here.path), in_tree(there.path))
        if nests:
            # What is hidden or moved beneath goes along; the mark of the directory itself is written anew.
            set_mark(frame, view.upper, there.path, None)
            make_directories(frame, view.upper, in_gone(there.path))
            frame.move(in_gone(here.path), in_gone(there.path))
        hidden = None if was is None else was.was
        is_back = shown is not None and hidden is not None and here.below == view.inherited(to_above, _name(there.path))
        if is_back or (shown is None and hidden is None):
            mark = None
        else:
            mark = Mark(here.below, hidden, token_of(shown)) if shown is not None else Mark(None, hidden)
        if nests or mark != was:
            is_directory = shown is not None and shown.kind == "directory"
            set_mark(frame, view.upper, there.path, mark, beneath=nests or is_directory)
        self._hide(here, from_above, is_bare=nests)
        self._moves.append((self.position - 1, here.path, there.path))

    def _make_directory(self, seen: Seen, above: Seen) -> None:
        self._copy_directories(above)
        self._upper().mkdir(in_tree(seen.path))

    def _chmod(self, place: Place, above: Seen, old: Node, mode: int) -> None:
        seen = place.seen
        if seen.upper is not None:
            self._upper().chmod(in_tree(seen.path), mode)
        elif old.kind == "directory":
            self._copy_directories(above)
            self._copy_directory(seen.path, mode)
        else:
            self._put(place, above, self._fetched(seen), mode)

    def _link(self, seen: Seen, above: Seen, target: str) -> None:
        self._copy_directories(above)
        self._upper().symlink(in_tree(seen.path), target)

    def _forget(self, paths: list[str]) -> None:
        frame, upper = self._upper(), self._store.view.upper
        for path in paths:
            for place in (in_tree(path), in_gone(path)):
                if upper.at(place) is not None:
                    frame.delete(place, recursive=True)

    # -- steps

    def _hide(self, seen: Seen, above: Seen, *, is_bare: bool = False) -> None:
        """See to it that nothing of the lower layer is seen at a path; `is_bare` where its marks are gone by now."""
        view, frame = self._store.view, self._upper()
        if seen.mark is not None:
            was = seen.mark.was
        else:
            inherited = view.inherited(above, _name(seen.path))
            asked = None if seen.upper is None or inherited is None else view.lower.node(inherited)
            node = asked or seen.lower
            was = None if node is None else token_of(node)
        if was is None:
            if seen.mark is not None or seen.nests:
                set_mark(frame, view.upper, seen.path, None)
        elif is_bare or seen.nests or seen.mark != Mark(None, was):
            set_mark(frame, view.upper, seen.path, Mark(None, was))

    def _shown_below(self, seen: Seen) -> Node | None:
        """What of the lower layer is seen at a path, or through the directory that is there."""
        if seen.below is None or (seen.upper is not None and seen.upper.kind != "directory"):
            return None
        node = self._store.lower.node(seen.below) if seen.upper is not None else seen.lower
        return node if node is not None and (seen.upper is None or node.kind == "directory") else None

    def _copy_directories(self, seen: Seen) -> None:
        """Have a directory, and those above it, in the upper layer."""
        missing: list[str] = []
        path = seen.path
        while self._store.view.upper.at(in_tree(path)) is None:
            missing.append(path)
            if not path:
                break
            path = path.rpartition("/")[0]
        for directory in reversed(missing):
            # Those that have no links have no modes of directories either, and may be far away.
            found = self._store.view.at(directory) if directory and self._store.lower.has_links else None
            node = None if found is None else found.node
            self._copy_directory(directory, 0o755 if node is None else node.mode)

    def _copy_directory(self, path: str, mode: int) -> None:
        frame, stored = self._upper(), in_tree(path)
        frame.mkdir(stored)
        if self._store.upper.node(stored, follow=False).mode & 0o777 != mode:
            frame.chmod(stored, mode)

    def _fetched(self, seen: Seen) -> Staging:
        """A copy of a file of the lower layer, in staging."""
        assert seen.below is not None
        staged = self._upper().stage()
        try:
            stream, _ = self._store.lower.open(seen.below)
            with stream:
                while chunk := stream.read(_CHUNK):
                    staged.write(chunk)
        except BaseException:
            staged.discard()
            raise
        return staged

    def _upper(self) -> Frame:
        if self._frame is None:
            self._frame = self._store.upper.begin(self._transaction_id)
        return self._frame

    def _find(self, path: str, *, follow: bool) -> Place:
        check_writable(path)
        return self._store.view.find(path, follow=follow)

    def _writable(self, place: Place, path: str) -> Seen:
        """The directory in which a place may be changed, or `PathRefused`."""
        if place.above is None:
            raise PathRefused(path or ".", "is the workspace root")
        check_writable(place.path, path)
        return place.above

    def _whole(self, path: str, operation: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Let an operation on a path happen as a whole or not at all."""
        position = self.position
        self._touched.append((position, path))
        try:
            return told_of_upper(operation, *args, **options)
        except BaseException:
            if self.position > position:
                self.undo(position)
            raise


def _turn(path: str, order: dict[str, int]) -> tuple[int, str]:
    """When a path was first changed: as itself, or with a directory above it."""
    at = path
    while at and at not in order:
        at = at.rpartition("/")[0]
    return order.get(at, len(order)), path


def _name(path: str) -> str:
    return path.rpartition("/")[2]
