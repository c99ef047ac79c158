"""Records that earlier versions wrote are read, and get what they lack."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.record.killing import killed_at

from wink.errors import CommitFailed, RecordCorrupt
from wink.limits import TokenUsage
from wink.record import ApprovalRow, CallFilter, Record
from wink.record._schema import INDEXES, TABLES, VERSION
from wink.session import SliceDelta
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]

SINCE_2 = ("folds", "folded", "full_checkpoints")
SINCE_3 = ("approvals", "started", "runs", "run_turns")
SINCE_4 = ("prompts", "run_prompts", "events")
SINCE_5 = ("texts", "text_blocks")
SINCE_7 = ("said",)
MOVED = ("arguments_text", "rendered_text", "inverse_text")
COLUMNS = {
    "calls": {"run": 3, "approval": 3, "error": 4, "plugin": 5} | dict.fromkeys(MOVED, 5) | {"written": 6},
    "transactions": {"changed": 6},
    "runs": {"turns": 4, "input_tokens": 4, "output_tokens": 4, "cached_tokens": 4},
}
CHANGES = """tx INTEGER NOT NULL, n INTEGER NOT NULL, path TEXT NOT NULL, moved_from TEXT, before_kind TEXT,
    before_size INTEGER, before_mode INTEGER, before_target TEXT, before_inode INTEGER, before_time INTEGER, preimage TEXT,
    after_kind TEXT, after_size INTEGER, after_mode INTEGER, after_target TEXT, after_inode INTEGER, after_time INTEGER,
    after_digest TEXT, content BLOB, {}PRIMARY KEY (tx, n)"""
"""The table that had a row for each change before format 6."""
STORED_5 = Path(__file__).with_name("format-5.db.gz")
"""What wink wrote when the format was 5: calls that wrote, failed and moved, a checkpoint, and one call that was undone."""
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
    connection.execute("DELETE FROM meta WHERE key = 'applied'")
    before_content = "before_content BLOB, " if version >= 4 else ""
    connection.execute(f"CREATE TABLE changes ({CHANGES.format(before_content)}) STRICT, WITHOUT ROWID")
    for since, names in {2: SINCE_2, 3: SINCE_3, 4: SINCE_4, 5: SINCE_5, 7: SINCE_7}.items():
        for name in names if version < since else ():
            connection.execute(f"DROP TABLE {name}")
    if version < 3:  # of decisions there were three parts
        connection.execute("""UPDATE calls SET decisions = '[["rbw",true,null],["order",false,"plan first"]]'""")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    connection.close()


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
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


def test_a_stored_record_of_format_5_is_migrated_with_all_its_changes(tmp_path: Path) -> None:
    """Paths, what was found and left, what a call that was rolled back had written, and what stands."""
    (tmp_path / "record.db").write_bytes(gzip.decompress(STORED_5.read_bytes()))

    record = Record(str(tmp_path))

    check_stored_5(record)
    assert [call.position for call in record.queries.page(CallFilter(path="d/*.txt"))] == [4, 2]
    assert [position for position, _ in record.queries.changes_around(["d/b.txt"], 1)] == [2, 2, 4, 4]
    record.close()
    connection = sqlite3.connect(tmp_path / "record.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'changes'").fetchone() == (0,)
    connection.close()


def check_stored_5(record: Record) -> None:
    """Look at what the stored record says of changes."""
    made = {call.position: call for call in record.calls()}
    assert [(call.tool, call.word, [change.path for change in call.changes]) for _, call in sorted(made.items())] == [
        ("write", "ok", ["a.txt"]),
        ("write", "ok", ["d", "d/b.txt"]),
        ("fail", "rolled back", ["a.txt"]),
        ("move", "ok", ["d/b.txt", "d/c.txt"]),
        ("write", "rolled back", []),
        ("write", "undone", ["a.txt"]),
        ("undo", "ok", ["a.txt"]),
    ]
    (tried,), (_, moved), (last,) = made[3].changes, made[4].changes, made[6].changes
    assert tried.after is not None
    assert tried.after.content() == b"tried"
    assert (moved.moved_from, moved.before) == ("d/b.txt", None)
    assert last.before is not None
    assert last.after is not None
    assert (last.before.size, last.before.mode, last.after.size) == (5, 0o644, 4)
    assert last.before.kept is not None
    assert last.before.kept.staged == f"{last_id(record)}.1"


def last_id(record: Record) -> str:
    """The id of the call that was undone."""
    return next(call.transaction_id for call in record.calls() if call.undone)


def test_a_migration_that_is_killed_at_any_step_is_begun_again(tmp_path: Path) -> None:
    """The record is of the one format or of the other, and says the same."""
    for step in range(1, 100):
        state = tmp_path / str(step)
        state.mkdir()
        (state / "record.db").write_bytes(gzip.decompress(STORED_5.read_bytes()))
        was_killed = killed_at(step, state, Record.calls)
        record = Record(str(state))
        check_stored_5(record)
        record.close()
        if not was_killed:
            assert step > 5
            return
    raise AssertionError("it never came to its end")


def test_nothing_is_migrated_where_a_trigger_waits_for_it(tmp_path: Path) -> None:
    """A record comes with a workspace from anywhere, and a trigger of its would run in our transaction."""
    (tmp_path / "record.db").write_bytes(gzip.decompress(STORED_5.read_bytes()))
    connection = sqlite3.connect(tmp_path / "record.db")
    connection.execute("CREATE TRIGGER t AFTER UPDATE ON transactions BEGIN DELETE FROM calls; END")
    connection.close()

    record = Record(str(tmp_path))
    with pytest.raises(RecordCorrupt, match="not those of a record"):
        record.calls()
    record.close()
    connection = sqlite3.connect(tmp_path / "record.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (5,)
    connection.close()


@pytest.mark.parametrize(
    "value",
    [
        "null",
        "[1]",
        "[[]]",
        "{",
        "[" * 100_000,
        '[["a.txt"]]',
        json.dumps([["a"], [None] * 16]),
        json.dumps([[], [None] * 17]),
        json.dumps([[1], [None] * 17]),
        json.dumps([["a"], [None, "file", "large", *[None] * 14]]),
        json.dumps([["a"], [None, "pipe", *[None] * 15]]),
        json.dumps([["a"], [*[None] * 8, "file", 1, 1, None, 1, 1, None, "no hex", None]]),
    ],
)
def test_a_value_that_wink_has_not_written_is_refused_in_a_line(tmp_path: Path, entry: MakeEntry, value: str) -> None:
    """Whoever brings a workspace can have written anything into its record."""
    record = Record(str(tmp_path))
    record.commit(entry(deltas=(SliceDelta("m:T", "extend", ({},), None, "state"),)))
    record.close()
    connection = sqlite3.connect(tmp_path / "record.db")
    connection.execute("UPDATE transactions SET changes = 1, changed = ?", (value,))
    connection.execute("UPDATE calls SET written = ?", (value,))
    connection.commit()
    connection.close()

    record = Record(str(tmp_path))
    with pytest.raises(RecordCorrupt, match="what a call did in it"):
        record.calls()
    with pytest.raises(RecordCorrupt, match="what a call did in it"):
        record.loader("default")("m:T")
    with pytest.raises(CommitFailed, match="what a call did in it"):
        record.texts.pack()
    record.close()
