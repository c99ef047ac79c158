"""Change an overlay: each operation becomes changes of one change set of the upper store, whose undo is the overlay's.

Nothing of the lower layer is copied to be overwritten, deleted or moved: a mark hides it, or shows it elsewhere.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from wink.errors import FileConflict, PathRefused
from wink.filesystem import (
    DIFFABLE_BYTES,
    ChangeSet,
    FileChange,
    FileTransaction,
    Node,
    Staging,
    check_link,
    check_writable,
    failure,
)
from wink_overlay._lower import staged, stored, token_of
from wink_overlay._marks import Mark, in_gone, in_tree, make_directories, set_mark, stamp_of, told_of_upper
from wink_overlay._view import Place, Seen

if TYPE_CHECKING:
    from wink_overlay._store import OverlayStore

P = ParamSpec("P")
T = TypeVar("T")


class OverlayChangeSet:
    """Implements `ChangeSet` by a transaction of the upper layer, begun by the first change."""

    __slots__ = ("_moves", "_store", "_touched", "_transaction", "_transaction_id", "inner")

    def __init__(self, store: OverlayStore, transaction_id: str) -> None:
        self._store, self._transaction_id = store, transaction_id
        self._transaction: FileTransaction | None = None
        self.inner: ChangeSet | None = None
        """The change set of the upper layer, if anything was changed."""
        self._moves: list[tuple[int, str, str]] = []
        self._touched: list[tuple[int, str]] = []

    @property
    def position(self) -> int:
        """How many changes of the upper layer were made."""
        return 0 if self.inner is None else self.inner.position

    def stage(self) -> Staging:
        """Start new content."""
        return self._upper().stage()

    def put(
        self,
        path: str,
        content: bytes | Staging,
        *,
        exclusive: bool = False,
        existing: bool = False,
        mode: int | None = None,
        replacing: bytes | str | None = None,
    ) -> Node:
        """Make `path` a file with this content; what the lower layer has there is hidden, and not fetched."""
        place = self._find(path, follow=not exclusive)
        above, old = self._writable(place, path), place.node
        if old is not None and exclusive:
            raise failure(errno.EEXIST, path)
        if old is None and existing:
            raise failure(errno.ENOENT, path)
        if old is None and place.ends_in_link:
            raise PathRefused(path, "is a link that leads to nothing")
        if old is not None and old.kind == "directory":
            raise failure(errno.EISDIR, path)
        if old is not None and old.kind != "file":
            raise PathRefused(path, "is not a regular file; FIFOs, sockets and devices cannot be used")
        if replacing is not None and old is None:
            raise FileConflict(path)
        return self._whole(place.path, self._put, place, above, content, mode, replacing)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove an entry; of the lower layer, with one mark, whatever is in it."""
        place = self._find(path, follow=False)
        above, old = self._writable(place, path), place.node
        if old is None:
            raise failure(errno.ENOENT, path)
        if old.kind == "directory" and not recursive and any(True for _ in self._store.view.scan(place.seen)):
            raise failure(errno.ENOTEMPTY, path)
        self._whole(place.path, self._remove, place.seen, above)

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Give an entry another name; what is in the lower layer is not copied."""
        here, there = self._find(source, follow=False), self._find(target, follow=False)
        from_above, to_above = self._writable(here, source), self._writable(there, target)
        old, taken = here.node, there.node
        if old is None:
            raise failure(errno.ENOENT, source)
        if (there.path + "/").startswith(here.path + "/") and here.path != there.path:
            raise failure(errno.EINVAL, source)
        if taken is not None and not (overwrite and here.path == there.path):
            if not overwrite:
                raise failure(errno.EEXIST, target)
            if taken.kind == "directory":
                raise failure(errno.EEXIST if old.kind == "directory" else errno.EISDIR, target)
            if old.kind == "directory":
                raise failure(errno.ENOTDIR, target)
        if here.path != there.path:
            self._whole(here.path, self._move, here.seen, from_above, there.seen, to_above)

    def mkdir(self, path: str) -> None:
        """Make one directory."""
        place = self._find(path, follow=False)
        if place.above is None:
            raise failure(errno.EEXIST, path)
        above = self._writable(place, path)
        if place.node is not None:
            raise failure(errno.EEXIST, path)
        self._whole(place.path, self._make_directory, place.seen, above)

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits; a file of the lower layer is copied for it."""
        place = self._find(path, follow=True)
        above, old = self._writable(place, path), place.node
        if old is None:
            raise failure(errno.ENOENT, path)
        if old.mode == mode & 0o777 and place.seen.upper is None:
            return
        self._whole(place.path, self._chmod, place, above, old, mode & 0o777)

    def symlink(self, path: str, target: str) -> None:
        """Make a relative link that stays inside the tree."""
        place = self._find(path, follow=False)
        above = self._writable(place, path)
        if place.node is not None:
            raise failure(errno.EEXIST, path)
        check_link(place.path, target, path)
        self._whole(place.path, self._link, place.seen, above, target)

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        """The net change of each path since a position."""
        return self.between(since)

    def between(self, since: object, until: object | None = None) -> tuple[FileChange, ...]:
        """Like `changes`, between two positions in either order, or None for now."""
        if self.inner is None:
            return ()
        from wink_overlay._changes import changes_between

        first, last = (
            since if isinstance(since, int) else self.position,
            until if isinstance(until, int) else self.position,
        )
        moves = [(source, target) for position, source, target in self._moves if first <= position < last]
        changes = changes_between(self._store, self.inner.between, since, until, moves=moves)
        order: dict[str, int] = {}
        for position, path in self._touched:
            if first <= position:
                order.setdefault(path, len(order))
        return tuple(sorted(changes, key=lambda change: _turn(change.path, order)))

    def prepare(self) -> None:
        """Do all that can fail before the commit point."""
        transaction, inner = self._transaction, self.inner
        if transaction is not None and inner is not None:
            for change in told_of_upper(inner.changes) if self._store.marks else ():
                # A large file that is put back later is another one, which is known by its content.
                after = change.after
                if after is not None and after.kind == "file" and after.size > DIFFABLE_BYTES:
                    transaction.observe(change.path, stamp_of(self._store.upper.store, change.path))
            told_of_upper(transaction.prepare)

    def publish(self) -> None:
        """Let the changes stand."""
        if self._transaction is not None:
            self._transaction.publish()
        self._ended()

    def leave(self) -> None:
        """Leave the changes for recovery to judge."""
        if self._transaction is not None:
            self._transaction.leave()
        self._ended()

    def undo(self, to: int = 0) -> None:
        """Take back everything after a position, newest first."""
        if to == 0:
            transaction = self._ended()
            if transaction is not None:
                told_of_upper(transaction.undo)
        elif self.inner is not None:
            try:
                told_of_upper(self.inner.undo, to)
            finally:
                for kept in (self._moves, self._touched):
                    while kept and kept[-1][0] >= to:
                        kept.pop()

    def lend(self, use: Callable[[FileTransaction], None]) -> None:
        """Let something else change the upper layer in its transaction."""
        self._upper()
        assert self._transaction is not None
        try:
            told_of_upper(use, self._transaction)
        finally:
            if not self._transaction.dirty:
                self.undo()  # at its beginning a change set has ended

    def forget(self, paths: list[str]) -> None:
        """Let the lower layer be seen again at these paths and beneath them, as changes of this change set."""
        self._whole(paths[0], self._forget, paths)

    def mark(self, marks: list[tuple[str, Mark, bool]]) -> None:
        """Set the marks of these paths, each with whether there are others beneath it."""
        change_set, upper = self._upper(), self._store.view.upper
        for path, mark, nests in marks:
            self._whole(path, set_mark, change_set, upper, path, mark, beneath=nests)

    # -- what operations are made of; each is undone as a whole by `_whole`

    def _put(
        self,
        place: Place,
        above: Seen,
        content: bytes | Staging,
        mode: int | None,
        replacing: bytes | str | None = None,
    ) -> Node:
        change_set, seen = self._upper(), place.seen
        self._copy_directories(above)
        if seen.upper is not None:
            return stored(change_set.put(in_tree(seen.path), content, mode=mode, replacing=replacing))
        if seen.lower is not None and mode is None:
            mode = seen.lower.mode
        # First what is new, then what it hides: whoever reads meanwhile sees the one or the other. Nothing here can be
        # saved over; what the lower layer has is seen to be as it was by whoever read it.
        node = change_set.put(in_tree(seen.path), content, exclusive=True, mode=mode)
        self._hide(seen, above)
        return stored(node)

    def _remove(self, seen: Seen, above: Seen) -> None:
        self._hide(seen, above)
        if seen.upper is not None:
            self._upper().delete(in_tree(seen.path), recursive=True)

    def _move(self, here: Seen, from_above: Seen, there: Seen, to_above: Seen) -> None:
        change_set, view = self._upper(), self._store.view
        shown = self._shown_below(here)
        if there.node is not None:
            self._remove(there, to_above)
        self._copy_directories(to_above)
        was = view.upper.marked(there.path).mark
        nests = here.nests and here.node is not None and here.node.kind == "directory"
        if here.upper is not None:
            change_set.move(in_tree(here.path), in_tree(there.path))
        if nests:
            # What is hidden or moved beneath goes along; the mark of the directory itself is written anew.
            set_mark(change_set, view.upper, there.path, None)
            make_directories(change_set, view.upper, in_gone(there.path))
            change_set.move(in_gone(here.path), in_gone(there.path))
        hidden = None if was is None else was.was
        is_back = shown is not None and hidden is not None and here.below == view.inherited(to_above, _name(there.path))
        if is_back or (shown is None and hidden is None):
            mark = None
        else:
            mark = Mark(here.below, hidden, token_of(shown)) if shown is not None else Mark(None, hidden)
        if nests or mark != was:
            is_directory = shown is not None and shown.kind == "directory"
            set_mark(change_set, view.upper, there.path, mark, beneath=nests or is_directory)
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
            assert seen.below is not None
            self._put(place, above, staged(self._upper(), self._store.lower.open(seen.below)[0]), mode)

    def _link(self, seen: Seen, above: Seen, target: str) -> None:
        self._copy_directories(above)
        self._upper().symlink(in_tree(seen.path), target)

    def _forget(self, paths: list[str]) -> None:
        change_set, upper = self._upper(), self._store.view.upper
        for path in paths:
            for place in (in_tree(path), in_gone(path)):
                if upper.at(place) is not None:
                    change_set.delete(place, recursive=True)

    # -- steps

    def _hide(self, seen: Seen, above: Seen, *, is_bare: bool = False) -> None:
        """See to it that nothing of the lower layer is seen at a path; `is_bare` where its marks are gone by now."""
        view, change_set = self._store.view, self._upper()
        if seen.mark is not None:
            was = seen.mark.was
        else:
            inherited = view.inherited(above, _name(seen.path))
            asked = None if seen.upper is None or inherited is None else view.lower.node(inherited)
            node = asked or seen.lower
            was = None if node is None else token_of(node)
        if was is None:
            if seen.mark is not None or seen.nests:
                set_mark(change_set, view.upper, seen.path, None)
        elif is_bare or seen.nests or seen.mark != Mark(None, was):
            set_mark(change_set, view.upper, seen.path, Mark(None, was))

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
        change_set, stored = self._upper(), in_tree(path)
        change_set.mkdir(stored)
        if self._store.upper.store.node(stored, follow=False).mode & 0o777 != mode:
            change_set.chmod(stored, mode)

    def _upper(self) -> ChangeSet:
        if self._transaction is None:
            self._transaction = self._store.files.begin(transaction_id=self._transaction_id)
        if self.inner is None:
            with self._transaction.changing(".") as self.inner:
                pass  # the overlay's own transaction undoes what fails
        return self.inner

    def _ended(self) -> FileTransaction | None:
        transaction = self._transaction
        self._transaction, self.inner, self._moves, self._touched = None, None, [], []
        return transaction

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
