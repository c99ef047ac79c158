"""Tell the net change of each path of an overlay: between two moments of its upper layer, or against the lower one.

Only paths at which the upper layer has something, or hides something, are looked at. What is hidden or moved as a whole is
compared to its last file, which takes listing it in the lower layer; an event that has to name more than `LISTED` such
files names their directory instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

from wink.filesystem import DIFFABLE_BYTES, FileChange, FileVersion, Node, Store
from wink_overlay._lower import has_same_bytes, lower_version, unchanged_version
from wink_overlay._marks import GONE, OWN, TREE, Earlier, Upper, in_tree, joined
from wink_overlay._view import Seen, View

if TYPE_CHECKING:
    from wink_overlay._store import OverlayStore

LISTED: Final = 10_000
"""How many files of the lower layer one call's changes name."""


def changes_between(
    store: OverlayStore,
    upper: Callable[[object, object], tuple[FileChange, ...]],
    since: object,
    until: object,
    *,
    moves: Sequence[tuple[str, str]] = (),
) -> tuple[FileChange, ...]:
    """The overlay's changes from one moment to another, None being now; only small contents are fetched to be compared.

    `upper` tells those of the upper store; `moves` are those of the change set that asks, oldest first.
    """
    touched = upper(since, until)
    if not touched:
        return ()
    earlier = touched if until is None else () if since is None else upper(since, None)
    later = () if until is None else upper(until, None)
    kept = store.upper.store
    before = View(Earlier(kept, earlier), store.lower)
    after = View(Earlier(kept, later) if later else _Changed(kept, earlier), store.lower)
    prefix = f"{TREE}/"
    origins = {
        change.path[len(prefix) :]: change.moved_from[len(prefix) :]
        for change in touched
        if change.moved_from and change.path.startswith(prefix) and change.moved_from.startswith(prefix)
    }
    comparison = _Comparison(before, after, moves, origins, patience=LISTED)
    for change in touched:
        top, _, path = change.path.partition("/")
        if not path:
            continue
        if top == TREE:
            comparison.add(path, deep=False)
        elif top == GONE:
            comparison.add(path.removesuffix(f"/{OWN}"), deep=True)
    return comparison.changes()


def changes_below(store: OverlayStore, *paths: str) -> tuple[FileChange, ...]:
    """All that differs from the lower layer at these paths and beneath them."""
    comparison = _Comparison(below(store), store.view, (), {}, exact=True)
    for path in paths or ("",):
        comparison.search(path)
    return tuple(sorted(comparison.changes(), key=lambda change: change.path))


def below(store: OverlayStore) -> View:
    """The lower layer alone."""
    return View(_Nothing(store.upper.store), store.lower)


class _Changed(Upper):
    """The upper layer as it is, with the versions that a change set's own account gives."""

    __slots__ = ("_versions",)

    def __init__(self, store: Store, changes: tuple[FileChange, ...]) -> None:
        super().__init__(store)
        self._versions = {change.path: change.after for change in changes}

    def version(self, path: str) -> FileVersion | None:
        """What is new at a path that the change set has changed."""
        return self._versions.get(in_tree(path))


class _Nothing(Upper):
    """An empty upper layer."""

    __slots__ = ()

    def at(self, stored: str) -> Node | None:
        del stored


