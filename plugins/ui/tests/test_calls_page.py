"""The list of calls, each call, and what they come to."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from plugins.ui.tests.conftest import Visitor, text_of
from plugins.ui.tests.scene import OWN, Agent, tried, worked
from tests.states import state_of

from wink.adapters import ModelTurn, RecordJournal
from wink.limits import TokenUsage
from wink.transactions import CommitEntry
from wink.workspace import Workspace, apply

Visit = Callable[[], Visitor]


def numbers(page: str) -> list[int]:
    """The calls that are listed, in order."""
    return [int(number) for number in re.findall(r'<a id="c(\d+)"', page)]


def test_a_new_workspace_has_nothing_to_show_and_looking_leaves_no_trace(visit: Visit, place: Path) -> None:
    """Not even the directory of the record."""
    visitor = visit()

    assert "No calls yet. They appear here as they happen." in visitor.get("/")
    for path in ("/waiting", "/state", "/back", "/rows", "/glance"):
        visitor.get(path)
    assert not (place / ".wink").exists()


def test_calls_are_listed_newest_first_with_how_they_ended(workspace: Workspace, visit: Visit) -> None:
    """A word for each ending; never colour alone."""
    worked(workspace)
    workspace.undo(9)

    page = visit().get("/")

    assert numbers(page) == list(range(14, 0, -1))
    words = re.findall(r'class="word t-[a-z]+">([a-z ]+)<', page)
    assert words == [
        "ok", "denied", "ok", "refused", "denied", "undone", "ok", "ok", "rolled back", "ok", "ok", "ok", "ok", "ok",
    ]  # fmt: skip


def test_calls_of_an_attached_agent_stand_below_what_they_were_asked_for(workspace: Workspace, visit: Visit) -> None:
    """Turn by turn, and what a person did in between without one; a page that is open gets the same."""

    def write(name: str, run: str) -> None:
        def told(made: CommitEntry) -> CommitEntry:
            return replace(made, run=run)

        apply(workspace, "Write", {}, lambda part: part.handle.write(name, name), session="claude-code-1", told=told)

    for prompt in ("Greet <b>better\nand so on", "\x1b]0;And more"):
        workspace.record.turn("claude-code-1", "claude-code", prompt)
    for number, run in enumerate(("", "t1", "t1", "", "t1", "t2")):
        write(f"{number}.txt", run)

    for page in (visit().get("/"), visit().get("/rows", part=True)):
        told = re.findall(r'<li class="asked">(.*?)</li>|<a id="c(\d+)"', page)
        first = "turn 1 of claude-code: <bdi>Greet &lt;b&gt;better</bdi>"
        last = told[0][0]
        assert last.startswith("turn 2 of claude-code: <bdi>")
        assert last.endswith("]0;And more</bdi>")
        assert "\x1b" not in last
        assert [one or int(number) for one, number in told] == [last, 6, first, 5, 4, first, 3, 2, 1]


def test_a_call_tells_all_that_is_known_of_it(workspace: Workspace, visit: Visit) -> None:
    """Arguments, policies, diff, and what the model was sent."""
    worked(workspace)

    told = text_of(visit().get("/calls/4", part=True))

    assert "c4 edit_file" in told
    assert "file_path invoice/money.py" in told
    assert "allows read_before_write" in told
    assert 'whole, _, cents = text.strip().partition(".")' in told
    assert "What it changed modified invoice/money.py +2 \N{MINUS SIGN}2" in told
    assert "What the model was sent Edited invoice/money.py. It now reads:" in told
    assert "The prompt that it had read" in told
    prompt = text_of(visit().get("/calls/4/prompt"))
    assert "read_file" in prompt
    assert "workspace" in prompt


def test_beside_a_diff_stands_who_wrote_each_line(workspace: Workspace, visit: Visit, place: Path) -> None:
    """As the file was after the call, and beside all changes as it is now; nothing where there is no text."""
    worked(workspace)
    (place / "README.md").write_text("<b>\n")
    visitor = visit()

    assert 'href="/calls/4/files/0/blame">Who wrote each line' in visitor.get("/calls/4", part=True)
    assert 'href="/calls/4/files/0/blame">Who wrote each line' in visitor.get("/calls/4/files/0")
    page = visitor.get("/calls/4/files/0/blame")
    told = text_of(page)
    assert "Who wrote each line, as it was after c4" in told
    assert 'c4 run r1: edit_file 6 whole, _, cents = text.strip().partition(".")' in told
    assert "before wink 1" in told
    assert page.count('href="/calls/4"') == 2  # the lines that it wrote have it once, and so has the way back
    changes = visitor.get("/changes?session=default")
    assert 'href="/blame?file=invoice%2Fmoney.py">Who wrote each line' in changes
    assert "c7 run r1: edit_file" in text_of(visitor.get("/blame?file=invoice/money.py"))
    assert "&lt;b&gt;" in visitor.get("/blame?file=README.md")
    assert "is not there, and no call has changed it" in visitor.get("/blame?file=none", 422)
    assert "is outside the workspace" in visitor.get("/blame?file=../none", 422)
    visitor.get("/calls/4/files/9/blame", 404)


def test_what_was_denied_says_by_whom_and_why(workspace: Workspace, visit: Visit) -> None:
    """And that it could not be done."""
    worked(workspace)

    told = text_of(visit().get("/calls/10"))

    assert "denies workspace-rules: write_file on 'secrets/key.txt' is denied: nobody's business" in told
    assert "Undo this call" not in told


def test_the_programs_that_a_call_ran_are_shown(workspace: Workspace, visit: Visit) -> None:
    """Whatever their arguments are, they are text."""

    def noting(call: CommitEntry) -> CommitEntry:
        told = {"transaction": call.transaction_id, "call_id": call.call_id, "seconds": 1.25, "status": 3}
        workspace.record.note("program-ended", "default", {**told, "argv": ["sh", "-c", "<b>\x1b"], "guard": "none"})
        return call

    apply(workspace, "one", {}, lambda part: None, told=noting)
    apply(workspace, "other", {}, lambda part: None, told=lambda call: call)
    visitor = visit()

    assert "Programs sh -c '<b>\\x1b': exit status 3 after 1.2 s, guard none" in text_of(visitor.get("/calls/1"))
    assert "Programs" not in visitor.get("/calls/2")


def test_what_was_rolled_back_is_shown_as_not_real(agent: Agent, visit: Visit) -> None:
    """With what it would have been."""
    agent.call(OWN, files={"new.py": "x = 1\n"}, fails=True)

    told = text_of(visit().get("/calls/1"))

    assert "What was rolled back Nothing of this stayed. created new.py +1" in told
    assert "x = 1" in told


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("tool=edit_file", [7, 6, 4]),
        ("outcome=denied", [13, 10]),
        ("outcome=undone", [9]),
        ("outcome=rolled+back", [6]),
        ("outcome=refused", [11]),
        ("outcome=ok&tool=write_file", []),
        ("path=money", [7, 4]),
        ("path=*.md", [14, 9]),
        ("path=NOTES/", [14, 9]),
        ("path=%25", []),
        ("text=currencies", [9]),
        ("text=nobody%27s+business", [10]),
        ("text=did+you+mean", [11]),
        ("text=cents+%2F%2F+100", [7]),
        ("text=_____", []),
        ("session=default&tool=undo", [14]),
        ("session=other", []),
        ("before=3", [2, 1]),
        ("limit=2", [14, 13]),
        ("tool=", list(range(14, 0, -1))),
        ("before=x&limit=-1", list(range(14, 0, -1))),
    ],
)
def test_filters(workspace: Workspace, visit: Visit, query: str, found: list[int]) -> None:
    """By session, tool, outcome and path, and by any text of the call."""
    worked(workspace)
    workspace.undo(9)
    visitor = visit()

    assert numbers(visitor.get(f"/?{query}")) == found
    assert numbers(visitor.get(f"/rows?{query}")) == found


def test_an_undo_without_its_call_stands_under_its_own_filter(workspace: Workspace, visit: Visit) -> None:
    """A filter that leaves nothing says how to get out of it."""
    worked(workspace)

    assert "No call is like that." in visit().get("/?tool=nothing")


def test_older_calls_follow_with_the_same_filters(workspace: Workspace, agent: Agent, visit: Visit) -> None:
    """A page at a time, from where the last one ended, without a gap."""
    for number in range(7):
        agent.call("write_file", file_path=f"{number}.txt", content="x")
        agent.call("ls")
    visitor = visit()
    path: str | None = "/?tool=write_file&limit=3"
    seen: list[int] = []
    while path is not None:
        page = visitor.get(path)
        seen += numbers(page)
        older = re.search(r'id="more"><a class="button" href="([^"]+)"', page)
        path = None if older is None else older[1].replace("&amp;", "&") + "&limit=3"

    assert seen == [13, 11, 9, 7, 5, 3, 1]


def test_the_page_reads_what_others_have_added(workspace: Workspace, agent: Agent, visit: Visit) -> None:
    """Sums grow with the record, and start anew with another one."""
    visitor = visit()
    agent.call("ls")
    assert "Calls 1 Time" in text_of(visitor.get("/glance"))
    agent.call("ls")
    agent.call("read_file", file_path="no")
    assert "Calls 3 1 failed" in text_of(visitor.get("/glance"))


def test_plan_time_and_tokens_at_a_glance(workspace: Workspace, visit: Visit) -> None:
    """Read from the record alone, of running runs too."""
    worked(workspace)
    with RecordJournal.begin(workspace, session="other") as journal:
        journal.turned(1, ModelTurn("Hm.", usage=TokenUsage(100, 10)))
        visitor = visit()

        assert "Tokens 44,220 41,900 in, 2,320 out" in text_of(visitor.get("/glance"))
        assert "Tokens 110 100 in, 10 out" in text_of(visitor.get("/glance?session=other"))
        assert "r2" in visitor.get("/state?session=other") or not workspace.calls("other")
    told = text_of(visitor.get("/"))
    assert "Round amounts the way accountants do 3 of 4 steps done" in told
    assert "now: Write the release notes" in told
    state = text_of(visitor.get("/state"))
    assert "Read what parses amounts done" in state
    assert "Write the release notes in progress" in state
    assert "13 calls in" in state
    assert "Plan wink_planning._plan · 1 item" in state


def test_slices_are_shown_whoever_made_them(workspace: Workspace, visit: Visit) -> None:
    """As JSON: no plugin is asked."""
    worked(workspace)
    visitor = visit()
    (place,) = re.findall(r'hx-get="(/slices/\d+)"[^>]*><summary><span class="tool">Plan<', visitor.get("/state"))

    assert '"title": "Show two digits"' in text_of(visitor.get(place))


def test_a_plan_that_is_none_is_left_out(workspace: Workspace, agent: Agent, visit: Visit) -> None:
    """A slice of that name may hold anything."""
    agent.call("planning_setup_plan", objective="x", initial_steps=["a"])
    with sqlite3.connect(workspace.record.path) as connection:
        for value in ("[]", '{"objective": 3}', '{"objective": "y", "steps": [1, {"title": 2}]}'):
            connection.execute("UPDATE slice_items SET value = ?", (value,))
            connection.commit()
            visit().get("/")
            visit().get("/state")
    connection.close()


def test_many_files_of_one_call_are_shown_as_they_are_asked_for(agent: Agent, visit: Visit) -> None:
    """The first with their diffs, the others by name."""
    agent.call(OWN, files={f"f{number:02}.py": f"x = {number}\n" * 100 for number in range(30)})
    visitor = visit()

    page = visitor.get("/calls/1")
    assert (page.count("<table"), page.count('class="later"')) == (6, 24)
    assert "x = " in text_of(visitor.get("/calls/1/files/29", part=True))
    visitor.get("/calls/1/files/30", 404)
    visitor.get(f"/calls/{10**30}", 404)


HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>\u202egnp.exe\x1b[31m\r\n</textarea>{{7*7}}'


def test_hostile_names_and_texts_are_text(workspace: Workspace, agent: Agent, visit: Visit) -> None:
    """Nothing that anybody wrote becomes a part of the page, and nothing hides."""
    name = "&lt;b&gt;'\u202e.py"
    agent.call(HOSTILE, **{HOSTILE: HOSTILE})
    agent.call("write_file", file_path="a.md", content=HOSTILE)
    Agent(workspace, "other").call(OWN, files={name: HOSTILE})
    tried(workspace, "odd", **{'<b onmouseover="x">\u202e\x1b.py': HOSTILE})
    visitor = visit()

    for path in (
        "/",
        "/calls/1",
        "/calls/2",
        "/calls/3",
        "/state?session=other",
        "/do/undo?call=3",
        "/tries/odd",
        "/?text=" + "%3Cscript%3E",
    ):
        page = visitor.get(path)
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b onm" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
    assert r'<span class="ctl">\u202e</span>' in visitor.get("/calls/3")


def test_names_that_are_no_text_are_shown(workspace: Workspace, visit: Visit) -> None:
    """A file's name is bytes, and a program may have given it any."""
    tried(workspace, "odd", **{os.fsdecode(b"caf\xe9.txt"): "x\n"})
    visitor = visit()

    assert r'caf<span class="ctl">\udce9</span>.txt' in visitor.get("/tries/odd")
    assert r'caf<span class="ctl">\udce9</span>.txt' in visitor.get("/do/accept?try=odd")


