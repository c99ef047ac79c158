"""What is kept of the calls that people are asked about, and who keeps it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Literal, Protocol, TypeVar

from wink.dataclass import dataclass, replace

T = TypeVar("T")

ApprovalState = Literal["pending", "approved", "denied", "claimed", "used", "replaced"]
"""`claimed`: by a call that has begun and of which nothing more is known; `replaced`: by a request that took its place."""

_EPOCH: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """One request, and what became of it.

    `arguments` and `edited`, what a person put in their place, are JSON objects; `policies` is a JSON list of
    `[policy, reason]`. `facts` is the state of the files that the call concerns, in the executor's own JSON, and
    `edited_facts` that of those which the edited arguments concern. `instead` is the request that replaced this one.
    """

    LIVE: ClassVar = ("pending", "approved", "denied")
    """The states in which a request waits for an answer, or its answer for a call."""

    number: int
    session: str
    run: str
    call_id: str
    tool: str
    effects: str
    arguments: str
    policies: str
    facts: str
    fingerprint: str
    state: ApprovalState = "pending"
    at: datetime = _EPOCH
    answered_at: datetime | None = None
    note: str = ""
    edited: str | None = None
    edited_facts: str | None = None
    instead: int | None = None

    @property
    def is_live(self) -> bool:
        """Whether it waits for an answer, or its answer for a call."""
        return self.state in self.LIVE


class ApprovalRows(Protocol):
    """The requests that a store has, as one transaction sees and changes them."""

    def get(self, number: int) -> ApprovalRow | None:
        """One request."""
        ...

    def add(self, row: ApprovalRow) -> ApprovalRow:
        """Store a request; gives it with its number and time. Those that are too many go."""
        ...

    def put(self, row: ApprovalRow) -> None:
        """Store what became of a request: all but the call that it asks about, which stays as it was."""
        ...

    def tell(self, kind: str, row: ApprovalRow, **values: object) -> None:
        """Note an event."""
        ...


class ApprovalStore(ABC):
    """What may become of a request, over what keeps rows; a workspace keeps them in its record."""

    __slots__ = ("__weakref__",)

    KEPT: ClassVar = 500
    """So many requests are kept, whatever became of them."""
    is_durable: ClassVar[bool]
    """Whether the transaction that stores a call uses its answer; otherwise the executor says when it is used."""

    @abstractmethod
    def rows(
        self, *, session: str | None = None, states: tuple[str, ...] = (), tool: str | None = None
    ) -> tuple[ApprovalRow, ...]:
        """Requests in these states, or in any, oldest first."""

    @abstractmethod
    def find(self, number: int) -> ApprovalRow | None:
        """One request."""

    @abstractmethod
    def change(self, work: Callable[[ApprovalRows], T]) -> T:
        """Do something with the rows that happens as a whole or not, beside nothing else."""

    @abstractmethod
    def now(self) -> datetime:
        """The time of what is stored."""

    @abstractmethod
    def position(self) -> int | None:
        """The last recorded change to files; None where nothing is recorded."""

    @abstractmethod
    def place(self) -> str:
        """Where this store is: what was answered in a copy of it counts for nothing."""

    def ask(self, row: ApprovalRow, replaces: tuple[int, ...] = ()) -> ApprovalRow:
        """Store a request, and that it takes the place of others; gives it with its number and time."""

        def work(rows: ApprovalRows) -> ApprovalRow:
            asked = rows.add(row)
            for number in replaces:
                _move(rows, number, ApprovalRow.LIVE, state="replaced", instead=asked.number)
            more = {"replaces": [f"a{number}" for number in replaces]} if replaces else {}
            rows.tell("approval-asked", asked, call_id=row.call_id, run=row.run or None, **more)
            return asked

        return self.change(work)

    def asked_by(self, number: int, run_id: str, call_id: str) -> None:
        """The call that a waiting request is about was made again."""
        self.change(lambda rows: _move(rows, number, ApprovalRow.LIVE, run=run_id, call_id=call_id))

    def answer(
        self, row: ApprovalRow, *, approved: bool, note: str, edited: str | None, edited_facts: str | None
    ) -> bool:
        """Store what a person says to exactly this request; False when it does not stand like this any more."""
        state: ApprovalState = "approved" if approved else "denied"
        said = {"state": state, "note": note, "edited": edited, "edited_facts": edited_facts}

        def work(rows: ApprovalRows) -> bool:
            now = self.now()
            answered = _move(rows, row.number, ApprovalRow.LIVE, row.fingerprint, answered_at=now, **said)
            if answered is not None:
                rows.tell("approval-answered", answered, answer=state, note=note, is_edited=edited is not None)
            return answered is not None

        return self.change(work)

    def claim(self, number: int) -> bool:
        """Give an approval to a call that is about to begin; False when another one has it."""
        return self.change(lambda rows: _move(rows, number, ("approved",), state="claimed")) is not None

    def give_back(self, number: int) -> None:
        """The call that had the approval was taken back whole."""
        if not self.is_durable:  # where it is, nothing was taken yet
            self.change(lambda rows: _move(rows, number, ("claimed",), state="approved"))

    def use(self, number: int) -> None:
        """The answer has been used."""
        if not self.is_durable:
            self.change(lambda rows: _move(rows, number, ("claimed", *ApprovalRow.LIVE), state="used"))

    def renew(self, row: ApprovalRow, facts: str, fingerprint: str) -> bool:
        """The request stands for another state of the files from now on, which came about with the person's consent.

        False when it does not stand like this any more. An answer that came since `row` was read stays.
        """

        def work(rows: ApprovalRows) -> bool:
            values = {"facts": facts, "fingerprint": fingerprint}
            return _move(rows, row.number, ApprovalRow.LIVE, row.fingerprint, **values) is not None

        return self.change(work)


def _move(
    rows: ApprovalRows, number: int, states: tuple[str, ...], unless_other: str | None = None, /, **values: Any
) -> ApprovalRow | None:
    """The request as it is from now on; None where it is in no such state, or stands for something else."""
    row = rows.get(number)
    if row is None or row.state not in states or unless_other not in (None, row.fingerprint):
        return None
    changed = replace(row, **values)
    rows.put(changed)
    return changed
