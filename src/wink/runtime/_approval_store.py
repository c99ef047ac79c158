"""Where requests and answers are kept: in a workspace's record, or with a session that has none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, cast
from weakref import WeakKeyDictionary

from wink.filesystem import Filesystem
from wink.limits import utc_now
from wink.session import Session

if TYPE_CHECKING:
    from wink.record import ApprovalRow

_KEPT: Final = 500
_LIVE: Final = ("pending", "approved", "denied")


class Store(Protocol):
    """Keeps requests and answers; see `wink.record.ApprovalTable`."""

    @property
    def is_durable(self) -> bool:
        """Whether the transaction that stores a call uses its answer; otherwise the executor says when it is used."""
        ...

    def rows(
        self, *, session: str | None = None, states: tuple[str, ...] = (), tool: str | None = None
    ) -> tuple[ApprovalRow, ...]:
        """Requests, oldest first."""
        ...

    def find(self, number: int) -> ApprovalRow | None:
        """One request."""
        ...

    def ask(self, row: ApprovalRow, replaces: tuple[int, ...] = ()) -> ApprovalRow:
        """Store a request; gives it with its number."""
        ...

    def asked_by(self, number: int, run_id: str, call_id: str) -> None:
        """The call was made again."""
        ...

    def answer(
        self, row: ApprovalRow, *, approved: bool, note: str, edited: str | None, edited_facts: str | None
    ) -> bool:
        """Store an answer; False when the request does not stand like this any more."""
        ...

    def claim(self, number: int) -> bool:
        """Give an approval to one call; False when another one has it."""
        ...

    def give_back(self, number: int) -> None:
        """The call that had the approval was taken back whole."""
        ...

    def use(self, number: int) -> None:
        """The answer has been used."""
        ...

    def renew(self, row: ApprovalRow, facts: str, fingerprint: str) -> bool:
        """The request stands for another state of the files from now on."""
        ...

    def position(self) -> int | None:
        """The last recorded change to files; None where nothing is recorded."""
        ...

    def place(self) -> str:
        """Where this store is: what was answered in a copy of it counts for nothing."""
        ...


class MemoryStore:
    """Requests and answers of one session that nothing records; they end with it."""

    __slots__ = ("_last", "_lock", "_rows")

    is_durable: bool = False

    def __init__(self) -> None:
        self._rows: dict[int, ApprovalRow] = {}
        self._lock = threading.Lock()
        self._last = 0

    def rows(
        self, *, session: str | None = None, states: tuple[str, ...] = (), tool: str | None = None
    ) -> tuple[ApprovalRow, ...]:
        """Requests, oldest first."""
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

    def ask(self, row: ApprovalRow, replaces: tuple[int, ...] = ()) -> ApprovalRow:
        """Store a request; gives it with its number."""
        with self._lock:
            self._last += 1
            kept = self._rows[self._last] = replace(row, number=self._last, at=utc_now())
            for number in replaces:
                replaced = self._rows.get(number)
                if replaced is not None and replaced.state in _LIVE:
                    self._rows[number] = replace(replaced, state="replaced", instead=kept.number)
            while len(self._rows) > _KEPT:
                del self._rows[next(iter(self._rows))]
            return kept

    def asked_by(self, number: int, run_id: str, call_id: str) -> None:
        """The call was made again."""
        self._change(number, _LIVE, lambda row: replace(row, run=run_id, call_id=call_id))

    def answer(
        self, row: ApprovalRow, *, approved: bool, note: str, edited: str | None, edited_facts: str | None
    ) -> bool:
        """Store an answer; False when the request does not stand like this any more."""

        def answered(kept: ApprovalRow) -> ApprovalRow:
            state = "approved" if approved else "denied"
            now = utc_now()
            return replace(kept, state=state, answered_at=now, note=note, edited=edited, edited_facts=edited_facts)

        return self._change(row.number, _LIVE, answered, row.fingerprint)

    def claim(self, number: int) -> bool:
        """Give an approval to one call; False when another one has it."""
        return self._change(number, ("approved",), lambda row: replace(row, state="claimed"))

    def give_back(self, number: int) -> None:
        """The call that had the approval was taken back whole."""
        self._change(number, ("claimed",), lambda row: replace(row, state="approved"))

    def use(self, number: int) -> None:
        """The answer has been used."""
        self._change(number, ("claimed", *_LIVE), lambda row: replace(row, state="used"))

    def renew(self, row: ApprovalRow, facts: str, fingerprint: str) -> bool:
        """The request stands for another state of the files from now on."""
        changed = replace(row, facts=facts, fingerprint=fingerprint)
        return self._change(
            row.number,
            _LIVE,
            lambda kept: replace(kept, facts=changed.facts, fingerprint=changed.fingerprint),
            row.fingerprint,
        )

    def position(self) -> None:
        """Nothing is recorded."""

    def place(self) -> str:
        """In this process, and nowhere else."""
        return ""

    def _change(
        self,
        number: int,
        states: tuple[str, ...],
        change: Callable[[ApprovalRow], ApprovalRow],
        fingerprint: str | None = None,
    ) -> bool:
        with self._lock:
            row = self._rows.get(number)
            if row is None or row.state not in states or (fingerprint is not None and row.fingerprint != fingerprint):
                return False
            self._rows[number] = change(row)
            return True


_stores: Final[WeakKeyDictionary[Session, MemoryStore]] = WeakKeyDictionary()
_stores_lock: Final = threading.Lock()


def memory_store(session: Session) -> MemoryStore:
    """The store that belongs to a session."""
    with _stores_lock:
        store = _stores.get(session)
        if store is None:
            store = _stores[session] = MemoryStore()
        return store


def store_of(session: Session, files: Filesystem | None = None) -> Store:
    """The store of who records the session's calls, or the session's own where there is none or nothing can be stored."""
    if files is not None and files.read_only:
        return memory_store(session)
    recorder = session.recorder or (None if files is None else files.recorder)
    table = getattr(recorder, "approvals", None)
    return memory_store(session) if table is None else cast("Store", table)
