"""Fold committed calls into the history: one small pack, then the references, then a note in the record.

A fold is never a commit point. Killed anywhere it can be run again: what the record does not know of has no effect, and
the same calls give the same commits. Nothing may be freed before the record knows where it is now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from wink.errors import HistoryDamaged
from wink.filesystem import FileChange, FileVersion, Places, Versions
from wink.record import Folds, Unfolded
from wink_history._contents import Contents
from wink_history._messages import authors, call_message, found_message, somebody, wink_at
from wink_history._names import tree_path
from wink_history._objects import DIRECTORY, FILE, Malformed, commit_content, tree_content, tree_of
from wink_history._pack_writing import PackWriter
from wink_history._sides import side_content
from wink_history._store import HISTORY, Store
from wink_history._trees import Entry, Tree

SIDES: Final = "refs/wink/attributes"

Changes = Mapping[int, Sequence[FileChange]]
"""What each transaction changed, by position."""


def fold(
    store: Store,
    folds: Folds,
    pending: Sequence[Unfolded],
    changes: Changes,
    find: Callable[[], Versions],
    places: Places,
) -> bool:
    """Take `pending`, the oldest transactions that are not folded, into the history; the caller has the store's lock.

    False, with nothing done, when somebody else did it.
    """
    last, head, aside = folds.last()
    writer = store.writer()
    try:
        tree, parent = _begin(store, head)
        contents = Contents(writer, find, places)
        for one in pending:
            for change in changes.get(one.position, ()):
                if change.before is not None:
                    contents.take_preimage(change.before)
        commits: list[tuple[int, bytes]] = []
        sides: dict[bytes, bytes] = {}
        for one in pending:
            made = changes.get(one.position, ())
            parent = _found(writer, tree, contents, one, made, parent)
            side = writer.add("blob", side_content(made, contents.attributes))
            sides[b"%d" % one.position] = side
            parent = _call(writer, tree, contents, one, made, parent, side)
            commits.append((one.position, parent))
        beside = _beside(store, writer, sides, pending[-1], aside)
        store.finish(writer)
    finally:
        writer.abandon()
    assert parent is not None
    store.point(SIDES, beside)
    store.point(HISTORY, parent)
    store.point("HEAD", parent)
    positions = [
        (change.before.kept.staged, one.position)
        for one in pending
        for change in changes.get(one.position, ())
        if change.before is not None and change.before.kept is not None and change.before.kept.staged is not None
    ]
    stored = [(name, position, contents.stored[name]) for name, position in positions if name in contents.stored]
    return folds.add(last, [(position, oid.hex()) for position, oid in commits], stored, beside.hex(), contents.learned)


def _begin(store: Store, head: str | None) -> tuple[Tree, bytes | None]:
    """The tree that the last fold left; an empty one where the history begins, or has to begin anew."""

    def read(oid: bytes) -> bytes:
        kind, content = store.read(oid)
        if kind != "tree":
            raise HistoryDamaged(store.path, f"{oid.hex()} is no tree")
        return content

    if head is not None:
        with suppress(HistoryDamaged, Malformed, ValueError):
            commit = bytes.fromhex(head)
            root = tree_of(store.read(commit)[1])
            read(root)
            return Tree(root, read), commit
    return Tree(None, read), None


def _found(
    writer: PackWriter,
    tree: Tree,
    contents: Contents,
    one: Unfolded,
    changes: Sequence[FileChange],
    parent: bytes | None,
) -> bytes | None:
    """A commit of what the call found and no call had left so, if there is any."""
    differing: list[FileChange] = []
    for change in changes:
        path, before = _path(change.path, change.before), change.before
        known, there = _entry_at(tree, change.path)
        if before is None:
            if there is not None:
                tree.remove(known)
                differing.append(change)
            continue
        entry = contents.before(before, change.path, one.position)
        if there != entry or known != path:
            if there is not None:
                tree.remove(known)
            _put(tree, path, entry)
            differing.append(change)
    if not differing:
        return parent
    author = somebody(one)
    message = found_message(one, tuple(change.path for change in differing))
    return writer.add("commit", commit_content(tree.write(writer), parent, author, authors(one)[0], message))


def _call(
    writer: PackWriter,
    tree: Tree,
    contents: Contents,
    one: Unfolded,
    changes: Sequence[FileChange],
    parent: bytes | None,
    side: bytes,
) -> bytes:
    """The commit of the call itself."""
    entries = {
        change.path: contents.after(change.after, change.path, one.position)
        for change in changes
        if change.after is not None
    }
    ordered = sorted(changes, key=lambda change: change.path)
    for change in reversed(ordered):
        path, there = _entry_at(tree, change.path)
        becomes = entries.get(change.path)
        if there is None:
            continue
        is_other = becomes is None or path != _path(change.path, change.after)
        if is_other or (there[0] == DIRECTORY) != (becomes is not None and becomes[0] == DIRECTORY):
            tree.remove(path)
    for change in ordered:
        if change.after is not None:
            _put(tree, _path(change.path, change.after), entries[change.path])
    author, committer = authors(one)
    message = call_message(one, tuple(change.path for change in changes), side)
    return writer.add("commit", commit_content(tree.write(writer), parent, author, committer, message))


def _beside(store: Store, writer: PackWriter, sides: Mapping[bytes, bytes], one: Unfolded, last: str | None) -> bytes:
    """A commit that holds the sides of this fold, and by its parents those of all folds."""
    parent = None
    if last is not None:
        with suppress(ValueError):
            parent = bytes.fromhex(last)
    if parent is not None and not store.holds(parent):
        parent = None
    tree = writer.add("tree", tree_content({name: (FILE, oid) for name, oid in sides.items()}))
    person = wink_at(one.started_at)
    message = b"What git cannot hold of the calls up to position %d\n" % one.position
    return writer.add("commit", commit_content(tree, parent, person, person, message))


def _path(path: str, version: FileVersion | None) -> tuple[bytes, ...]:
    return tree_path(path, is_plain=version is None or version.kind != "link")


def _entry_at(tree: Tree, path: str) -> tuple[tuple[bytes, ...], Entry | None]:
    """Where a path is in the tree, under the name that it has as a file or as a link, and what it is."""
    plain = tree_path(path)
    found = tree.get(plain)
    if found is not None:
        return plain, found
    other = tree_path(path, is_plain=False)
    return (plain, None) if other == plain else (other, tree.get(other))


def _put(tree: Tree, path: tuple[bytes, ...], entry: Entry) -> None:
    if entry[0] == DIRECTORY:
        tree.make(path)
    else:
        tree.put(path, entry)
