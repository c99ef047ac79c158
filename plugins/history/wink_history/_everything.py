"""Take everything that is in a workspace into the history, whoever made it, and list it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from wink.dataclass import dataclass
from wink.filesystem import Ignored
from wink.record import Listed
from wink_history._listing import Item, listing_content
from wink_history._messages import wink_at
from wink_history._names import reference, tree_path
from wink_history._objects import EXECUTABLE, FILE, LINK, commit_content
from wink_history._pack_writing import PackWriter
from wink_history._scan import Progress, Tree, scan
from wink_history._store import Store
from wink_history._trees import Tree as GitTree


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What a checkpoint of everything took in: how many paths, and those that cannot be restored, each with the reason."""

    paths: int
    not_restorable: tuple[tuple[str, str], ...]


def take_in(
    store: Store,
    tree: Tree,
    name: str,
    at: datetime,
    *,
    budget: int,
    turn: Callable[[], AbstractContextManager[object]],
    keep: Callable[[Listed], object],
    earlier: Mapping[str, Item],
    progress: Progress,
) -> TakenIn:
    """Store all that is in `tree`, and let `keep` note it while `turn` holds others off; the caller has the store's lock.

    Most is read before the turn is taken: then only what has changed meanwhile is read again.
    """
    known = _stored(store, tree, earlier, budget, progress)
    writer = store.writer()
    with turn():
        try:
            items = scan(tree, writer, known.get, _ignored(tree), budget, progress)
            root = _tree(store, writer, items)
            person = wink_at(at)
            message = b"checkpoint %s\n" % name.encode("utf-8", "backslashreplace")
            commit = writer.add("commit", commit_content(root, None, person, person, message))
            listing = listing_content(items)
            added = writer.add_stream(io.BytesIO(listing), len(listing))
            assert added is not None
            store.finish(writer)
        finally:
            writer.abandon()
        # Before the record knows of them, so that nobody's `git gc` takes them for rubbish.
        store.point(reference("checkpoints", name), commit)
        store.point(reference("listings", name), added[0])
        keep(Listed(name, commit.hex(), added[0].hex(), added[1]))
    return TakenIn(len(items), tuple((item.path, item.missing) for item in items if item.missing))


def _stored(
    store: Store, tree: Tree, earlier: Mapping[str, Item], budget: int, progress: Progress
) -> Mapping[str, Item]:

    def known(path: str) -> Item | None:
        item = earlier.get(path)
        return item if item is not None and store.finds(item.blob) else None

    writer = store.writer()
    try:
        items = scan(tree, writer, known, _ignored(tree), budget, progress)
        store.finish(writer)
    finally:
        writer.abandon()
    return {item.path: item for item in items}


def _ignored(tree: Tree) -> Callable[[str, bool], bool]:
    rules = Ignored(tree)  # type: ignore[arg-type]
    return lambda path, is_directory: rules.covers(path, is_directory=is_directory)


def _tree(store: Store, writer: PackWriter, items: Sequence[Item]) -> bytes:
    tree = GitTree(None, lambda oid: store.read(oid)[1])
    for item in items:
        if item.kind == "directory":
            tree.make(tree_path(item.path))
        elif item.missing:
            continue
        elif item.kind == "link":
            oid = writer.add("blob", os.fsencode(item.target or ""))
            tree.put(tree_path(item.path, is_plain=False), (LINK, oid))
        else:
            tree.put(tree_path(item.path), (EXECUTABLE if item.mode & 0o100 else FILE, bytes.fromhex(item.blob)))
    return tree.write(writer)
