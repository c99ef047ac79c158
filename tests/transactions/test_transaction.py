"""The transaction itself: its states, its family, and ends that come at the wrong moment."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wink.errors import CommitFailed, HandleRevoked, RollbackFailed
from wink.filesystem import FileChange, FileVersion, InMemoryFilesystem
from wink.limits import Budget, BudgetTracker, Deadline
from wink.session import Session, SliceDelta
from wink.transactions import (
    Change,
    CommitEntry,
    Transaction,
    current_transaction,
    holds,
    limits_around,
    turns_of,
    turns_to_take,
)


@dataclass(frozen=True, slots=True)
class Note:
    """State."""

    text: str


def entry(deltas: tuple[SliceDelta, ...], changes: tuple[FileChange, ...]) -> CommitEntry:
    """What a record would be given."""
    return CommitEntry(
        transaction_id="t",
        session="",
        call_id="",
        tool="tool",
        prompt="",
        arguments="{}",
        outcome="committed",
        rendered="",
        started_at=datetime.now(UTC),
        duration=timedelta(),
        decisions=(),
        deltas=deltas,
        changes=changes,
    )


class Fixture:
    """A session and a tree, and transactions over them."""

    def __init__(self) -> None:
        self.session, self.root = Session(), InMemoryFilesystem()

    def begin(self) -> Transaction:
        transaction = Transaction(self.session, None, root=self.root, writable=True)
        transaction.enter()
        return transaction

    def write(self, transaction: Transaction, text: str) -> None:
        assert transaction.filesystem is not None
        transaction.filesystem.write("a.txt", text)
        self.session.dispatch(Note(text))

    @property
    def state(self) -> tuple[str | None, list[str]]:
        content = self.root.read("a.txt").content if self.root.exists("a.txt") else None
        return content, [note.text for note in self.session[Note].all()]


@pytest.fixture
def over() -> Fixture:
    """Everything empty."""
    return Fixture()


def ended(transaction: Transaction, end: Callable[[Transaction], Any]) -> Any:
    """End it, and leave it."""
    try:
        return end(transaction)
    finally:
        transaction.leave()


def commit(transaction: Transaction) -> Change:
    transaction.revoke()
    return transaction.commit(entry)


def test_a_transaction_ends_once(over: Fixture) -> None:
    """What has been committed cannot be aborted, and the other way round."""
    first = over.begin()
    over.write(first, "kept")
    change = ended(first, commit)
    second = over.begin()
    over.write(second, "dropped")
    undone = ended(second, Transaction.abort)

    assert first.abort() is change
    assert second.abort() is undone
    with pytest.raises(CommitFailed):
        second.commit(entry)
    with pytest.raises(CommitFailed):
        first.commit(entry)
    assert (first.state, second.state) == ("committed", "rolled back")
    assert (change.rolled_back, undone.rolled_back) == (False, True)
    assert over.state == ("kept", ["kept"])


def test_a_transaction_begins_without_touching_anything(over: Fixture) -> None:
    """Nothing to undo, nothing to tell."""
    transaction = over.begin()

    change = ended(transaction, Transaction.abort)

    assert not change
    assert change.rolled_back
    assert current_transaction() is None


def test_an_outer_commit_takes_back_what_is_still_open_inside(over: Fixture) -> None:
    """Half of an inner transaction must not be committed with the outer one."""
    outer = over.begin()
    over.write(outer, "outer")
    inner = over.begin()
    over.write(inner, "inner")
    inner.leave()

    ended(outer, commit)

    assert inner.state == "rolled back"
    assert over.state == ("outer", ["outer"])
    with pytest.raises(CommitFailed, match="has ended"):
        inner.commit(entry)


def test_nothing_begins_inside_a_transaction_that_has_ended(over: Fixture) -> None:
    """A context that somebody copied knows a call that is over."""
    transaction = over.begin()
    transaction.abort()

    with pytest.raises(HandleRevoked):
        Transaction(over.session, None, root=over.root, writable=True)
    transaction.leave()


def test_inner_transactions_wait_for_a_turn_of_their_own(over: Fixture) -> None:
    """The turn of the tree is the outer one's; two inner ones still come one after the other."""
    free = turns_to_take(over.session, over.root)
    outer = over.begin()
    inside = turns_to_take(over.session, over.root)
    inner = over.begin()
    within = turns_to_take(over.session, over.root)
    ended(inner, commit)
    again = turns_to_take(over.session, over.root)
    ended(outer, commit)

    assert free is over.root.write_lock
    assert inside is again
    assert len({id(turns) for turns in (free, inside, within)}) == 3


def test_a_session_without_files_has_a_turn_of_its_own() -> None:
    """Calls that only change a session come one at a time as well."""
    one, two = Session(), Session()

    assert turns_of(one, None) is turns_of(one, None)
    assert turns_of(one, None) is not turns_of(two, None)
    assert not holds(turns_of(one, None))


def test_limits_add_up_from_the_outside_in(over: Fixture) -> None:
    """The earliest deadline, and every budget once."""
    early, late = (Deadline(datetime.now(UTC) + timedelta(hours=hours)) for hours in (1, 2))
    first, second = BudgetTracker(Budget()), BudgetTracker(Budget())
    outer = over.begin()
    outer.deadline, outer.budget_tracker = early, first
    middle = over.begin()
    middle.deadline, middle.budget_tracker = late, second
    inner = over.begin()
    inner.budget_tracker = second

    found = limits_around()
    for transaction in (inner, middle, outer):
        ended(transaction, Transaction.abort)

    assert found == (early, (first, second))
    assert limits_around() == (None, ())


class Broken:
    """A resource whose restoring is told to fail."""

    def __init__(self, error: BaseException | None) -> None:
        self.error, self.restored = error, False

    def snapshot(self) -> None:
        return None

    def restore(self, state: None) -> None:
        if isinstance(self.error, KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)  # what a person does
        if self.error is not None:
            raise self.error
        self.restored = True


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ValueError("x"), RollbackFailed),
        (SystemExit(3), RollbackFailed),
        (RollbackFailed(("x",), "deeper"), RollbackFailed),
        (KeyboardInterrupt(), None),
    ],
    ids=["foreign", "exit", "ours", "interrupt"],
)
def test_everything_is_taken_back_whatever_a_part_of_it_does(
    over: Fixture, error: BaseException, raised: type[BaseException] | None
) -> None:
    """Each part is undone although others fail, and the failure is told at the end."""
    transaction = over.begin()
    good = Broken(None), Broken(None)
    transaction.remember(good[0])
    transaction.remember(Broken(error))
    transaction.remember(good[1])
    over.write(transaction, "x")

    with pytest.raises(raised or type(error)):
        ended(transaction, Transaction.abort)

    assert [one.restored for one in good] == [True, True]
    assert over.state == (None, [])
    assert transaction.state == "rolled back"
    assert transaction.change.rolled_back == (raised is None)


def test_a_change_reads_like_the_changes_in_it() -> None:
    """False without files; the log keeps no content."""
    version = FileVersion("file", 2, 0o644, load=lambda: b"x\n")
    change = Change((FileChange("a.txt", None, version),), rolled_back=True)

    assert change.paths == ("a.txt",)
    assert [one.path for one in change] == ["a.txt"]
    assert "+x" in change.diff()
    slim = change.without_content()
    assert slim.rolled_back
    assert all(one.after is not None and one.after.load is None for one in slim)
    assert not Change()
    assert Change().without_content() == Change()
