r"""Keep an overlay's upper layer in one store: what is new in `tree/`, and what of the lower layer is hidden in `gone/`.

Both change in one change set, so the change set's undo is right for both. A mark at a path says what the lower layer shows there
*instead of* its own entry of that path: nothing, or what lies at another path (after a move, which so copies nothing).

* `gone/a/b` as a file is the mark of `a/b`: nothing of the lower layer is seen there or beneath, or one moved file.
* `gone/a/b/` as a directory holds the marks beneath `a/b`, and in a file `\`, a name that no path can have, the mark of
  `a/b` itself, if it has one.

Errors of the upper store are told as being about the overlay's own paths.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, cast

from wink.dataclass import dataclass
from wink.errors import UndoConflict
from wink.filesystem import ChangeSet, FileChange, FileVersion, Node, NodeKind, Stamp, Store, failure

TREE: Final = "tree"
GONE: Final = "gone"
OWN: Final = "\\"


@dataclass(frozen=True, slots=True)
class Mark:
    """What the lower layer shows at a path: `origin`, a path in it, or nothing.

    `was` tells by what the entry that is hidden here is known again, None where there is none; `moved` the same of what
    is at `origin`.
    """

    origin: str | None = None
    was: str | None = None
    moved: str | None = None

    def dump(self) -> bytes:
        """As it is stored."""
        import json

        return json.dumps({"from": self.origin, "was": self.was, "moved": self.moved}).encode()


class Marked(NamedTuple):
    """A path's own mark, and whether there may be marks beneath it."""

    mark: Mark | None
    nests: bool


NOT_MARKED: Final = Marked(None, False)


