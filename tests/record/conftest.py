"""A record in a fresh directory, and calls to put into it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wink.record import Record
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Where a record lies or will lie."""
    return tmp_path / ".wink"


@pytest.fixture
def record(state: Path) -> Iterator[Record]:
    """A record that nothing has been put into."""
    record = Record(str(state))
    yield record
    record.close()


@pytest.fixture
def entry() -> MakeEntry:
    """Makes entries of calls, alike but for their ids and for what is said otherwise."""
    numbers = itertools.count(1)

    def make(**different: object) -> CommitEntry:
        number = next(numbers)
        usual = CommitEntry(
            transaction_id=f"tx-{number}",
            session="default",
            call_id=f"call-{number}",
            tool="read_file",
            prompt="demo",
            arguments='{"path":"a.txt"}',
            outcome="committed",
            rendered="the text of a.txt",
            started_at=datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC) + timedelta(seconds=number),
            duration=timedelta(microseconds=987),
            decisions=(),
            deltas=(),
            changes=(),
        )
        return replace(usual, **different)

    return make
