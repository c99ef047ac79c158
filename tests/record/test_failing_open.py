"""What SQLite does not say when a disk fails while it opens the record."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wink.record import Record
from wink.transactions import CommitEntry


def test_a_record_that_was_opened_for_reading_only_by_mistake_is_opened_again(
    state: Path, record: Record, entry: Callable[..., CommitEntry]
) -> None:
    """After an error SQLite tries to open a file for reading only, and then refuses every write for good."""
    record.commit(entry(tool="earlier"))
    opened: list[str] = []

    def connect(database: str, **options: Any) -> sqlite3.Connection:
        opened.append(database)
        return sqlite3.connect(database if len(opened) > 1 else database.replace("mode=rwc", "mode=ro"), **options)

    other = Record(str(state), connect=connect)
    other.commit(entry(tool="later"))

    assert [row.tool for row in other.calls()] == ["later", "earlier"]
    assert len(opened) == 2
    other.close()
