"""Know what a transaction itself has left at a path, so that it does not change what a person saved there since."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from wink.filesystem._journal_records import Mark, Record

_NOTHING = Mark(0, 0, 0, 0)


class Left:
    """The marks of what a log's records have left at paths.

    Records come and go at the end of their list; nothing is looked at before somebody asks.
    """

    __slots__ = ("_marks", "_noted", "_records", "_rewritten")

    def __init__(self, records: Sequence[Record], rewritten: Mapping[int, Mark]) -> None:
        self._records, self._rewritten = records, rewritten
        self._marks: dict[str, list[Mark]] = {}
        self._noted: list[tuple[Record, list[str]]] = []

    def at(self, path: str) -> Mark | None:
        """What must be at a path; None where the transaction has changed nothing."""
        self._catch_up()
        marks = self._marks.get(path)
        return marks[-1] if marks else None

    def is_foreign(self, path: str, found: os.stat_result) -> bool:
        """Whether somebody has saved a file that the transaction had changed."""
        known = self.at(path)
        return known is not None and not known.fits(found)

    def _catch_up(self) -> None:
        records, noted = self._records, self._noted
        while noted and (len(noted) > len(records) or noted[-1][0] is not records[len(noted) - 1]):
            for path in noted.pop()[1]:
                self._marks[path].pop()
        for record in records[len(noted) :]:
            noted.append((record, [self._put(path, mark) for path, mark in self._changes(record)]))

    def _changes(self, record: Record) -> list[tuple[str, Mark]]:
        _, kind, path, _, old, new, _, target = record
        new = self._rewritten.get(record.seq, new)
        if new is not None:
            return [(path, new)]
        if kind in "DET":
            return [(path, _NOTHING)]
        if kind != "N" or old is None:
            return []
        beneath = path + "/"
        within = [(inside, marks[-1]) for inside, marks in self._marks.items() if marks and inside.startswith(beneath)]
        moved = [(f"{target}/{inside[len(beneath) :]}", mark) for inside, mark in within]
        return [*moved, *((inside, _NOTHING) for inside, _ in within), (target, old), (path, _NOTHING)]

    def _put(self, path: str, mark: Mark) -> str:
        self._marks.setdefault(path, []).append(mark)
        return path
