"""The long texts of calls are kept once each and compressed, and nobody who reads them can tell."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.record.killing import killed_at

import wink.record._texts
from wink.errors import RecordCorrupt
from wink.record import CallFilter, Record
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]

LINES = "".join(
    f"{number}\tdef function_{number}(value: int) -> int: return {number * 7919}\n" for number in range(400)
)


def used(state: Path) -> int:
    """How many bytes of pages are in use."""
    connection = sqlite3.connect(state / "record.db")
    free, pages, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count", "page_size")
    )
    connection.close()
    return (pages - free) * size


def rows(state: Path, table: str) -> int:
    """How many there are in a table."""
    connection = sqlite3.connect(state / "record.db")
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return count


def test_a_text_that_was_read_twice_is_there_once(record: Record, state: Path, entry: MakeEntry) -> None:
    """An agent reads the same files again and again: that was most of a record of 158 MB."""
    for _ in range(200):
        record.commit(entry(rendered=LINES))
    before = used(state)

    record.texts.pack(leave=0)

    assert used(state) < before / 8
    assert {call.rendered for call in record.calls()} == {LINES}
    assert rows(state, "texts") == 1


def test_versions_of_one_text_take_little_more_than_one(record: Record, state: Path, entry: MakeEntry) -> None:
    """Between two reads of a file an agent has changed a line of it."""
    texts = [LINES.replace(f"function_{number}(", f"renamed_{number}(") for number in range(200)]
    for text in texts:
        record.commit(entry(rendered=text))
    before = used(state)

    record.texts.pack(leave=0)

    assert used(state) < before / 8
    assert [call.rendered for call in record.calls()][::-1] == texts


def test_arguments_and_replies_of_any_kind_come_back_as_they_were(record: Record, entry: MakeEntry) -> None:
    """Names and output may hold lone surrogates, and NUL bytes are text, too."""
    given = [
        entry(arguments=f'{{"content": "{"é" * 300}"}}', rendered="\udcff" * 300),
        entry(arguments="{}", rendered=f"{'a' * 200}\0{'b' * 200}"),
        entry(rendered=""),
        entry(rendered="short"),
    ]
    for one in given:
        record.commit(one)

    assert record.texts.pack(leave=0) == 4

    found = record.calls()[::-1]
    assert [(call.arguments, call.rendered) for call in found] == [(one.arguments, one.rendered) for one in given]
    assert record.call(2) == found[1]


def test_the_last_calls_are_left_as_they_are(record: Record, entry: MakeEntry) -> None:
    """They are asked for the most, by whoever watches."""
    for _ in range(20):
        record.commit(entry(rendered=LINES))

    assert (record.texts.waiting(), record.texts.pack()) == (20, 4)
    assert (record.texts.waiting(), record.texts.pack()) == (16, 0)


def test_what_was_moved_is_found_by_what_is_in_it(record: Record, entry: MakeEntry) -> None:
    """The page and `wink events` look for text in calls, wherever it is kept."""
    record.commit(entry(rendered=LINES + "needle in a reply"))
    record.commit(entry(arguments='{"content": "' + "x" * 300 + ' needle in arguments"}'))
    record.commit(entry(rendered="100% needle"))
    before = [record.queries.page(CallFilter(text=text)) for text in ("needle", "NEEDLE in", "0% n", "%", "nowhere")]

    record.texts.pack(leave=0)

    assert [len(found) for found in before] == [3, 2, 1, 1, 0]
    assert [
        record.queries.page(CallFilter(text=text)) for text in ("needle", "NEEDLE in", "0% n", "%", "nowhere")
    ] == before
    assert record.queries.count(CallFilter(text="needle")) == 3
    assert [call.rendered for call in record.queries.page(brief=True)] == ["", "", ""]


def test_a_run_that_goes_on_is_given_the_reply_of_a_call_that_was_moved(record: Record, entry: MakeEntry) -> None:
    """A run that was stopped long ago must not execute again what was executed."""
    record.commit(entry(run="r1", call_id="c", rendered=LINES))

    record.texts.pack(leave=0)

    assert record.runs.executed("r1", "c", 0) == LINES


def test_damaged_texts_are_told_in_one_error(record: Record, state: Path, entry: MakeEntry) -> None:
    """What cannot be read must not pass for an empty reply, or for nothing to take back."""
    record.commit(entry(rendered=LINES))
    record.texts.pack(leave=0)
    record.close()
    connection = sqlite3.connect(state / "record.db")
    connection.execute("UPDATE text_blocks SET content = zeroblob(100)")
    connection.commit()
    connection.close()

    opened = Record(str(state))
    with pytest.raises(RecordCorrupt, match="the text of a call"):
        opened.calls()
    opened.close()


def test_a_block_that_claims_to_be_huge_is_not_unpacked(record: Record, state: Path, entry: MakeEntry) -> None:
    """A few kilobytes could fill the memory."""
    from wink.record._texts import MOST, compressed, unpacked

    bomb = compressed(bytes(MOST + 1))

    assert len(bomb) < 100_000
    with pytest.raises(ValueError, match="not whole"):
        unpacked(bomb)


def test_packing_may_be_killed_at_any_step(tmp_path: Path, entry: MakeEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs beside calls, in processes that end when they like: no text is lost, and the next one goes on."""
    monkeypatch.setattr(wink.record._texts, "_MOVED_AT_ONCE", 2)
    texts = [LINES.replace("value", f"value_{number}") for number in range(5)]
    at, was_killed = 0, True
    while was_killed:
        at += 1
        state = tmp_path / f"at{at}"
        record = Record(str(state))
        for text in texts:
            record.commit(entry(rendered=text, transaction_id=f"{at}-{text[:40]}"))
        record.close()

        was_killed = killed_at(at, state, lambda record: record.texts.pack(leave=0))

        record = Record(str(state))
        assert [call.rendered for call in record.calls()][::-1] == texts
        record.texts.pack(leave=0)
        assert [call.rendered for call in record.calls()][::-1] == texts
        record.close()
        left = sqlite3.connect(state / "record.db")
        assert left.execute("SELECT count(*) FROM calls WHERE length(rendered) > 0").fetchone() == (0,)
        assert left.execute("SELECT count(*) FROM texts").fetchone() == (5,)
        left.close()
    assert at > 20