class _Comparison:
    __slots__ = ("_after", "_before", "_exact", "_found", "_moves", "_origins", "_patience", "_seen")

    def __init__(
        self,
        before: View,
        after: View,
        moves: Sequence[tuple[str, str]],
        origins: Mapping[str, str],
        *,
        exact: bool = False,
        patience: int | None = None,
    ) -> None:
        self._before, self._after, self._moves, self._exact = before, after, moves, exact
        self._origins = origins
        self._patience = patience
        self._found: dict[str, FileChange | None] = {}
        self._seen: set[str] = set()

    def changes(self) -> tuple[FileChange, ...]:
        return tuple(change for change in self._found.values() if change is not None)

    def add(self, path: str, *, deep: bool) -> None:
        """Compare one path, and all beneath it where it may be shown from elsewhere or hidden."""
        self._compare(path, self._before.at(path), self._after.at(path), deep=deep)

    def search(self, path: str) -> None:
        """Compare what the upper layer has or hides at a path and beneath it."""
        before, after = self._before.at(path), self._after.at(path)
        if path and after is not None:
            self._compare(path, before, after, deep=after.mark is not None)
        if after is None or (path and after.mark is not None):
            return
        upper, names = self._after.upper, dict[str, None]()
        if after.upper is not None and after.upper.kind == "directory":
            names.update((name, None) for name, _ in upper.names(path))
        if after.nests:
            names.update((name, None) for name in upper.marks(path))
        for name in sorted(names):
            self.search(joined(path, name))

    def _compare(self, path: str, before: Seen | None, after: Seen | None, *, deep: bool) -> None:
        old, new = before and before.node, after and after.node
        if path not in self._found:
            self._found[path] = self._change(path, before, after)
        was_directory, is_directory = (node is not None and node.kind == "directory" for node in (old, new))
        if not deep or not (was_directory or is_directory) or path in self._seen:
            return
        self._seen.add(path)
        names = dict[str, None]()
        for is_one, view, seen in ((was_directory, self._before, before), (is_directory, self._after, after)):
            if is_one and seen is not None:
                for name, _ in view.scan(seen):
                    if name not in names and self._is_too_much():
                        return
                    names[name] = None
        for name in sorted(names):
            self._compare(
                joined(path, name),
                self._before.step(before, name) if before is not None and was_directory else None,
                self._after.step(after, name) if after is not None and is_directory else None,
                deep=True,
            )

    def _is_too_much(self) -> bool:
        if self._patience is not None:
            self._patience -= 1
            return self._patience < 0
        return False

    def _change(self, path: str, before: Seen | None, after: Seen | None) -> FileChange | None:
        old, new = _version(self._before, before), _version(self._after, after)
        if old is None and new is None:
            return None
        if before is not None and after is not None and old is not None and new is not None:
            is_below = before.upper is None and after.upper is None
            if is_below and before.below == after.below:
                return None
            if old == new and (old.kind != "file" or self._is_same_content(path, before, after, old, new)):
                return None
        return FileChange(path, old, new, self._moved_from(path, after) if old is None else None)

    def _is_same_content(self, path: str, before: Seen, after: Seen, old: FileVersion, new: FileVersion) -> bool:
        if before.upper is not None and after.upper is not None:
            # Both are in the upper store, whose own account names the path if it has changed.
            return self._before.upper.version(path) is None and self._after.upper.version(path) is None
        if self._exact:
            with _opened(self._before, before) as one, _opened(self._after, after) as two:
                return has_same_bytes(one, two)
        content = old.content(DIFFABLE_BYTES)
        return content is not None and content == new.content()

    def _moved_from(self, path: str, after: Seen | None) -> str | None:
        """Where what is at a path now was before, if it is not there any more."""
        traced = path
        for source, target in reversed(self._moves):
            if traced == target or traced.startswith(target + "/"):
                traced = source + traced[len(target) :]
        shown = after.below if after is not None and after.upper is None else None
        for origin in (traced, self._origins.get(path), shown):
            if origin is not None and origin != path:
                before, now = self._before.at(origin), self._after.at(origin)
                if before is not None and before.node is not None and (now is None or now.node is None):
                    return origin
        return None


def _version(view: View, seen: Seen | None) -> FileVersion | None:
    if seen is None or seen.node is None:
        return None
    if seen.upper is None:
        assert seen.below is not None
        return lower_version(view.lower, seen.below, seen.node)
    known = view.upper.version(seen.path)
    if known is not None:
        return FileVersion(known.kind, known.size, known.mode, known.target, known.load, None, known.find_digest)
    node = seen.node
    if node.kind != "file":
        return FileVersion(node.kind, 0 if node.kind == "directory" else node.size, node.mode, node.target)
    return unchanged_version(view.upper.store, in_tree(seen.path), node)


def _opened(view: View, seen: Seen) -> BinaryIO:
    if seen.upper is not None:
        return view.upper.store.open(in_tree(seen.path))[0]
    assert seen.below is not None
    return view.lower.open(seen.below)[0]
