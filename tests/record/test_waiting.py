"""What calls write to slices waits in their rows, and is read as if it did not."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.record.killing import killed_at
from tests.record.test_slices import OPTIONS, deltas_of, keyed, unkeyed, usual_entry

from wink.record import Record
from wink.session import SliceDelta
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]
WAITING = "SELECT count(*) FROM calls WHERE written IS NOT NULL"


def notes(op: Any, *texts: str, keys: tuple[str, ...] | None = None) -> SliceDelta:
    return SliceDelta("m:Note", op, texts, keys, "state")


def read(record: Record) -> Any:
    return record.loader("default")("m:Note")


def three(record: Record, entry: MakeEntry) -> None:
    """Three calls, of which each writes to what the one before it has left."""
    record.commit(entry(deltas=(notes("replace", "a", "b"),)))
    record.commit(entry(deltas=(notes("upsert", "c", keys=("k",)), notes("extend", "d"))))
    record.commit(entry(deltas=(notes("upsert", "e", keys=("k",)),)))


THREE = ((None, '"a"'), (None, '"b"'), ("k", '"e"'), (None, '"d"'))


@given(st.lists(unkeyed | keyed, min_size=1, max_size=6), st.integers(0, 6))
@settings(**OPTIONS)
def test_a_slice_reads_the_same_before_and_after_it_is_applied(batches: list[Any], applied: int) -> None:
    """Whoever reads cannot tell how far others have come."""
    with tempfile.TemporaryDirectory() as directory:
        record = Record(directory)
        load = record.loader("default")
        for number, (op, batch, with_keys) in enumerate(batches):
            if number == applied:
                record.texts.pack()
            record.commit(usual_entry(transaction_id=f"tx-{number}", deltas=(deltas_of(op, batch, with_keys),)))
        kind = deltas_of("extend", [], False).type_name
        before = load(kind), [(one.type, one.items) for one in record.queries.slices("default")]
        latest = record.queries.latest("Item")
        record.texts.pack()
        assert record._ledger.ask(WAITING) == [(0,)]
        assert (load(kind), [(one.type, one.items) for one in record.queries.slices("default")]) == before
        assert record.queries.latest("Item") == latest
        record.close()


def test_what_waits_is_read_where_nothing_can_be_written(
    record: Record, entry: MakeEntry, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A medium that is full, or cannot be written to, has the whole of a session all the same."""
    three(record, entry)
    record.close()
    monkeypatch.setattr(os, "access", lambda *_: False)

    copy = Record(str(state))

    assert read(copy) == THREE
    assert [past.deltas for past in copy.past()] == [1, 2, 1]
    (number,) = [one.number for one in copy.queries.slices("default")]
    assert copy.queries.items(number, 2) == THREE[:1:-1]
    copy.close()


def test_applying_may_be_killed_at_any_step(tmp_path: Path, entry: MakeEntry) -> None:
    """Nothing is applied twice, and nothing is lost."""
    for step in range(1, 50):
        state = tmp_path / str(step)
        record = Record(str(state))
        three(record, entry)
        record.close()
        was_killed = killed_at(step, state, lambda record: record.texts.pack())
        record = Record(str(state))
        assert read(record) == THREE
        record.check_reverts(record.past()[:0:-1])
        assert (read(record), record._ledger.ask(WAITING)) == (THREE, [(0,)])
        record.close()
        if not was_killed:
            assert step > 5
            return
    raise AssertionError("it never came to its end")


def test_others_may_apply_what_waits(record: Record, entry: MakeEntry, state: Path) -> None:
    """It is one record, whoever has written to it."""
    three(record, entry)
    other = Record(str(state))
    assert [past.inverse is not None for past in other.past()] == [True] * 3

    record.commit(entry(deltas=(notes("upsert", "f", keys=("k",)),)))

    assert read(record) == read(other) == (*THREE[:2], ("k", '"f"'), THREE[3])
    other.texts.pack()
    assert read(record) == read(other) == (*THREE[:2], ("k", '"f"'), THREE[3])
    other.close()


def test_a_call_that_waits_can_be_taken_back(record: Record, entry: MakeEntry) -> None:
    """Also where it was looked up before anybody had applied it."""
    record.commit(entry(deltas=(notes("extend", "a"),)))
    record.commit(entry(deltas=(notes("extend", "b"),)))
    (_, last) = record.past()

    record.revert(entry(tool="undo"), [last._replace(inverse=None)])

    assert read(record) == ((None, '"a"'),)


def test_much_that_a_call_writes_does_not_wait(record: Record, entry: MakeEntry) -> None:
    """Whoever reads a slice has to go through what waits."""
    record.commit(entry(deltas=(notes("extend", "x" * (1 << 21)),)))
    assert record._ledger.ask(WAITING) == [(0,)]
    assert record._ledger.ask("SELECT count(*) FROM slice_items") == [(1,)]


def test_no_call_applies_what_hundreds_before_it_wrote(record: Record, entry: MakeEntry) -> None:
    """Each takes its share: a call that did the work of all took as long as all of them together."""
    waiting = [0]
    for number in range(700):
        record.commit(entry(deltas=(notes("extend", str(number)),)))
        waiting += record._ledger.ask(WAITING)[0]

    assert max(before - after for before, after in pairwise(waiting)) in range(1, 33)
    assert max(waiting) < 400
    assert read(record) == tuple((None, f'"{number}"') for number in range(700))


@pytest.mark.parametrize("changes", [0, 1])
def test_a_call_takes_two_rows(state: Path, entry: MakeEntry, changes: int) -> None:
    """Each further statement costs a call some microseconds, so they are counted."""
    said: list[str] = []

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = sqlite3.connect(*args, **options)
        connection.set_trace_callback(said.append)
        return connection

    record = Record(str(state), connect=connect)
    deltas = (notes("replace", "a"), notes("upsert", "b", keys=("k",)))
    record.commit(entry(deltas=deltas))
    said.clear()
    record.commit(entry(deltas=deltas, changes=(changed(),) * changes))
    assert [one.split("(")[0].split() for one in said] == [
        ["BEGIN", "IMMEDIATE"],
        ["INSERT", "INTO", "transactions"],
        ["INSERT", "INTO", "calls"],
        ["COMMIT"],
    ]
    record.close()


def changed() -> Any:
    from wink.filesystem import FileChange, FileVersion

    return FileChange("a.txt", None, FileVersion("file", 1, 0o644))
