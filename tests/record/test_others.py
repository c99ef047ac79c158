"""Two processes write to one record; here two connections stand for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from wink.errors import CommitFailed
from wink.record import Record
from wink.session import Replace, Session, SliceDelta, replace_latest, upsert_by
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]


@dataclass(frozen=True, slots=True)
class Note:
    """An item of a slice."""

    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The one item of a slice."""

    text: str


def delta(op: str, *texts: str, cls: type = Note) -> SliceDelta:
    return SliceDelta(f"{__name__}:{cls.__name__}", op, tuple(cls(text) for text in texts), None, "state")  # type: ignore[arg-type]


@pytest.fixture
def other(state: Path) -> Iterator[Record]:
    """Another process's record of the same workspace."""
    other = Record(str(state))
    yield other
    other.close()


def adopted(record: Record, name: str = "default") -> Session:
    session = Session(name=name)
    session[Plan].register(Plan, replace_latest)
    record.adopt(session)
    return session


def test_session_sees_what_another_process_committed(record: Record, other: Record, entry: MakeEntry) -> None:
    """A read in one process must bless a write in the next."""
    session = adopted(record)
    assert session[Note].all() == ()
    other.commit(entry(deltas=(delta("extend", "theirs"),)))

    record.refresh(session)

    assert session[Note].all() == (Note("theirs"),)


def test_only_the_session_that_was_written_is_loaded_again(record: Record, other: Record, entry: MakeEntry) -> None:
    """Two agents on one workspace must not make each other slow."""
    record.commit(entry(deltas=(delta("extend", "a"),)))
    mine, theirs = adopted(record, "mine"), adopted(record, "theirs")
    reloaded: list[str] = []
    mine.reload = lambda: reloaded.append("mine")  # type: ignore[method-assign]
    theirs.reload = lambda: reloaded.append("theirs")  # type: ignore[method-assign]

    other.commit(entry(session="theirs", deltas=(delta("extend", "b"),)))
    other.commit(entry(session="mine"))  # a call that wrote to no slice
    for _ in range(2):
        record.refresh(mine)
        record.refresh(theirs)

    assert reloaded == ["theirs"]


def test_own_calls_load_nothing_again(record: Record, entry: MakeEntry) -> None:
    """What we wrote ourselves is in memory already."""
    session = adopted(record)
    reloaded: list[str] = []
    session.reload = lambda: reloaded.append("mine")  # type: ignore[method-assign]

    for _ in range(3):
        record.refresh(session)
        record.commit(entry(deltas=(delta("extend", "a"),)))
        record.attempt(entry())

    assert reloaded == []


def test_others_are_noticed_by_a_commit_too(record: Record, other: Record, entry: MakeEntry) -> None:
    """Calls that only read commit without the lease, so others may come in between."""
    session = adopted(record)
    record.commit(entry(deltas=(delta("extend", "mine 1"),)))
    other.commit(entry(deltas=(delta("extend", "theirs"),)))
    record.commit(entry(deltas=(delta("extend", "mine 2"),)))

    record.refresh(session)

    assert [note.text for note in session[Note].all()] == ["mine 1", "theirs", "mine 2"]


def test_replacing_what_was_not_seen_is_refused(record: Record, other: Record, entry: MakeEntry) -> None:
    """It was computed from items that are no longer all there is; additions do no harm."""
    session = adopted(record)
    record.commit(entry(deltas=(delta("extend", "mine", cls=Plan),)))
    other.commit(entry(deltas=(delta("extend", "theirs", cls=Plan),)))

    with pytest.raises(CommitFailed, match=r"another process wrote to .*Plan meanwhile"):
        record.commit(entry(deltas=(delta("replace", "mine again", cls=Plan),)))

    record.refresh(session)
    record.commit(entry(deltas=(delta("replace", "mine again", cls=Plan),)))
    assert adopted(other)[Plan].all() == (Plan("mine again"),)


def test_replacing_is_fine_when_others_wrote_to_other_slices(record: Record, other: Record, entry: MakeEntry) -> None:
    """A read elsewhere notes a stamp in the same session; a plan need not fail for it."""
    record.commit(entry(deltas=(delta("extend", "mine", cls=Plan),)))
    other.commit(entry(deltas=(delta("extend", "theirs"),)))

    record.commit(entry(deltas=(delta("replace", "mine again", cls=Plan),)))

    assert len(record.calls()) == 3


def test_direct_writes_are_stored_and_conflicts_are_told(record: Record, other: Record) -> None:
    """What a program writes to a session outside of calls must be there in the next process."""
    mine, theirs = adopted(record), adopted(other)
    mine[Note].append(Note("direct"))
    mine.dispatch(Plan("mine"))
    other.refresh(theirs)
    theirs.dispatch(Plan("theirs"))

    with pytest.raises(CommitFailed):
        mine.dispatch(Plan("not seen theirs"))
    assert mine[Plan].all() == (Plan("theirs"),)
    mine.dispatch(Plan("seen theirs"))

    other.refresh(theirs)
    assert (theirs[Plan].all(), theirs[Note].all()) == ((Plan("seen theirs"),), (Note("direct"),))
    assert record.calls() == ()


def test_record_that_appears_later_is_noticed(record: Record, other: Record, entry: MakeEntry) -> None:
    """The first to store something may be the other process."""
    session = adopted(record)
    session[Note].register(Note, upsert_by(lambda note: note.text))
    assert session[Note].get("a") is None

    theirs = adopted(other)
    theirs[Note].register(Note, upsert_by(lambda note: note.text))
    theirs.dispatch(Note("a"))
    record.refresh(session)

    assert session[Note].get("a") == Note("a")


def test_identity_of_a_session_is_that_of_its_first_process(record: Record, other: Record, entry: MakeEntry) -> None:
    """Logs and traces of several processes belong together."""
    session = adopted(record)
    assert record.identity("default") is None

    record.commit(entry())

    assert other.identity("default") == (str(session.session_id), session.created_at)


def test_seeding_by_operations_is_stored(record: Record, other: Record) -> None:
    """Every way of writing to a slice goes through the record."""
    adopted(record).stage(Note, [Replace((Note("a"), Note("b")))])

    assert adopted(other)[Note].all() == (Note("a"), Note("b"))