class Upper:
    """Reads the upper layer. Every directory above a path that is asked for has been seen to be one."""

    __slots__ = ("store",)

    def __init__(self, store: Store) -> None:
        self.store = store

    def node(self, path: str) -> Node | None:
        """What is new at `path`, or None."""
        return self.at(in_tree(path))

    def names(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory of `tree/`."""
        return self.store.scan(in_tree(path))

    def version(self, path: str) -> FileVersion | None:
        """What is new at a path that a change set has changed, by its account."""
        del path

    def marked(self, path: str) -> Marked:
        """The mark of a path."""
        stored = in_gone(path)
        node = self.at(stored)
        if node is None:
            return NOT_MARKED
        if node.kind != "directory":
            return Marked(self._mark(stored), False)
        own = f"{stored}/{OWN}"
        return Marked(None if self.at(own) is None else self._mark(own), True)

    def marks(self, path: str) -> Iterator[str]:
        """The names beneath a path that have marks, or marks beneath them."""
        return (name for name, _ in self.store.scan(in_gone(path)) if name != OWN)

    def at(self, stored: str) -> Node | None:
        """What is at a place in the store, or None."""
        try:
            return self.store.node(stored, follow=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _mark(self, stored: str) -> Mark:
        content, _ = self.store.read(stored)
        return loaded(stored, content)


class Earlier(Upper):
    """The upper layer as it was before the changes of a change set."""

    __slots__ = ("_children", "_was")

    def __init__(self, store: Store, changes: Iterable[FileChange]) -> None:
        super().__init__(store)
        self._was = {change.path: change.before for change in changes}
        self._children: dict[str, dict[str, FileVersion | None]] = {}
        for path, before in self._was.items():
            above, _, name = path.rpartition("/")
            self._children.setdefault(above, {})[name] = before

    def version(self, path: str) -> FileVersion | None:
        """What was new at a path that the change set has changed."""
        return self._was.get(in_tree(path))

    def names(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names that were in a directory of `tree/`."""
        return self._names(in_tree(path))

    def marks(self, path: str) -> Iterator[str]:
        """The names beneath a path that had marks."""
        return (name for name, _ in self._names(in_gone(path)) if name != OWN)

    def _names(self, stored: str) -> Iterator[tuple[str, NodeKind]]:
        changed = self._children.get(stored, {})
        try:
            for name, kind in self.store.scan(stored):
                if name not in changed:
                    yield name, kind
        except (FileNotFoundError, NotADirectoryError):
            pass
        for name, before in changed.items():
            if before is not None:
                yield name, before.kind

    def at(self, stored: str) -> Node | None:
        """What is at a place in the store, or None."""
        if stored not in self._was:
            return super().at(stored)
        before = self._was[stored]
        return before and Node(before.kind, before.size, before.mode, 0, (), before.target)

    def _mark(self, stored: str) -> Mark:
        before = self._was.get(stored)
        return super()._mark(stored) if before is None else loaded(stored, before.content())


def in_tree(path: str) -> str:
    """Where what is new at a path is stored."""
    return f"{TREE}/{path}" if path else TREE


def in_gone(path: str) -> str:
    """Where the mark of a path is stored."""
    return f"{GONE}/{path}" if path else GONE


def joined(path: str, name: str) -> str:
    """A name in a directory."""
    return f"{path}/{name}" if path else name


def loaded(stored: str, content: bytes | None) -> Mark:
    """A mark as it was stored; raises `OSError` for one that nobody can have written."""
    import json

    try:
        facts = json.loads(content or b"")
        origin, was, moved = (cast("str | None", facts[key]) for key in ("from", "was", "moved"))
    except (ValueError, KeyError, TypeError):
        raise failure(errno.EIO, stored) from None
    return Mark(origin, was, moved)


def set_mark(change_set: ChangeSet, upper: Upper, path: str, mark: Mark | None, *, beneath: bool = False) -> None:
    """Store a path's mark in place of what was there; the marks beneath it stay, and can be, only with `beneath`."""
    stored = in_gone(path)
    node = upper.at(stored)
    own = f"{stored}/{OWN}"
    is_directory = node is not None and node.kind == "directory"
    if mark is None:
        if node is not None and not (beneath and is_directory):
            change_set.delete(stored, recursive=True)
        elif node is not None and upper.at(own) is not None:
            change_set.delete(own)
        return
    # What is new is in force before what was goes: nothing that is hidden may be seen for a moment.
    if is_directory:
        change_set.put(own, mark.dump())
        if not beneath:
            for name, _ in list(upper.store.scan(stored)):
                if name != OWN:
                    change_set.delete(f"{stored}/{name}", recursive=True)
        return
    if beneath and node is not None:
        change_set.delete(stored)
        node = None
    if node is None:
        make_directories(change_set, upper, stored)
    if beneath:
        change_set.mkdir(stored)
    change_set.put(own if beneath else stored, mark.dump())


def make_directories(change_set: ChangeSet, upper: Upper, stored: str) -> None:
    """Make the directories above a place in the store; a mark that was a file goes into its directory."""
    missing: list[str] = []
    above = stored.rpartition("/")[0]
    while above:
        node = upper.at(above)
        if node is not None and node.kind == "directory":
            break
        if node is not None:
            content, _ = upper.store.read(above)
            change_set.delete(above)
            change_set.mkdir(above)
            change_set.put(f"{above}/{OWN}", content or b"")
            break
        missing.append(above)
        above = above.rpartition("/")[0]
    for directory in reversed(missing):
        change_set.mkdir(directory)


P = ParamSpec("P")
T = TypeVar("T")


def told_of_upper(operation: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Run an operation on the upper store; errors name the overlay's path, not the place where it is stored."""
    try:
        return operation(*args, **options)
    except OSError as failed:
        facts = cast("Any", failed)
        for name in ("filename", "filename2", "path"):
            at = getattr(failed, name, None)
            if isinstance(at, str):
                setattr(facts, name, _overlaid(at))
        raise
    except UndoConflict as failed:
        failed.conflicts = tuple((_overlaid(what), reason) for what, reason in failed.conflicts)
        failed.args = (failed.conflicts,)
        raise
    except Exception as failed:
        paths = getattr(failed, "paths", None)
        if isinstance(paths, tuple):
            cast("Any", failed).paths = tuple(dict.fromkeys(_overlaid(path) for path in cast("tuple[str, ...]", paths)))
        raise


def stamp_of(upper: Store, stored: str) -> Stamp:
    """What is known of a whole file of the upper layer."""
    from hashlib import file_digest

    stream, node = upper.open(stored)
    with stream:
        return Stamp(stored, file_digest(cast("Any", stream), "sha256").hexdigest(), node.size, (), complete=True)


def _overlaid(place: str) -> str:
    for top in (TREE, GONE):
        if place == top or place.startswith(top + "/"):
            return place[len(top) + 1 :] or "."
    return place
