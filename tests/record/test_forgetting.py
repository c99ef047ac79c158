"""The oldest calls leave the record with all that belongs to them, and never what somebody still needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.record.killing import killed_at
from tests.record.test_texts import LINES, rows

import wink.record._forgetting
import wink.record._texts
from wink.record import Record
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that tests need few calls: three stay whatever the bounds."""
    monkeypatch.setattr(
        wink.record._forgetting, "_FREE", wink.record._forgetting._FREE.replace("OFFSET 999", "OFFSET 2")
    )
    monkeypatch.setattr(wink.record._forgetting, "_AT_ONCE", 2)


def fill(record: Record, entry: MakeEntry, count: int, **different: object) -> None:
    for number in range(count):
        text = LINES.replace("value", f"value_{number}")
        record.commit(entry(rendered=text, transaction_id=f"tx{number}", **different))


def test_the_oldest_calls_leave_with_their_texts(
    record: Record, state: Path, entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of them stays behind that would add up; the others are as they were."""
    monkeypatch.setattr(wink.record._texts, "EVERY", 4)
    fill(record, entry, 20)
    record.texts.pack(leave=0)
    before = record.calls()

    assert record.forgetting.forget(15) == 15

    assert record.calls() == before[:5]
    assert [rows(state, table) for table in ("calls", "transactions", "texts")] == [5, 5, 5]
    assert rows(state, "text_blocks") == 2
    assert record.call(3) is None
    record.commit(entry(transaction_id="next"))
    assert record.calls()[0].position == 21


def test_the_last_calls_stay_whatever_the_bounds(record: Record, entry: MakeEntry) -> None:
    """Numbers are never given twice, and a person wants to see what was done last."""
    fill(record, entry, 10)

    assert record.forgetting.forget(1 << 40) == 7
    assert [call.position for call in record.calls()] == [10, 9, 8]
    assert record.forgetting.forget(1 << 40) == 0


def test_what_a_checkpoint_needs_stays(record: Record, entry: MakeEntry) -> None:
    """Coming back to it takes back all that was done since, however long ago that was."""
    fill(record, entry, 4)
    record.checkpoint("named")
    fill(record, entry, 10)

    assert record.forgetting.forget(12) == 4
    assert len(record.past(5)) == 10


def test_what_a_run_may_go_on_with_stays(record: Record, entry: MakeEntry) -> None:
    """It would execute again what it had executed."""
    fill(record, entry, 4)
    run = record.runs.begin("default", "{}")
    record.runs.turned(run, 1, "{}")
    record.commit(entry(run="r1", call_id="asked", rendered="done"))
    fill(record, entry, 10)

    record.forgetting.forget(12)

    assert record.runs.executed("r1", "asked", 4) == "done"
    record.runs.set(run, "ended")
    assert record.forgetting.forget(12) == 8


def test_texts_that_later_calls_share_stay(record: Record, state: Path, entry: MakeEntry) -> None:
    """A file that never changes is stored with its first read, which may be long gone."""
    for number in range(12):
        shared = LINES if number % 3 == 0 else LINES.replace("value", f"value_{number}")
        record.commit(entry(rendered=shared, transaction_id=f"tx{number}"))
    record.texts.pack(leave=0)
    fill(record, entry, 6)
    record.texts.pack(leave=0)
    before = record.calls()

    record.forgetting.forget(11)

    assert record.calls() == before[:7]
    assert {call.position: call.rendered for call in record.calls()}[12] != ""


def test_blocks_of_which_little_is_left_are_put_together(record: Record, state: Path, entry: MakeEntry) -> None:
    """One text that is still needed must not keep megabytes of others."""
    for number in range(0, 40, 10):
        record.commit(entry(rendered=LINES.replace("value", f"kept_{number}")))
        for inner in range(9):
            record.commit(entry(rendered=LINES.replace("value", f"gone_{number + inner}")))
        record.texts.pack(leave=0)
    for number in range(0, 40, 10):
        record.commit(entry(rendered=LINES.replace("value", f"kept_{number}")))
    record.texts.pack(leave=0)
    assert (rows(state, "text_blocks"), rows(state, "texts")) == (4, 40)
    before = record.calls()

    record.forgetting.forget(40)

    assert record.calls() == before[:4]
    assert (rows(state, "text_blocks"), rows(state, "texts")) == (2, 13)


def test_what_is_freed_goes_back_to_the_disk(record: Record, state: Path, entry: MakeEntry) -> None:
    """Pages that are free inside of the database do not help who looks at the disk."""
    fill(record, entry, 300)
    record.close()
    before = (state / "record.db").stat().st_size
    opened = Record(str(state))
    opened.forgetting.forget(290)
    opened.forgetting.compact()
    opened.close()

    assert before > 7 << 20
    assert (state / "record.db").stat().st_size < 1 << 20


def test_forgetting_may_be_killed_at_any_step(tmp_path: Path, entry: MakeEntry) -> None:
    """What should stay is there after each, and the next one ends what was begun."""
    at, was_killed = 0, True
    while was_killed:
        at += 1
        state = tmp_path / f"at{at}"
        record = Record(str(state))
        fill(record, entry, 10)
        record.texts.pack(leave=5)
        record.texts.pack(leave=0)
        kept = record.calls()[:3]
        record.close()

        was_killed = killed_at(at, state, _forget)

        record = Record(str(state))
        assert record.calls()[:3] == kept
        positions = [call.position for call in record.calls()]
        assert positions == list(range(10, 10 - len(positions), -1))
        record.forgetting.forget(8)
        record.forgetting.compact(always=True)
        assert record.calls() == kept
        record.close()
        assert [rows(state, table) for table in ("calls", "transactions", "text_blocks")] == [3, 3, 1]
    assert at > 15


def _forget(record: Record) -> None:
    record.forgetting.forget(8)
    record.forgetting.compact(always=True)
