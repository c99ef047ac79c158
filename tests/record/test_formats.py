"""Records that earlier versions wrote are read, and get what they lack."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from wink.errors import RecordUnavailable
from wink.record import ApprovalRow, Record
from wink.record._schema import INDEXES, TABLES, VERSION
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]

SINCE_2 = ("folds", "folded", "full_checkpoints")
SINCE_3 = ("approvals", "started", "runs", "run_turns")


def older(state: Path, version: int, entry: CommitEntry) -> None:
    """Make a record with one call, and take away what came after `version`."""
    record = Record(str(state))
    record.commit(entry)
    record.close()
    connection = sqlite3.connect(state / "record.db", isolation_level=None)
    for name in (*SINCE_3, *(SINCE_2 if version < 2 else ())):
        connection.execute(f"DROP TABLE {name}")
    for column in ("run", "approval"):
        connection.execute(f"ALTER TABLE calls DROP COLUMN {column}")
    # What the earlier versions wrote of decisions had three parts.
    connection.execute("""UPDATE calls SET decisions = '[["rbw",true,null],["order",false,"plan first"]]'""")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    connection.close()


@pytest.mark.parametrize("version", [1, 2])
def test_an_earlier_record_is_read_and_written(tmp_path: Path, entry: MakeEntry, version: int) -> None:
    """Its calls are there with their decisions, and what is new works in it."""
    older(tmp_path, version, entry())

    record = Record(str(tmp_path))
    record.commit(entry(transaction_id="second", run="r1"))
    asked = record.approvals.ask(ApprovalRow(0, "s", "", "c", "tool", "workspace", "{}", "[]", "{}", "f"))

    assert [call.transaction_id for call in record.calls()] == ["second", "tx-1"]
    assert record.calls()[1].decisions == (("rbw", True, None, False), ("order", False, "plan first", False))
    assert asked.number == 1
    assert record.runs.begin("s", "{}") == 1
    record.close()
    connection = sqlite3.connect(tmp_path / "record.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE sql IS NOT NULL")} == {
        *TABLES,
        *INDEXES,
    }
    connection.close()


@pytest.mark.parametrize("version", [1, 2])
def test_where_nothing_can_be_written_the_last_format_is_read_as_it_is(
    tmp_path: Path, entry: MakeEntry, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking at a workspace on a medium that cannot be written to must not need an upgrade."""
    older(tmp_path, version, entry())
    monkeypatch.setattr(os, "access", lambda *_: False)

    record = Record(str(tmp_path))
    if version == 1:
        with pytest.raises(RecordUnavailable, match="old format 1"):
            record.calls()
    else:
        assert len(record.calls()) == 1
        assert (record.approvals.rows(), record.approvals.find(1), record.runs.rows()) == ((), None, ())
        assert record.runs.executed("r1", "c", 0) is None
    record.close()
