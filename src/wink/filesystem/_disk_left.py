"""Know what a transaction itself has left at a path, so that it does not change what a person saved there since."""

from __future__ import annotations

import os

from wink.filesystem._journal_records import Mark, Record, mark

_NOTHING = Mark(0, 0, 0, 0)


class Left:
    """The marks of what records have left at paths; as long as a record stands, what it left is expected there."""

    __slots__ = ("_marks", "_standing")

    def __init__(self) -> None:
        self._marks: dict[str, list[tuple[int, Mark]]] = {}
        self._standing: set[int] = set()

    def note(self, record: Record) -> None:
        """A record was written."""
        seq, kind, path, _, old, new, _, target = record
        self._standing.add(seq)
        if new is not None:
            self._put(path, seq, new)
        elif kind in "DET":
            self._put(path, seq, _NOTHING)
        elif kind == "N" and old is not None:
            beneath = path + "/"
            for inside in [known for known in self._marks if known.startswith(beneath)]:
                known = self.at(inside)
                if known is not None:
                    self._put(f"{target}/{inside[len(beneath) :]}", seq, known)
                    self._put(inside, seq, _NOTHING)
            self._put(target, seq, old)
            self._put(path, seq, _NOTHING)

    def rewritten(self, record: Record, found: os.stat_result) -> None:
        """A file was written to in place."""
        self._put(record.path, record.seq, mark(found))

    def forget(self, record: Record) -> None:
        """A record was taken back, or never came about."""
        self._standing.discard(record.seq)

    def at(self, path: str) -> Mark | None:
        """What must be at a path; None where the transaction has changed nothing."""
        marks = self._marks.get(path)
        while marks and marks[-1][0] not in self._standing:
            marks.pop()
        return marks[-1][1] if marks else None

    def is_foreign(self, path: str, found: os.stat_result) -> bool:
        """Whether somebody has saved a file that the transaction had changed."""
        known = self.at(path) if path in self._marks else None
        return known is not None and not known.fits(found)

    def _put(self, path: str, seq: int, left: Mark) -> None:
        self._marks.setdefault(path, []).append((seq, left))
