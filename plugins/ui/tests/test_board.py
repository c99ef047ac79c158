"""Tries and attached agents side by side, and what can be done with them from there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.ui.tests.conftest import Visitor, seal_of, text_of
from plugins.ui.tests.scene import Agent, tried

from wink.workspace import Workspace
from wink_sandbox import People
from wink_sandbox.tries import tries

Visit = Callable[[], Visitor]


def card(page: str, name: str) -> str:
    """What a card says."""
    found = re.search(rf'<li class="card" id="{name}".*?(?=<li class="card"|<h2>|</main>)', page, re.DOTALL)
    assert found is not None, page
    return text_of(found[0])


def test_nobody_is_at_work(visit: Visit) -> None:
    """That is said, with what would appear here."""
    assert "Nobody is at work." in text_of(visit().get("/board"))


def test_each_try_says_what_it_has_changed_what_is_in_its_way_and_what_it_asks(
    workspace: Workspace, visit: Visit, place: Path
) -> None:
    """What two tries have of each other is in the browser's test, where programs have written it."""
    tried(workspace, "alone", **{f"new/f{number}.txt": "x\n" for number in range(8)})
    tried(workspace, "one", **{"README.md": "# One\n"})
    tried(workspace, "two", **{"README.md": "# Two\n"})
    (place / "README.md").write_text("# Mine\n")
    people = People(workspace.record.approvals, "default", "npm in wink try", list[str]().append, "", call_id="try two")
    request = people.ask("registry.test", 443)
    page = visit().get("/board")

    assert card(page, "try-alone").startswith("alone 9 paths changed status 0 ruff format --check .")
    assert "new/f4.txt and 3 more paths Diff Update… Accept… Drop…" in card(page, "try-alone")
    one, two = card(page, "try-one"), card(page, "try-two")
    assert "in conflict with the workspace: README.md Diff" in one
    assert "in conflict with the workspace: README.md Diff" in two
    assert "in conflict" not in card(page, "try-alone")
    assert f"waits for you {request.id} network access: npm in wink try wants to connect to" in two
    assert "waits for you" not in one
    assert 'id="tries-count" class="pill plain">3<' in page
    assert 'id="waiting-count" class="pill">1<' in page


def test_an_attached_agent_says_what_it_was_asked_and_what_its_turn_has_changed(
    workspace: Workspace, visit: Visit
) -> None:
    """And which try is in conflict with that."""
    tried(workspace, "one", **{"README.md": "# One\n"})
    session = "claude-code-5e551011"
    number = workspace.record.turn(session, "claude-code", "Rewrite the <b>introduction</b>")
    Agent(workspace, session).call("ls")
    page = visit().get("/board")

    said = card(page, f"agent-{number}")
    assert said.startswith(f"claude-code turn {number} · ")
    assert "Rewrite the <b>introduction</b>" in said
    assert "no call yet" in said
    assert "in conflict" not in said


def test_a_try_that_cannot_be_read_does_not_hide_the_others(workspace: Workspace, visit: Visit) -> None:
    """What is wrong is said on its card."""
    tried(workspace, "sound", **{"a.txt": "x\n"})
    damaged = tried(workspace, "damaged", **{"b.txt": "x\n"})
    (Path(damaged.overlay.upper) / "b.txt").unlink()
    Path(damaged.overlay.upper).rmdir()
    Path(damaged.overlay.upper).write_text("no directory")
    page = visit().get("/board")
    assert "1 path changed" in card(page, "try-sound")


@pytest.mark.parametrize("undone", [False, True])
def test_a_try_is_updated_and_that_is_taken_back(workspace: Workspace, visit: Visit, place: Path, undone: bool) -> None:
    """What would happen is shown first."""
    lines = [f"{number}\n" for number in range(9)]
    (place / "n.txt").write_text("".join(lines))
    one = tried(workspace, "one", **{"n.txt": "".join(["first\n", *lines[1:]])})
    (place / "n.txt").write_text("".join([*lines[:-1], "last\n"]))
    visitor = visit()
    shown = visitor.get("/tries/one/update")
    assert "Merged with what the workspace has changed n.txt" in text_of(shown)
    tried_file = Path(one.overlay.upper) / "n.txt"
    assert tried_file.read_text().endswith("8\n")

    assert visitor.post("/tries/one/update", seal=seal_of(shown)).headers["location"] == "/tries/one"
    assert tried_file.read_text() == "".join(["first\n", *lines[1:-1], "last\n"])
    assert "nothing to update" in text_of(visitor.get("/tries/one/update"))
    if undone:
        back = visitor.get("/tries/one/update?undo=yes")
        assert visitor.post("/tries/one/update", undo="yes", seal=seal_of(back)).status_code == 303
        assert tried_file.read_text() == "".join(["first\n", *lines[1:]])
        assert "no update to take back" in text_of(visitor.get("/tries/one/update?undo=yes"))


def test_an_update_that_is_not_what_was_shown_is_shown_again(workspace: Workspace, visit: Visit, place: Path) -> None:
    """Nothing has happened then."""
    one = tried(workspace, "one", **{"README.md": "# Invoices\n\nAmounts are kept in cents.\n\nMore.\n"})
    (place / "README.md").write_text("# Bills\n\nAmounts are kept in cents.\n")
    visitor = visit()
    seal = seal_of(visitor.get("/tries/one/update"))
    (place / "README.md").write_text("# Bills\n\nAmounts are kept in cents.\n\nLess.\n")

    answer = visitor.post("/tries/one/update", seal=seal)

    assert answer.status_code == 409
    assert "Something has moved since you looked" in text_of(answer.text)
    assert (Path(one.overlay.upper) / "README.md").read_text().startswith("# Invoices")
    visitor.get("/tries/none/update", 404)


def test_a_check_comes_before_an_accept(workspace: Workspace, visit: Visit, place: Path) -> None:
    """Its output is shown where it fails; nothing is accepted then. What a rule denies reading it does not see."""
    tried(workspace, "one", **{"README.md": "# One\n", "new.txt": "x\n"})
    (place / "secrets").mkdir()
    (place / "secrets/key.txt").write_text("the key")
    visitor = visit()
    fields = {"try": "one", "scope": "all"}
    script = "cat new.txt secrets/key.txt; echo written > made.txt; test ! -e new.txt"
    failed = visitor.post("/do/accept", **fields, check=script, seal=seal_of(visitor.post("/do/accept", **fields).text))

    assert failed.status_code == 409
    told = text_of(failed.text)
    assert "The check has not passed; nothing was accepted" in told
    assert "the check ended with status 1: nothing of the try 'one' was accepted" in told
    assert " x " in told
    assert "the key" not in told
    assert (place / "README.md").read_text().startswith("# Invoices")

    done = visitor.confirm("/do/accept", **fields, check="test -e new.txt")
    assert done.status_code == 303
    assert ((place / "README.md").read_text(), (place / "made.txt").exists()) == ("# One\n", False)
    assert tries(workspace) == ()
