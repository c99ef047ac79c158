"""COMMIT may raise after it has done its work, or before; only the record itself can tell."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wink.errors import CommitFailed, WorkspaceNeedsRecovery
from wink.record import Record
from wink.session import Session, SliceDelta
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]


@dataclass(frozen=True, slots=True)
class Note:
    """An item of a slice."""

    text: str


class Disk:
    """A disk that fails when told to; stands where `sqlite3.connect` does."""

    def __init__(self) -> None:
        self.commit_raises: str | None = None
        self.unreadable = False

    def connect(self, *args: Any, **options: Any) -> sqlite3.Connection:
        if self.unreadable:
            raise sqlite3.OperationalError("disk I/O error")
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:  # type: ignore[override]
                if sql != "COMMIT" or disk.commit_raises is None:
                    return super().execute(sql, *values)
                if disk.commit_raises == "interrupted":
                    raise KeyboardInterrupt
                if disk.commit_raises == "afterwards":
                    super().execute(sql)
                raise sqlite3.OperationalError("disk I/O error")

        return sqlite3.connect(*args, factory=Connection, **options)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def record(state: Path, disk: Disk, entry: MakeEntry) -> Iterator[Record]:
    """A record with one call in it."""
    record = Record(str(state), connect=disk.connect)
    record.commit(entry())
    yield record
    record.close()


def test_commit_that_raised_afterwards_counts(record: Record, disk: Disk, entry: MakeEntry) -> None:
    """The files must stay as the call left them, since the record says so to everybody else."""
    disk.commit_raises = "afterwards"

    record.commit(entry())

    disk.commit_raises = None
    record.commit(entry())
    assert [row.transaction_id for row in record.calls()] == ["tx-3", "tx-2", "tx-1"]


def test_commit_that_raised_before_fails_for_certain(record: Record, disk: Disk, entry: MakeEntry) -> None:
    """The files can be taken back, and the next call finds the record in order."""
    disk.commit_raises = "before"

    with pytest.raises(CommitFailed, match="disk I/O error"):
        record.commit(entry())

    disk.commit_raises = None
    record.commit(entry())
    assert [row.transaction_id for row in record.calls()] == ["tx-3", "tx-1"]


@pytest.mark.parametrize("when", ["before", "afterwards"])
def test_unreadable_record_leaves_it_open_until_it_can_be_read(
    record: Record, disk: Disk, entry: MakeEntry, when: str
) -> None:
    """Nothing may be undone, and nothing more written, before it is known what happened."""
    disk.commit_raises, disk.unreadable = when, True

    with pytest.raises(WorkspaceNeedsRecovery) as caught:
        record.commit(entry())

    assert caught.value.transaction_id == "tx-2"
    with pytest.raises(WorkspaceNeedsRecovery):
        record.settle()
    with pytest.raises(WorkspaceNeedsRecovery):
        record.committed("tx-2")
    with pytest.raises(CommitFailed, match="wink recover"):
        record.commit(entry())

    disk.commit_raises, disk.unreadable = None, False
    record.settle()
    assert record.committed("tx-2") == (when == "afterwards")
    record.commit(entry())
    assert record.committed("tx-4")


def test_sessions_are_loaded_again_once_it_is_known(record: Record, disk: Disk, entry: MakeEntry) -> None:
    """In memory the call's writes were dropped; the record may have them all the same."""
    session = Session(name="default")
    record.adopt(session)
    assert len(session[Note]) == 0
    delta = SliceDelta(f"{__name__}:Note", "extend", (Note("kept"),), None, "state")
    disk.commit_raises, disk.unreadable = "afterwards", True
    with pytest.raises(WorkspaceNeedsRecovery):
        record.commit(entry(deltas=(delta,)))
    with pytest.raises(Exception, match="disk I/O error"):
        record.refresh(session)

    disk.commit_raises, disk.unreadable = None, False
    record.refresh(session)

    assert session[Note].all() == (Note("kept"),)


def test_interrupt_leaves_nothing_half_written(
    record: Record, disk: Disk, entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control-C can come anywhere; the next call must not continue the interrupted one's transaction."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wink.record._ledger.write_entry", interrupt)
        with pytest.raises(KeyboardInterrupt):
            record.commit(entry())
    disk.commit_raises = "interrupted"
    with pytest.raises(KeyboardInterrupt):
        record.commit(entry())
    disk.commit_raises = None

    record.commit(entry())

    assert [row.transaction_id for row in record.calls()] == ["tx-4", "tx-1"]
