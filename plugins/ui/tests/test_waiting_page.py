"""Calls that wait for a person are answered from the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.ui.tests.conftest import Visitor, seal_of, text_of
from plugins.ui.tests.scene import Agent

from wink.runtime import pending_approvals
from wink.workspace import Workspace
from wink_sandbox import People

Visit = Callable[[], Visitor]
NOTES = "# 1.4\n\nAmounts have two digits now.\n"


@pytest.fixture
def visitor(agent: Agent, visit: Visit) -> Visitor:
    """Sees that a1 waits: it would write `release/notes.md`."""
    agent.call("write_file", file_path="release/notes.md", content=NOTES)
    return visit()


def again(agent: Agent) -> str:
    """The model makes its call once more."""
    return agent.call("write_file", file_path="release/notes.md", content=NOTES).text


def test_a_request_shows_who_asks_why_and_what_it_would_do(visitor: Visitor) -> None:
    """The diff first; the arguments are there to be edited."""
    told = text_of(visitor.get("/waiting"))

    assert "a1 write_file asks workspace-rules: write_file on 'release/notes.md': customers read it" in told
    assert "created release/notes.md +3" in told
    assert "Arguments, which you may edit" in told
    assert 'id="waiting-count" class="pill">1<' in visitor.get("/")


def test_a_host_that_a_program_wants_is_approved_for_as_long_as_the_form_says(
    workspace: Workspace, agent: Agent, visit: Visit
) -> None:
    """The program is held meanwhile, and is answered by what is stored."""
    people = People(workspace.record.approvals, "default", "npm in wink try", list[str]().append, "", run="r1")
    request = people.ask("registry.test", 443)
    visitor = visit()
    page = visitor.get("/waiting")
    card = page[page.index(f'id="t-{request.id}"') :]

    assert "network: npm in wink try wants to connect to registry.test:443, which is not listed" in text_of(card)
    assert "A program is held." in text_of(card)
    assert "goes on with the run" not in text_of(card)
    seal = seal_of(card)
    visitor.post(f"/approvals/{request.id[1:]}", answer="approve", seal=seal, **{"argument-1": "once"})

    said = request.said()
    assert said is not None
    assert (said.allowed, said.lasts) == (True, "once")
    assert request.id not in text_of(visitor.get("/waiting"))


def test_what_is_approved_runs_once(visitor: Visitor, agent: Agent, place: Path) -> None:
    """The answer is for exactly this call."""
    done = visitor.post("/approvals/1", answer="approve", seal=seal_of(visitor.get("/waiting")))

    assert done.headers["location"] == "/waiting?done=approved&request=a1"
    assert "Nothing waits." in visitor.get(done.headers["location"])
    assert again(agent).startswith("Created release/notes.md")
    assert (place / "release/notes.md").read_text() == NOTES


def test_arguments_are_edited(visitor: Visitor, agent: Agent, place: Path) -> None:
    """Browsers send lines with CRLF; the file has them as the model meant them."""
    fields = {"argument-0": "# 1.4\r\n\r\nBetter.\r\n", "argument-1": "release/notes.md"}
    page = visitor.get("/waiting")
    assert page.index(">content") < page.index(">file_path")

    visitor.post("/approvals/1", answer="approve", seal=seal_of(page), **fields)

    again(agent)
    assert (place / "release/notes.md").read_text() == "# 1.4\n\nBetter.\n"


def test_what_was_not_touched_in_the_form_stays_byte_for_byte(agent: Agent, visit: Visit, place: Path) -> None:
    """A text with CRLF, or with what a form would change, cannot be edited there and is not."""
    content = "\nleading\r\nand \x1b[0m more\n"
    agent.call("write_file", file_path="release/a.md", content=content)
    visitor = visit()
    page = visitor.get("/waiting")
    assert "It holds characters that a form would change" in page

    visitor.post("/approvals/1", answer="approve", seal=seal_of(page), **{"argument-1": "release/a.md"})
    agent.call("write_file", file_path="release/a.md", content=content)

    assert (place / "release/a.md").read_bytes().decode() == content


def test_a_secret_is_not_shown_and_stays_what_it_is(agent: Agent, visit: Visit, workspace: Workspace) -> None:
    """What is edited beside it must not put `[masked]` in its place."""
    content = "KEY=sk-proj-Zq3vT9xLm2Rk8wYb\n"
    agent.call("write_file", file_path="release/a.env", content=content)
    visitor = visit()
    page = visitor.get("/waiting")
    assert "Zq3vT9xLm2Rk8wYb" not in page
    assert "KEY=[masked]" in page
    assert "There is a secret in it" in page

    fields = {"argument-0": "KEY=[masked]\n", "argument-1": "release/b.env"}
    visitor.post("/approvals/1", answer="approve", seal=seal_of(page), **fields)

    row = workspace.record.approvals.find(1)
    assert row is not None
    assert json.loads(row.edited or "") == {"content": content, "file_path": "release/b.env"}


def test_denied_with_a_note(visitor: Visitor, agent: Agent, place: Path) -> None:
    """The model is told."""
    visitor.post("/approvals/1", answer="deny", note="Write it\r\nfor people", seal=seal_of(visitor.get("/waiting")))

    assert "Write it\nfor people" in again(agent)
    assert not (place / "release").exists()


@pytest.mark.parametrize("answer", ["", "yes", "APPROVE"])
def test_only_a_clear_yes_approves(visitor: Visitor, agent: Agent, place: Path, answer: str) -> None:
    """Everything else is a no."""
    visitor.post("/approvals/1", answer=answer, seal=seal_of(visitor.get("/waiting")))

    again(agent)
    assert not (place / "release").exists()


def test_an_answer_is_for_what_was_shown(visitor: Visitor, workspace: Workspace) -> None:
    """Without its seal, or with another's, nothing is answered."""
    for seal in ("", "0" * 64):
        assert visitor.post("/approvals/1", answer="approve", seal=seal).status_code == 409
    assert [request.id for request in pending_approvals(workspace)] == ["a1"]


def test_files_that_changed_meanwhile_are_told_and_it_is_asked_again(
    visitor: Visitor, workspace: Workspace, place: Path
) -> None:
    """The answer was for the file as it was."""
    seal = seal_of(visitor.get("/waiting"))
    (place / "release").mkdir()
    (place / "release/notes.md").write_text("a person's\n")

    answer = visitor.post("/approvals/1", answer="approve", seal=seal)

    assert answer.status_code == 409
    told = text_of(answer.text)
    assert "a1 was not answered" in told
    assert "a2 write_file" in told
    assert [request.id for request in pending_approvals(workspace)] == ["a2"]


def test_json_that_is_none_is_said_and_nothing_answered(agent: Agent, visit: Visit, workspace: Workspace) -> None:
    """What is no text is edited as JSON."""
    agent.call("edit_file", file_path="release/x.md", old_string="a", new_string="b", replace_all=True)
    visitor = visit()
    page = visitor.get("/waiting")
    if "a1" not in page:
        pytest.fail(text_of(page))
    fields = {f"argument-{number}": "nonsense" for number in range(6)}

    answer = visitor.post("/approvals/1", answer="approve", seal=seal_of(page), **fields)

    assert answer.status_code == 422
    assert "replace_all is not JSON" in text_of(answer.text)
    assert len(pending_approvals(workspace)) == 1


def test_a_request_that_is_gone_is_said(visitor: Visitor) -> None:
    """Somebody else may have been faster."""
    assert visitor.post("/approvals/99", answer="approve", seal="x").status_code == 404
