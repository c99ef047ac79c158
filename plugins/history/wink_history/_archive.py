"""Give back pre-images that were folded into the history."""

from __future__ import annotations

import hashlib
import threading
from typing import BinaryIO

from wink.errors import HistoryDamaged
from wink.filesystem import Archived
from wink.record import Record
from wink_history._listing import Item, parse_listing, parse_staged_name
from wink_history._names import tree_path
from wink_history._objects import EXECUTABLE, FILE, Malformed, tree_of
from wink_history._sides import read_attributes
from wink_history._store import Store
from wink_history._trees import Tree


class Archive:
    """What to ask for a pre-image that is not in staging any more; costs nothing until it is asked."""

    __slots__ = ("_lock", "_record", "_state", "_store")

    def __init__(self, state: str, record: Record) -> None:
        self._state, self._record = state, record
        self._lock = threading.Lock()
        self._store: Store | None = None

    def open(self, staged: str) -> BinaryIO | None:
        """A pre-image by its name in staging; None when it was never folded, or given up since.

        Raises `HistoryDamaged` when it was and cannot be read back as it was.
        """
        listed = parse_staged_name(staged)
        if listed is None:
            stored = self._record.folds.find(staged)
            if stored is None:
                return self._left(staged)
            listed = stored.blob, stored.digest, stored.attributes
        blob, digest, attributes = listed
        return Archived(self.read(blob, digest), read_attributes(attributes))

    def _left(self, staged: str) -> BinaryIO | None:
        """A pre-image that nobody has folded, out of the commit of the call that had left it, as long as that is there."""
        found = self._record.folds.left_by(staged)
        content = None if found is None else self.left(*found)
        return None if content is None else Archived(content, None)

    def left(self, commit: str, path: str, digest: str) -> bytes | None:
        """What a commit, by its id in hexadecimal, has at a path; None where that has another SHA-256, or was given up."""
        try:
            with self._lock:
                store = self._store = self._store or Store(self._state)
                tree = Tree(tree_of(store.read(bytes.fromhex(commit))[1]), lambda oid: store.read(oid)[1])
                entry = tree.get(tree_path(path))
            # Another file's content, or the line that stands for one which is not kept, has another digest.
            is_file = entry is not None and entry[0] in (FILE, EXECUTABLE)
            return self.read(entry[1].hex(), digest) if entry is not None and is_file else None
        except (HistoryDamaged, Malformed, ValueError):
            return None  # it has been given up

    def read(self, blob: str, digest: str) -> bytes:
        """A blob by git's id in hexadecimal, whose content has this SHA-256; raises `HistoryDamaged`."""
        with self._lock:
            # Left open: whoever takes one call back wants many files.
            store = self._store = self._store or Store(self._state)
            try:
                kind, content = store.read(bytes.fromhex(blob))
            except ValueError as error:
                raise store.damaged(error) from None
        # Git's ids are SHA-1, for which two contents of the same id can be made.
        if kind != "blob" or hashlib.sha256(content).hexdigest() != digest:
            raise HistoryDamaged(store.path, f"object {blob} is not what was stored")
        return content

    def items(self, listing: str, digest: str) -> dict[str, Item]:
        """What a checkpoint of everything lists, by path; raises `HistoryDamaged`."""
        content = self.read(listing, digest)
        try:
            return parse_listing(content)
        except Malformed as error:
            raise HistoryDamaged(self._state, str(error)) from None

    def close(self) -> None:
        """Close the store; the next use opens it again."""
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            store.close()
