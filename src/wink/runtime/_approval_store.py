"""Where requests and answers are kept: in a workspace's record, or with a session that has none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from wink.filesystem import Filesystem
from wink.limits import utc_now
from wink.session import ApprovalRow, ApprovalRows, ApprovalStore, Session
from wink.transactions import recorder_of

T = TypeVar("T")


class MemoryStore(ApprovalStore):
    """Requests and answers of one session that nothing records; they end with it."""

    __slots__ = ("_last", "_lock", "_rows")

    is_durable = False

    def __init__(self) -> None:
        self._rows: dict[int, ApprovalRow] = {}
        self._lock = threading.Lock()
        self._last = 0

    def rows(
        self, *, session: str | None = None, states: tuple[str, ...] = (), tool: str | None = None
    ) -> tuple[ApprovalRow, ...]:
        """Requests in these states, or in any, oldest first."""
        with self._lock:
            rows = tuple(self._rows.values())
        return tuple(
            row
            for row in rows
            if (session is None or row.session == session)
            and (tool is None or row.tool == tool)
            and (not states or row.state in states)
        )

    def find(self, number: int) -> ApprovalRow | None:
        """One request."""
        return self._rows.get(number)

    def change(self, work: Callable[[ApprovalRows], T]) -> T:
        """Do something with the rows, beside nothing else."""
        with self._lock:
            return work(self)

    def now(self) -> datetime:
        """The time of what is stored."""
        return utc_now()

    def get(self, number: int) -> ApprovalRow | None:
        """One request."""
        return self._rows.get(number)

    def add(self, row: ApprovalRow) -> ApprovalRow:
        """Store a request, and forget the oldest where they are too many."""
        self._last += 1
        kept = self._rows[self._last] = replace(row, number=self._last, at=utc_now())
        self._rows.pop(self._last - self.KEPT, None)
        return kept

    def put(self, row: ApprovalRow) -> None:
        """Store what became of a request."""
        self._rows[row.number] = row

    def tell(self, kind: str, row: ApprovalRow, **values: object) -> None:
        """Nobody keeps events."""

    def position(self) -> None:
        """Nothing is recorded."""

    def place(self) -> str:
        """In this process, and nowhere else."""
        return ""


_stores: Final[WeakKeyDictionary[Session, MemoryStore]] = WeakKeyDictionary()
_stores_lock: Final = threading.Lock()


def memory_store(session: Session) -> MemoryStore:
    """The store that belongs to a session."""
    with _stores_lock:
        store = _stores.get(session)
        if store is None:
            store = _stores[session] = MemoryStore()
        return store


def store_of(session: Session, files: Filesystem | None = None) -> ApprovalStore:
    """The store of who records the session's calls, or the session's own where there is none or nothing can be stored."""
    if files is not None and files.read_only:
        return memory_store(session)
    recorder = recorder_of(session, files)
    return memory_store(session) if recorder is None else recorder.approvals