@pytest.mark.parametrize(
    "path", ["/calls/99", "/calls/0", "/calls/99999999999999999999", "/slices/x", "/nothing", "/do/nothing"]
)
def test_what_does_not_exist_is_said_so(visit: Visit, path: str) -> None:
    """In a page, in words."""
    page = visit().get(path, 404)

    assert "<h1>" in page
    assert "Traceback" not in page


def test_a_call_that_changed_only_state_can_be_undone(agent: Agent, visit: Visit) -> None:
    """A plan is taken back like a file; what a call has only read is not worth a button."""
    agent.call("planning_setup_plan", objective="x", initial_steps=["a"])
    agent.call("ls")
    visitor = visit()

    assert "Undo this call" in visitor.get("/calls/1")
    assert "Undo this call" not in visitor.get("/calls/2")


def test_a_damaged_record_is_told_in_a_page(workspace: Workspace, agent: Agent, visit: Visit, place: Path) -> None:
    """And left as it is; when it is back, so is the page."""
    agent.call("ls")
    workspace.close()
    record = state_of(place) / "record.db"
    kept = record.read_bytes()
    record.write_bytes(b"no record at all" * 1000)
    for name in ("record.db-wal", "record.db-shm"):
        (state_of(place) / name).unlink(missing_ok=True)
    visitor = visit()

    page = text_of(visitor.get("/", 503))
    assert "The record cannot be read" in page
    assert "It has been left as it is, move it away to begin a new one" in page
    assert record.read_bytes() == b"no record at all" * 1000

    record.write_bytes(kept)
    visitor.get("/")


def test_a_newer_record_is_told_in_a_page(workspace: Workspace, agent: Agent, visit: Visit) -> None:
    """With what to do."""
    agent.call("ls")
    workspace.close()
    connection = sqlite3.connect(workspace.record.path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    assert "upgrade wink" in text_of(visit().get("/", 503)).lower()


def test_arguments_that_are_no_json_are_shown_as_they_are(workspace: Workspace, visit: Visit, agent: Agent) -> None:
    """A model may send anything."""
    from wink.runtime import ToolCall

    for number, text in enumerate(('{"a": ', "[1]", "", "x" * 5000, json.dumps({"a": [1, {"b": None}]})), 1):
        agent._executor.execute(ToolCall("ls", text, f"n{number}"))
        visit().get(f"/calls/{number}")
    visit().get("/")
