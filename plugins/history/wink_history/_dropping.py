"""Give up the oldest commits, and store what stays in one pack.

The history is cut where git cuts it in a shallow clone: the oldest commit that stays keeps its id and its whole tree, and
has no parents any more. So the record's ids stay true, and git finds nothing wrong. Nothing is removed before all that
stays has been stored again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from wink.errors import HistoryDamaged
from wink.limits import utc_now
from wink_history._messages import wink_at
from wink_history._objects import (
    DIRECTORY,
    FILE,
    Malformed,
    commit_content,
    parents_of,
    parse_tree,
    tree_content,
    tree_of,
)
from wink_history._pack_writing import PackWriter
from wink_history._store import Store

T = TypeVar("T")

KEPT: Final = "refs/wink/kept"
"""A commit of blobs that no commit of the history has any more and a checkpoint needs."""


def drop(
    store: Store, heads: Iterable[tuple[bytes, bytes | None]], roots: Iterable[bytes], blobs: Iterable[bytes]
) -> None:
    """Store again what can be reached, and drop the rest; the caller has the store's lock.

    `heads` are pairs of a last commit and the oldest one that stays, None for all that there are; `roots` are commits and
    blobs that stay with all they have, `blobs` those that are wanted besides. Raises `HistoryDamaged`, with nothing lost.
    """
    old = [pack.name for pack in store.packs()]
    writer = store.writer(again=True)
    try:
        moving = _Moving(store, writer)
        cuts = [cut for head, oldest in heads if (cut := moving.line(head, oldest)) is not None]
        for root in roots:
            moving.any(root)
        kept = _kept(store, writer, [blob for blob in blobs if moving.wanted(blob)])
        name = store.finish(writer)
    finally:
        writer.abandon()
    if kept is not None:
        store.point(KEPT, kept)
    else:
        store.unpoint(KEPT)
    store.cut(cuts)
    store.drop_packs([pack for pack in old if pack != name])
    store.drop_loose()


def oldest_beside(store: Store, head: bytes, position: int) -> bytes:
    """The oldest of the commits of attributes back from `head` that tells of a transaction after `position`."""
    commit = oldest = head
    while True:
        content = store.read(commit)[1]
        told = _read(store, parse_tree, store.read(_read(store, tree_of, content))[1])
        if not any(name.isdigit() and int(name) > position for name in told):
            return oldest
        oldest = commit
        parents = _read(store, parents_of, content)
        if not parents or not store.holds(parents[0]):
            return oldest
        commit = parents[0]


def _kept(store: Store, writer: PackWriter, blobs: list[bytes]) -> bytes | None:
    found = {oid.hex().encode(): (FILE, writer.add(*store.read(oid))) for oid in blobs}
    if not found:
        return None
    tree = writer.add("tree", tree_content(found))
    person = wink_at(utc_now())
    return writer.add("commit", commit_content(tree, None, person, person, b"What checkpoints need\n"))


class _Moving:
    """Copies what can be reached into a new pack."""

    def __init__(self, store: Store, writer: PackWriter) -> None:
        self._store, self._writer = store, writer

    def wanted(self, blob: bytes) -> bool:
        """Whether a blob is not in the new pack yet, and there."""
        return blob not in self._writer and self._store.holds(blob)

    def line(self, head: bytes, oldest: bytes | None) -> bytes | None:
        """Copy commits from `head` back to `oldest`; gives the last one if it had parents, which are not there now."""
        commit = head
        while True:
            content = self._copy(commit)
            self._tree(_read(self._store, tree_of, content))
            parents = _read(self._store, parents_of, content)
            if not parents:
                return None
            if commit == oldest or not self._store.holds(parents[0]):
                return commit  # or it was cut here the last time
            commit = parents[0]

    def any(self, oid: bytes) -> None:
        """Copy a commit without parents, or a blob."""
        kind, content = self._store.read(oid)
        self._writer.add(kind, content)
        if kind == "commit":
            self._tree(_read(self._store, tree_of, content))

    def _tree(self, oid: bytes) -> None:
        waiting = [(DIRECTORY, oid)]
        while waiting:
            mode, found = waiting.pop()
            if found in self._writer:
                continue
            content = self._copy(found)
            if mode == DIRECTORY:
                waiting += list(_read(self._store, parse_tree, content).values())

    def _copy(self, oid: bytes) -> bytes:
        kind, content = self._store.read(oid)
        self._writer.add(kind, content)
        return content


def _read(store: Store, read: Callable[[bytes], T], content: bytes) -> T:
    try:
        return read(content)
    except Malformed as error:
        raise HistoryDamaged(store.path, str(error)) from None
