"""Walk a record's chain from its beginning, and compare it with the head that was kept outside of the workspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wink.errors import RecordCorrupt
from wink.record import HASH, entry_hash
from wink.state import keep_head, kept_head
from wink_verify._contents import Contents
from wink_verify._entries import Ask, Entry, Mismatch, entries, idle_session, last_of, start_of
from wink_verify._verdict import Verdict

if TYPE_CHECKING:
    from wink.workspace import Workspace

Progress = Callable[[int], object]


def verify(workspace: Workspace, *, progress: Progress = lambda _: None) -> Verdict:
    """Find the first entry of the workspace's record that does not fit, if there is one; `progress` is told positions.

    Calls beside it go on. Entries that are written meanwhile are not looked at.
    """
    # First the head: what is written after this is in front of it.
    return _walked(workspace, kept_head(workspace.state), progress)


def trust(workspace: Workspace, *, progress: Progress = lambda _: None) -> Verdict:
    """Keep the head of the record as it is now, whatever was kept before, if each of its entries fits the one before it.

    Raises `OSError` where it cannot be kept.
    """
    verdict = _walked(workspace, None, progress)
    if verdict.fits and verdict.entry:
        keep_head(workspace.state, verdict.upto, verdict.entry)
    return verdict


def _walked(workspace: Workspace, kept: tuple[int, bytes] | None, progress: Progress) -> Verdict:
    with workspace.record.queries.reading() as ask:
        walk = _Walk(ask, Contents(workspace), kept, progress)
        try:
            walk.go()
        except Mismatch as found:
            return walk.verdict(found)
        except RecordCorrupt as error:
            return walk.verdict(Mismatch(walk.upto + 1, str(error)))
        return walk.verdict(None)


class _Walk:
    def __init__(self, ask: Ask, contents: Contents, kept: tuple[int, bytes] | None, progress: Progress) -> None:
        self._ask, self._contents, self._kept, self._progress = ask, contents, kept, progress
        self._vouched = self._unchained = self._forgotten = self._number = 0
        self._entry = b""
        self.upto = 0

    def go(self) -> None:
        """Look at everything; raises `Mismatch` at the first entry that does not fit."""
        start, last = start_of(self._ask), last_of(self._ask)
        self._forgotten = self.upto = start.position
        self._number, self._entry = start.number, start.entry
        if start.position and self._kept is not None:
            self._compare(start.position)
            if self._kept[0] < start.position:
                raise Mismatch(
                    start.position, f"the head that was kept outside is of {self._kept[0]}, which is forgotten"
                )
        for entry in entries(self._ask, start, last):
            self._look(entry)
            self._progress(entry.position)
        if not self._forgotten and not self._unchained and (name := idle_session(self._ask)) is not None:
            raise Mismatch(self.upto + 1, f"nothing was ever written to the session {name!r}")
        if self._kept is not None and self._kept[0] > self.upto:
            missing = self._kept[0] - self.upto
            raise Mismatch(
                self.upto + 1,
                f"{missing} more were there when the head was kept outside: the end was cut off, or the record replaced",
            )

    def _look(self, entry: Entry) -> None:
        if entry.chain is None:
            if self._entry:
                raise Mismatch(entry.position, "it is not committed to the entry before it")
            self._unchained = entry.position
        else:
            found = entry_hash(self._entry, entry.pieces, entry.chain[HASH:])
            if found != entry.chain[:HASH]:
                raise Mismatch(entry.position, "it is not what was written, or not after what stands before it")
            self._entry = found
        self._number, self.upto = entry.number, entry.position
        self._compare(entry.position)
        if entry.committed and entry.changed is not None and entry.chain is not None:
            self._contents.look(entry.position, entry.changed)

    def _compare(self, position: int) -> None:
        if self._kept is None or self._kept[0] != position:
            return
        if self._kept[1] != self._entry:
            self.upto = 0  # whoever can write a chain anew can write all of it anew
            raise Mismatch(
                position, "the head that was kept outside is another one: the record was written anew, or replaced"
            )
        self._vouched = position

    def verdict(self, found: Mismatch | None) -> Verdict:
        """What has been seen up to here."""
        upto = self.upto if found is None else min(self.upto, max(found.position - 1, 0))
        return Verdict(
            None if found is None else found.reason,
            0 if found is None else found.position,
            self._number,
            upto,
            min(self._vouched, upto),
            self._unchained,
            self._forgotten,
            self._entry,
            self._contents.checked,
            self._contents.gone,
            self._contents.unknown,
        )
