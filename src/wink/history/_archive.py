"""Give back pre-images that were folded into the history."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

from wink.errors import HistoryDamaged
from wink.filesystem import Archived
from wink.history._sides import read_attributes
from wink.history._store import Store
from wink.record import Record


class Archive:
    """What to ask for a pre-image that is not in staging any more; costs nothing until it is asked."""

    __slots__ = ("_record", "_state")

    def __init__(self, state: str, record: Record) -> None:
        self._state, self._record = state, record

    def open(self, staged: str) -> BinaryIO | None:
        """A pre-image by its name in staging; None when it was never folded, or given up since.

        Raises `HistoryDamaged` when it was and cannot be read back as it was.
        """
        stored = self._record.folds.find(staged)
        if stored is None:
            return None
        return Archived(self.read(stored.blob, stored.digest), read_attributes(stored.attributes))

    def read(self, blob: str, digest: str) -> bytes:
        """A blob by git's id in hexadecimal, whose content has this SHA-256; raises `HistoryDamaged`."""
        with Store(self._state) as store:
            try:
                kind, content = store.read(bytes.fromhex(blob))
            except ValueError as error:
                raise store.damaged(error) from None
            # Git's ids are SHA-1, for which two contents of the same id can be made.
            if kind != "blob" or hashlib.sha256(content).hexdigest() != digest:
                raise HistoryDamaged(store.path, f"object {blob} is not what was stored")
        return content
