"""Calls are found page by page, and what happens is followed from any place on."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from wink.filesystem import FileChange, FileVersion
from wink.limits import TokenUsage
from wink.record import ApprovalRow, CallFilter, CallView, Noted, Place, Record
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]
MADE = FileChange("src/x_1.py", None, FileVersion("file", 5, 0o644))


@pytest.fixture
def filled(record: Record, entry: MakeEntry) -> Record:
    """Forty calls of two sessions and three tools; some changed a file, some did not come about."""
    for number in range(40):
        made = entry(
            session=("one", "two")[number % 2],
            tool=("read_file", "write_file", "grep")[number % 3],
            run="r1" if number % 5 == 0 else "",
            rendered=f"reply {number} of 100%",
            changes=(MADE,) if number % 4 == 0 else (),
        )
        if number % 7 == 3:
            record.attempt(entry(session="one", tool="rm", outcome="denied", error="Boom: no"))
        record.commit(made)
    return record


FILTERS: list[tuple[CallFilter, Callable[[CallView], bool]]] = [
    (CallFilter(), lambda call: True),
    (CallFilter(session="two"), lambda call: call.session == "two"),
    (CallFilter(tool="grep", session="one"), lambda call: (call.tool, call.session) == ("grep", "one")),
    (CallFilter(outcome="denied"), lambda call: call.outcome == "denied"),
    (CallFilter(outcome="ok"), lambda call: call.outcome == "committed"),
    (CallFilter(outcome="undone"), lambda call: False),
    (CallFilter(text="Reply 7 "), lambda call: "reply 7 " in call.rendered),
    (CallFilter(text="100%"), lambda call: "100%" in call.rendered),
    (CallFilter(text="x_1"), lambda call: bool(call.changes)),
    (CallFilter(path="x%1"), lambda call: False),
    (CallFilter(run="r1"), lambda call: call.run == "r1"),
    (CallFilter(changed=True), lambda call: bool(call.changes)),
]


@pytest.mark.parametrize(("wanted", "fits"), FILTERS)
def test_pages_put_together_are_all_calls_that_fit(
    filled: Record, wanted: CallFilter, fits: Callable[[CallView], bool]
) -> None:
    """Whatever the size of a page, nothing is shown twice or left out; upwards and downwards."""
    expected = [call for call in filled.calls() if fits(call)]
    for limit in (1, 3, 100):
        found: list[CallView] = []
        while page := filled.queries.page(wanted, before=found[-1].position if found else None, limit=limit):
            found += page
        assert found == expected
        upwards: list[CallView] = []
        while page := filled.queries.page(wanted, after=upwards[0].position if upwards else 0, limit=limit):
            upwards[:0] = page
        assert upwards == expected
    assert filled.queries.count(wanted) == len(expected)


def test_lists_can_do_without_replies(record: Record, entry: MakeEntry) -> None:
    """A page of fifty calls must not carry fifty files."""
    record.commit(entry(rendered="x" * 5000))

    assert record.queries.page(brief=True)[0].rendered == ""
    assert len(record.queries.page()[0].rendered) == 5000


def test_sessions_and_calls_are_counted(filled: Record) -> None:
    """What filters offer, with how much each would show."""
    one, two = filled.queries.sessions()

    assert (one.name, one.calls, two.name, two.calls) == ("one", 26, "two", 20)
    assert (two.last_call, two.last_at) == (46, filled.calls("two", 1)[0].started_at)
    assert filled.queries.count(CallFilter("two", outcome="ok")) == 20


def test_version_changes_with_whatever_is_stored_by_whomever(record: Record, state: Path, entry: MakeEntry) -> None:
    """It is what a page polls: reading must not change it, and every way of writing must."""
    other = Record(str(state))
    seen = {record.queries.version()}
    for write in (
        lambda: record.commit(entry()),
        lambda: other.commit(entry()),
        lambda: other.runs.begin("s", "{}"),
        lambda: record.checkpoint("here"),
        lambda: other.approvals.ask(ApprovalRow(0, "s", "", "c", "tool", "workspace", "{}", "[]", "{}", "f")),
    ):
        write()
        now = record.queries.version()
        assert now not in seen
        record.calls()
        assert record.queries.version() == now
        seen.add(now)
    other.close()


def test_the_stream_is_the_same_in_whatever_pieces_it_is_read(record: Record, entry: MakeEntry) -> None:
    """Whoever stops anywhere goes on there: nothing twice, nothing missed, calls and the rest in the order they came."""
    choose = random.Random(7)
    told: list[str] = []
    number = record.runs.begin("default", "{}")
    told.append("run-begun")
    for turn in range(60):
        if choose.random() < 0.5:
            record.commit(entry())
            told.append("call")
        else:
            record.runs.turned(number, turn, "{}", TokenUsage(1, 2, 0))
            told.append("run-turn")
    whole = record.queries.stream(limit=1000)

    assert [event.kind if isinstance(event, Noted) else "call" for _, event in whole] == told
    assert record.queries.last_place() == whole[-1][0]
    for limit in (1, 2, 7):
        place, pieces = Place(), []
        while piece := record.queries.stream(place, limit=limit):
            pieces += piece
            place = Place.read(str(piece[-1][0]))
        assert pieces == list(whole)


def test_a_run_tells_what_it_used_and_what_it_was_sent(record: Record) -> None:
    """Also when it has ended, and its turns are dropped."""
    number = record.runs.begin("default", "{}")
    record.runs.prompted(number, "review", "Look at $it", ["read_file"])
    record.runs.prompted(number, "review", "Look at $it", ["read_file"])
    record.runs.prompted(number, "review", "Look at $it", ["read_file", "read_section"])
    record.runs.turned(number, 1, "{}", TokenUsage(100, 20, 60))
    record.runs.turned(number, 2, "{}", TokenUsage(200, 30, 160))
    record.runs.set(number, "ended")

    row = record.runs.find(number)
    assert row is not None
    assert (row.turns, row.usage) == (2, TokenUsage(300, 50, 220))
    assert [(one.number, one.text, one.tools) for one in record.runs.prompts(number)] == [
        (1, "Look at $it", ("read_file",)),
        (2, "Look at $it", ("read_file", "read_section")),
    ]


def test_prompts_of_old_runs_go_with_them(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the largest texts of all."""
    monkeypatch.setattr("wink.record.runs._runs.KEPT", 2)
    for text in ("a", "b", "a", "c"):
        record.runs.prompted(record.runs.begin("default", "{}"), "p", text, [])

    assert [[one.text for one in record.runs.prompts(number)] for number in (1, 2, 3, 4)] == [[], [], ["a"], ["c"]]


def test_a_call_keeps_what_its_exception_said(record: Record, entry: MakeEntry) -> None:
    """The model was not shown it; whoever looks for the reason needs it."""
    record.attempt(entry(outcome="rolled back", error="ValueError: odd", duration=timedelta(0), effects="read"))

    assert (record.calls()[0].error, record.calls()[0].effects) == ("ValueError: odd", "read")
