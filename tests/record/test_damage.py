"""What is not a record of ours is named, and kept as it is."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wink.errors import CommitFailed, RecordCorrupt, RecordError, RecordTooNew, RecordUnavailable
from wink.record import Record
from wink.record._database import Database
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]


def newer(path: Path) -> None:
    _make(path, "PRAGMA user_version = 99")


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


def garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 500)


def with_trigger(path: Path) -> None:
    _make(path, "CREATE TRIGGER t AFTER INSERT ON calls BEGIN DELETE FROM calls; END")


def with_another_table(path: Path) -> None:
    _make(path, "CREATE TABLE more (x)")


def linked(path: Path) -> None:
    garbage(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def directory(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def _make(path: Path, sql: str) -> None:
    record = Record(str(path.parent))
    record._database.writable()
    record.close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(sql)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def content(state: Path) -> dict[str, bytes]:
    """Everything beneath, but for what SQLite makes to look into a database."""
    files = [path for path in state.iterdir() if path.is_file() and path.name != ".gitignore"]
    return {path.name: path.read_bytes() for path in files if path.suffix not in {".db-shm", ".db-wal"}}


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (newer, RecordTooNew, "upgrade wink"),
        (foreign, RecordCorrupt, "another program's database"),
        (garbage, RecordCorrupt, "not a database"),
        (with_trigger, RecordCorrupt, "tables are not those of a record"),
        (with_another_table, RecordCorrupt, "tables are not those of a record"),
        (linked, RecordCorrupt, "not a plain file"),
        (directory, RecordCorrupt, "not a plain file"),
        (pipe, RecordCorrupt, "not a plain file"),
    ],
)
def test_what_is_no_record_is_refused_and_kept(
    state: Path,
    record: Record,
    entry: MakeEntry,
    make: Callable[[Path], None],
    error: type[RecordError],
    says: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It may be all that somebody has of a week's work; nothing is worth writing over it."""
    state.mkdir()
    make(state / "record.db")
    before = content(state)

    with pytest.raises(error, match=says):
        record.check()
    with pytest.raises(error, match=says):
        record.calls()
    with pytest.raises(CommitFailed, match=says) as caught:
        record.commit(entry())
    record.attempt(entry())

    assert isinstance(caught.value.__cause__, error)
    assert "was not recorded" in caplog.text
    assert content(state) == before


def test_check_passes_a_record_and_its_absence(record: Record, entry: MakeEntry) -> None:
    """Both are how a workspace usually looks."""
    record.check()
    record.commit(entry())
    record.check()


def test_creation_that_was_killed_is_begun_again(state: Path, record: Record, entry: MakeEntry) -> None:
    """SQLite makes an empty file first."""
    state.mkdir()
    (state / "record.db").touch()
    record.check()

    record.commit(entry())

    assert len(record.calls()) == 1


def test_damage_further_in_is_named_when_it_is_met(state: Path, record: Record, entry: MakeEntry) -> None:
    """The head of a file says little about the rest, and reading all of it would take too long."""
    for _ in range(50):
        record.commit(entry(rendered="x" * 4000))
    record.close()
    path = state / "record.db"
    whole = path.read_bytes()
    path.write_bytes(whole[: 4096 * 12] + b"\xff" * (len(whole) - 4096 * 12))

    damaged = Record(str(state))
    with pytest.raises(RecordError):
        damaged.calls()
    damaged.close()


def test_record_that_cannot_be_opened_is_unavailable(state: Path, entry: MakeEntry) -> None:
    """It is not damaged: whoever may open it will find it whole."""

    def forbidden(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    state.mkdir()
    (state / "record.db").touch()

    with pytest.raises(RecordUnavailable, match="unable to open"):
        Record(str(state), connect=forbidden).check()


@pytest.mark.parametrize(("code", "room", "told"), [(13, 9, True), (10 | 18 << 8, 0, True), (10, 9, False)])
def test_a_full_disk_is_called_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, room: int, told: bool
) -> None:
    """SQLite calls it a disk I/O error when its own small files find no room."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code

    def statvfs(path: str) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=room if path == str(tmp_path) else 0)

    def opened(connection: sqlite3.Connection, is_same: bool) -> None:
        """Nothing is opened here."""

    monkeypatch.setattr(os, "statvfs", statvfs)
    database = Database(str(tmp_path), on_open=opened)

    assert ("the disk is full" in str(database.error(error))) == told


def test_what_was_read_on_a_full_disk_can_be_written_to_when_there_is_room_again(tmp_path: Path) -> None:
    """The same process goes on; nobody has to begin again."""

    def opened(connection: sqlite3.Connection, is_same: bool) -> None:
        """Nobody wants to know."""

    made = Database(str(tmp_path), on_open=opened)
    made.writable()
    made.abandon()
    failures = [13]

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        if failures:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = failures.pop()
            raise error
        return sqlite3.connect(*arguments, **options)

    database = Database(str(tmp_path), on_open=opened, connect=connect)
    assert database.existing() is not None

    database.writable().execute("INSERT INTO meta (key, value) VALUES ('room', 'again')")

    database.abandon()
