"""`wink log` over many calls: by the page, and without what it does not show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.workspace.working import call

import wink.cli.past._log
from wink.filesystem import FileChange, FileVersion
from wink.limits import utc_now
from wink.transactions import CommitEntry
from wink.workspace import Workspace

Cli = Callable[..., Done]


def many(place: Path, count: int) -> None:
    with Workspace.open(place) as workspace:
        for number in range(count):
            call(workspace, lambda files, _, number=number: files.write("b.txt", f"{number}"), session=f"s{number % 2}")


def test_all_calls_are_listed_once_over_several_pages(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first page is printed before the second is read."""
    many(place, 12)
    whole, lines = cli("log", "--limit", "100"), cli("log", "--limit", "7").out
    monkeypatch.setattr(wink.cli.past._log, "_PAGE", 5)

    assert cli("log", "--limit", "100") == whole
    assert cli("log", "--limit", "7").out == lines
    assert [row["call"] for row in cli("log", "--json", "--limit", "7").rows] == [f"c{n}" for n in range(12, 5, -1)]
    assert [row["call"] for row in cli("log", "--json", "--session", "s1", "--limit", "9").rows] == [
        "c12", "c10", "c8", "c6", "c4", "c2"
    ]  # fmt: skip


def test_a_list_asks_for_few_rows_and_unpacks_no_reply(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 calls took 81 seconds: there was one question more for each of them."""
    many(place, 50)
    with Workspace.open(place) as workspace:
        asked: list[str] = []
        connection = workspace.record._database.existing()
        assert connection is not None
        connection.set_trace_callback(asked.append)
        rows = workspace.record.queries.page(limit=50, brief=True)
        connection.set_trace_callback(None)

    assert [len(row.changes) for row in rows] == [1] * 50
    assert len(asked) <= 4
    assert not any("rendered_text)" in sql for sql in asked)


def test_the_end_of_the_log_says_that_there_was_more(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to wonder why it begins with c8."""
    forgetting = import_module("wink.record._forgetting")
    monkeypatch.setattr(forgetting, "_FREE", forgetting._FREE.replace("OFFSET 999", "OFFSET 4"))
    many(place, 12)

    assert "5 calls would leave the log" not in cli("gc", "--calls", "0").out
    told = cli("log").out.splitlines()

    assert told[-1] == "calls before c8 are not kept any more"
    assert len(told) == 6
    assert "not kept" not in cli("log", "--limit", "4").out
    for command in (("show", "c3"), ("undo", "c3"), ("diff", "c3")):
        done = cli(*command)
        assert done.status == 2
        assert done.err.startswith("wink: c3 is not kept any more; the oldest call that is kept is c8, ")
    assert [json.loads(line)["call"] for line in cli("log", "--json").out.splitlines()][-1] == "c8"


def test_everybody_who_tells_of_a_call_has_the_same_word(cli: Cli, place: Path, script: Callable[[str], str]) -> None:
    """`run`, `log`, `show`, `events` and the page of `export`; a word that means something else elsewhere misleads."""
    (place / "b.py").write_text("good = 1\n")
    calls = [
        ("read_file", '{ file_path = "a.txt" }'),
        ("write_file", '{ file_path = "b.py", content = "x" }'),
        ("no_such_tool", "{}"),
        ("rename_word", '{ old = "good", new = "no-name = ", files = ["b.py"] }'),
        ("ls", '"not json"'),
        ("write_file", '{ file_path = "c.txt", content = "new" }'),
    ]
    asked = "".join(f'[[turn.call]]\ntool = "{tool}"\narguments = {given}\n' for tool, given in calls)
    turns = script(f'[[turn]]\n{asked}[[turn]]\ntext = "Well."\n')
    ran = cli("run", "Try", "--model", f"scripted:{turns}", "--section", "demo.refactor", "--json").rows
    told = [row["outcome"] for row in ran if row["event"] == "call"]

    assert told == ["ok", "denied", "refused", "rolled back", "refused", "ok"]
    assert [row["outcome"] for row in cli("log", "--json").rows[::-1]] == told
    assert [row["outcome"] for row in cli("events").rows if row["event"] == "call"] == told

    assert cli("call", "write_file", "file_path=d.txt", "content=new", "--session", "other").status == 0
    assert cli("undo", "c6").status == cli("undo", "c7").status == 0
    told = [*told[:-1], "undone", "undone", "ok", "ok"]
    logged = cli("log", "--json").rows[::-1]
    assert [row["outcome"] for row in logged] == told
    assert [row["outcome"] for row in cli("events").rows if row["event"] == "call"][5:] == ["ok"] * 4  # as they ended
    assert [json.loads(cli("show", f"c{n}", "--json").out)["outcome"] for n in range(1, 10)] == told
    for session in ("default", "other"):  # whichever session the undo belongs to
        file = str(place / f"{session}.html")
        assert cli("export", file, "--html", "--session", session).status == 0
        shown = re.findall(r'<span class="second"><span class="word t-[a-z]+">([a-z ]+)</span>', Path(file).read_text())
        assert shown == [row["outcome"] for row in logged if row["session"] == session]


def test_what_a_call_did_not_leave_behind_is_not_listed(cli: Cli, place: Path) -> None:
    """A call that ended the run was rolled back: its paths are in `wink show`, not in the list of what changed."""
    made = FileChange("b.txt", None, FileVersion("file", 4, 0o644))
    with Workspace.open(place) as workspace:
        workspace.record.attempt(
            CommitEntry(
                "t", "default", "call", "work", "demo", "{}", "raised", "", utc_now(), timedelta(0), (), (), (made,)
            )
        )

    (line,) = cli("log").out.splitlines()
    assert (line.split()[2], "b.txt" in line, "b.txt" in cli("show", "c1").out) == ("raised", False, True)


def test_a_call_that_was_rolled_back_inside_of_another_lists_nothing_of_that(cli: Cli, place: Path) -> None:
    """What the call around it changed is that one's."""
    made = FileChange("b.txt", None, FileVersion("file", 4, 0o644))
    with Workspace.open(place) as workspace:
        inner, outer = (
            CommitEntry("t", "default", name, name, "demo", "{}", word, "", utc_now(), timedelta(0), (), (), (made,))
            for name, word in (("inner", "rolled back"), ("outer", "committed"))
        )
        workspace.record.commit(outer, (inner,))

    lines = {line.split()[-1] if "[" not in line else line.split()[-2]: line for line in cli("log").out.splitlines()}
    assert {name: "b.txt" in line for name, line in lines.items()} == {"inner": False, "outer": True}
