"""Records that earlier versions wrote are read, and get what they lack."""

from __future__ import annotations

import gzip
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from wink.limits import TokenUsage
from wink.record import ApprovalRow, Record
from wink.record._schema import INDEXES, TABLES, VERSION
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]

SINCE_2 = ("folds", "folded", "full_checkpoints")
SINCE_3 = ("approvals", "started", "runs", "run_turns")
SINCE_4 = ("prompts", "run_prompts", "events")
COLUMNS = {
    "calls": {"run": 3, "approval": 3, "error": 4, "plugin": 5},
    "changes": {"before_content": 4},
    "runs": {"turns": 4, "input_tokens": 4, "output_tokens": 4, "cached_tokens": 4},
}
STORED = Path(__file__).with_name("format-3.db.gz")
"""What wink wrote when the format was 3: four calls, one of them denied and one undone, a run that waits, a checkpoint."""


def older(state: Path, version: int, entry: CommitEntry) -> None:
    """Make a record with one call, and take away what came after `version`."""
    record = Record(str(state))
    record.commit(entry)
    record.close()
    connection = sqlite3.connect(state / "record.db", isolation_level=None)
    for table, columns in COLUMNS.items():
        for column, since in columns.items():
            if version < since:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    for since, names in {2: SINCE_2, 3: SINCE_3, 4: SINCE_4}.items():
        for name in names if version < since else ():
            connection.execute(f"DROP TABLE {name}")
    if version < 3:  # of decisions there were three parts
        connection.execute("""UPDATE calls SET decisions = '[["rbw",true,null],["order",false,"plan first"]]'""")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    connection.close()


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_an_earlier_record_is_read_and_written(tmp_path: Path, entry: MakeEntry, version: int) -> None:
    """Its calls are there with their decisions, and what is new works in it."""
    older(tmp_path, version, entry())

    record = Record(str(tmp_path))
    record.commit(entry(transaction_id="second", run="r1"))
    asked = record.approvals.ask(ApprovalRow(0, "s", "", "c", "tool", "workspace", "{}", "[]", "{}", "f"))

    assert [call.transaction_id for call in record.calls()] == ["second", "tx-1"]
    if version < 3:
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


@pytest.mark.parametrize("version", [1, 2, 3])
def test_where_nothing_can_be_written_an_earlier_format_is_read_all_the_same(
    tmp_path: Path, entry: MakeEntry, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking at a workspace on a medium that cannot be written to must not need an upgrade of it."""
    older(tmp_path, version, entry())
    before = (tmp_path / "record.db").read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)

    record = Record(str(tmp_path))

    assert len(record.calls()) == 1
    assert (record.approvals.rows(), record.approvals.find(1), record.runs.rows()) == ((), None, ())
    assert record.runs.executed("r1", "c", 0) is None
    assert len(record.queries.stream()) == 1
    record.close()
    assert (tmp_path / "record.db").read_bytes() == before


def test_a_stored_record_of_format_3_is_migrated_with_all_that_is_in_it(tmp_path: Path) -> None:
    """What last month's wink wrote is worth as much as what today's does."""
    (tmp_path / "record.db").write_bytes(gzip.decompress(STORED.read_bytes()))

    record = Record(str(tmp_path))
    calls, (run,), (asked,) = record.calls(), record.runs.rows(), record.approvals.rows()

    assert [(call.tool, call.outcome) for call in calls] == [
        ("undo", "committed"),
        ("write_file", "denied"),
        ("write_file", "committed"),
        ("read_file", "committed"),
    ]
    assert record.undone() == {calls[2].transaction}
    assert [change.path for change in calls[2].changes] == ["a.txt"]
    assert (run.state, run.usage, len(record.runs.turns(run.number))) == ("suspended", TokenUsage(), 1)
    assert (asked.state, asked.tool) == ("pending", "write_file")
    assert [checkpoint.name for checkpoint in record.checkpoints()] == ["before"]
    assert {call.position for call in calls} == {place.call for place, _ in record.queries.stream()}
    record.runs.turned(run.number, 2, "{}", TokenUsage(7, 5, 3))
    assert record.runs.rows()[0].usage == TokenUsage(7, 5, 3)
    record.close()
    connection = sqlite3.connect(tmp_path / "record.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
