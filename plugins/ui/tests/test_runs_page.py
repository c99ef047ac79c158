"""A run is a conversation with its calls in place, and all that it changed is one page."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.ui.tests.conftest import Visitor, text_of
from plugins.ui.tests.scene import OWN, Agent, tried

from wink.adapters import ModelTurn, RecordJournal
from wink.limits import TokenUsage
from wink.workspace import Workspace

Visit = Callable[[], Visitor]

HOSTILE = "</div><script>alert(1)</script><img src=x onerror=alert(2)>\u202e[a link](https://elsewhere.example)"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def told(workspace: Workspace) -> Workspace:
    """A run of two models over some turns, with hostile words, a note, reasoning, and an image."""
    with RecordJournal.begin(workspace, plan={"task": f"Number {HOSTILE}", "model": "big"}) as journal:
        agent = Agent(workspace, run=journal.context)
        journal.rendered(agent.rendered.prompt_name, agent.rendered.text, ["write_file"])
        journal.turned(1, ModelTurn(f"I say {HOSTILE}", usage=TokenUsage(10, 5), thinking="Let me see."))
        agent.call("write_file", file_path="src/a.txt", content="one\ntwo\n")
        journal.replied(1, (), "go on")
        for turn in range(2, 60):
            journal.turned(turn, ModelTurn(f"turn number {turn}", usage=TokenUsage(3, 2), model="small"))
            agent.call("write_file", file_path=f"src/part/{turn}.txt", content=f"{turn}\n")
            journal.replied(turn, (), "")
        journal.turned(60, ModelTurn("It is done.", usage=TokenUsage(1, 1)))
        journal.ended("It is done.")
    return workspace


def test_a_run_is_a_conversation_with_its_calls_in_place(told: Workspace, visit: Visit) -> None:
    """From what was asked to the answer, some turns at a time; a call leads to its turn."""
    visitor = visit()
    page = visitor.get("/runs/1")
    text = text_of(page)

    marks = ["<h2>Asked", "I say", 'id="c1"', "turn number 2", 'id="c2"']
    assert sorted(marks, key=page.index) == marks
    assert "Let me see." in page
    assert "The run told the model" in page
    assert "small 58 174 0 116" in text
    assert "turn number 41" not in page
    assert "It is done." in visitor.get("/runs/1?after=40", part=True)
    assert "r1, turn 30" in visitor.get("/calls/30")
    around = visitor.get("/runs/1?call=50")
    assert 'id="c50" href="/calls/50" aria-current="true"' in around
    assert "/runs/1" in visitor.get("/runs")
    visitor.get("/runs/9", 404)
    for shown in (page, around, visitor.get("/calls/1"), visitor.get("/runs")):
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown
        assert "\u202e" not in shown
        assert 'href="https' not in shown


def test_a_copy_of_a_run_stands_below_it(told: Workspace, visit: Visit) -> None:
    """With the turn that it goes on from, which leads to the run."""
    with RecordJournal.begin(told, plan={"task": "another"}):
        pass
    told.rewind(1, 58, fork=True)
    page = visit().get("/runs")

    cards = ['href="/runs/2"', 'href="/runs/1"', 'href="/runs/3"']
    assert sorted(cards, key=page.index) == cards
    assert page.count('class="card fork1"') == 1
    assert "a copy of r1 from turn 58" in text_of(page)
    assert "A copy of r1, from its turn 58." in text_of(visit().get("/runs/3"))


def test_all_changes_of_a_run_are_one_page(told: Workspace, visit: Visit) -> None:
    """With a tree, a filter, and both ways to lay a diff out; another run's files are not among them."""
    Agent(told, "other").call("write_file", file_path="elsewhere.txt", content="x")
    visitor = visit()
    page = visitor.get("/changes?run=r1")

    assert "59 paths" in text_of(page)
    assert page.count('class="file reading"') == 50
    assert "elsewhere.txt" not in page
    assert visitor.get("/changes?run=r1&from=50", part=True).count('class="file reading"') == 9
    found = visitor.get("/changes?run=r1&path=PART/5&view=side")
    assert "11 paths" in text_of(found)
    assert 'class="diff wide"' in found
    assert "elsewhere.txt" in visitor.get("/changes?session=other")
    assert "two" in visitor.get("/changes/file?run=r1&file=src/a.txt")
    visitor.get("/changes/file?run=r1&file=none", 422)
    visitor.get("/changes?run=r9", 404)


def test_the_changes_of_a_try_are_read_the_same_way(workspace: Workspace, visit: Visit) -> None:
    """Before anything of it is accepted."""
    tried(workspace, "odd", **{"a/b.txt": "x\n", "README.md": None})

    page = visit().get("/changes?try=odd")

    assert {"created", "deleted", "b.txt"} <= set(text_of(page).split())


def test_images_are_images_and_nothing_else(workspace: Workspace, visit: Visit, place: Path) -> None:
    """What is none is not served; an SVG image comes as a file, and may run nothing."""
    (place / "a.png").write_bytes(PIXEL)
    tried(
        workspace,
        "odd",
        **{"b.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "c.png": "no image"},
    )
    visitor = visit()
    page = visitor.get("/changes?try=odd")

    assert 'src="/changes/file?try=odd&amp;file=b.svg&amp;side=after"' in page
    assert "<svg xmlns" not in page
    answer = visitor.client.get("/changes/file?try=odd&file=b.svg&side=after")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-disposition"] == "attachment"
    assert "sandbox" in answer.headers["content-security-policy"]
    visitor.get("/changes/file?try=odd&file=c.png&side=after", 404)


def test_a_link_to_an_old_call_opens_where_it_is(workspace: Workspace, visit: Visit) -> None:
    """With those before and after it, not with the newest."""
    agent = Agent(workspace)
    for number in range(130):
        agent.call(OWN, files={f"{number}.txt": "x"})

    page = visit().get("/calls/40")

    assert 'id="c41"' in page
    assert 'id="c39"' in page
    assert 'id="c130"' not in page
    assert "To the newest calls" in page
