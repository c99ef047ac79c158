"""Undo, redo, restore, accept and drop: first shown, then done, and only if it still is what was shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.ui.tests.conftest import Visitor, seal_of, text_of
from plugins.ui.tests.scene import BEFORE, Agent, tried, worked

from wink.workspace import Workspace
from wink_sandbox.tries import tries

Visit = Callable[[], Visitor]


@pytest.fixture
def visitor(workspace: Workspace, visit: Visit) -> Visitor:
    """Looks at what an agent has done: c4 and c7 edited a file, c9 made one."""
    worked(workspace)
    return visit()


def money(place: Path) -> str:
    """The file that was edited."""
    return (place / "invoice/money.py").read_text()


def test_an_undo_is_shown_with_its_diff_and_changes_nothing_yet(visitor: Visitor, place: Path) -> None:
    """The preview only reads."""
    before = money(place)

    page = visitor.get("/do/undo?call=7")

    told = text_of(page)
    assert "Undo c7?" in told
    assert "Takes back c7 Changes 1 path" in told
    assert 'f"{cents / 100} EUR"' in told
    assert money(place) == before


def test_an_undo_that_is_confirmed_is_done_and_can_be_undone(
    visitor: Visitor, workspace: Workspace, place: Path
) -> None:
    """It leads to the call that did it."""
    after = money(place)

    done = visitor.confirm("/do/undo", call="7")

    assert (done.status_code, done.headers["location"]) == (303, "/calls/14?done=undo")
    assert "{cents / 100}" in money(place)
    assert "it can be undone too" in text_of(visitor.get(done.headers["location"]))
    assert visitor.confirm("/do/redo").headers["location"] == "/calls/15?done=redo"
    assert money(place) == after
    assert visitor.confirm("/do/undo", call="15").status_code == 303
    assert "{cents / 100}" in money(place)


def test_the_last_ones_are_undone_by_counting(visitor: Visitor, place: Path) -> None:
    """As `wink undo 4` does; session state counts too."""
    told = text_of(visitor.post("/do/undo", n="4").text)

    assert "Takes back c7, c8, c9, c12" in told
    assert visitor.confirm("/do/undo", n="4").status_code == 303
    assert not (place / "notes").exists()


def test_what_moved_since_it_was_shown_is_not_done_but_shown_again(
    visitor: Visitor, workspace: Workspace, place: Path
) -> None:
    """Somebody else undid the last call meanwhile, so the last one is another now."""
    seal = seal_of(visitor.get("/do/undo?n=1"))
    workspace.undo()
    before = money(place)

    answer = visitor.post("/do/undo", n="1", seal=seal)

    assert answer.status_code == 409
    assert "Something has moved since you looked, so nothing was done." in text_of(answer.text)
    assert (money(place), len(workspace.calls())) == (before, 14)
    again = visitor.post("/do/undo", n="1", seal=seal_of(answer.text))
    assert again.status_code == 303


def test_calls_that_do_not_matter_for_it_do_not_stop_it(visitor: Visitor, workspace: Workspace) -> None:
    """An agent that goes on working must not keep a person from ever taking something back."""
    seal = seal_of(visitor.get("/do/undo?call=9"))
    Agent(workspace).call("write_file", file_path="other.txt", content="x")

    assert visitor.post("/do/undo", call="9", seal=seal).status_code == 303


@pytest.mark.parametrize("seal", ["0" * 64, "x", "é"])
def test_nothing_is_done_without_having_been_shown(
    visitor: Visitor, workspace: Workspace, place: Path, seal: str
) -> None:
    """A seal cannot be made by anybody else."""
    before = money(place)

    assert visitor.post("/do/undo", call="7", seal=seal).status_code == 409
    assert (money(place), len(workspace.calls())) == (before, 13)


def test_a_seal_is_for_one_act_alone(visitor: Visitor, workspace: Workspace) -> None:
    """That of one call does not undo another."""
    seal = seal_of(visitor.get("/do/undo?call=7"))

    assert visitor.post("/do/undo", call="9", seal=seal).status_code == 409
    assert visitor.post("/do/restore", call="7", seal=seal).status_code == 409
    assert len(workspace.calls()) == 13


def test_a_conflict_names_what_is_in_the_way_and_loses_nothing(
    visitor: Visitor, workspace: Workspace, place: Path
) -> None:
    """A later call, or a person, has written there."""
    told = text_of(visitor.get("/do/undo?call=4", 409))
    assert "Something is in the way; nothing was changed" in told
    assert "invoice/money.py was changed since by c7, which is to stay" in told

    seal = seal_of(visitor.get("/do/undo?call=7"))
    (place / "invoice/money.py").write_text("mine\n")
    answer = visitor.post("/do/undo", call="7", seal=seal)
    assert answer.status_code == 409
    assert "invoice/money.py was changed since by somebody else" in text_of(answer.text)
    assert money(place) == "mine\n"


def test_twice_confirmed_is_once_done(visitor: Visitor, workspace: Workspace) -> None:
    """A double click."""
    seal = seal_of(visitor.get("/do/undo?call=9"))
    assert visitor.post("/do/undo", call="9", seal=seal).status_code == 303

    again = visitor.post("/do/undo", call="9", seal=seal)

    assert again.status_code == 422
    assert "c9 is undone already" in text_of(again.text)
    assert len(workspace.calls()) == 14


def test_one_of_two_that_confirm_at_once_wins(visitor: Visitor, workspace: Workspace, place: Path) -> None:
    """The check and the act are one step under the lease."""
    seal = seal_of(visitor.get("/do/undo?n=1"))
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(visitor.post("/do/undo", n="1", seal=seal).status_code))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(answers) == [303, 409, 409, 409]
    assert len(workspace.calls()) == 14


def test_restore_goes_back_to_a_checkpoint(visitor: Visitor, workspace: Workspace, place: Path) -> None:
    """Which can be made here too."""
    before = money(place)
    assert visitor.post("/checkpoints", name="here").status_code == 303
    agent = Agent(workspace)
    agent.call("edit_file", file_path="invoice/money.py", old_string="Money", new_string="Cash")
    assert "here" in visitor.get("/back")
    assert "+1" in text_of(visitor.get("/do/restore?checkpoint=here"))

    done = visitor.confirm("/do/restore", checkpoint="here")

    assert done.headers["location"].endswith("?done=restore")
    assert money(place) == before


def test_restore_goes_back_to_after_a_call(visitor: Visitor, place: Path) -> None:
    """Everything since is taken back at once."""
    assert visitor.confirm("/do/restore", call="2").status_code == 303

    assert money(place) == BEFORE
    assert not (place / "notes").exists()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/do/restore?checkpoint=none", 404),
        ("/do/restore", 404),
        ("/do/undo?call=99", 404),
        ("/do/undo?call=10", 422),
        ("/do/undo?n=500", 422),
        ("/do/undo?call=c7x", 422),
        ("/do/undo?call=7&n=x", 422),
        ("/do/undo?n=0", 422),
        ("/do/redo", 422),
        ("/do/accept?try=none", 404),
        ("/do/accept?try=../x", 422),
        ("/do/accept?try=formatter&scope=chosen", 422),
    ],
)
def test_what_cannot_be_done_is_said(visitor: Visitor, path: str, status: int) -> None:
    """With what to do instead, in a page."""
    assert "<h1>" in visitor.get(path, status)


def test_a_bad_name_for_a_checkpoint_is_said(visitor: Visitor) -> None:
    """The same words as on the command line."""
    answer = visitor.post("/checkpoints", name="a b")

    assert answer.status_code == 422
    assert "cannot name a checkpoint" in text_of(answer.text)


# -- tries


def test_a_try_is_shown_and_accepted_whole(visitor: Visitor, workspace: Workspace, place: Path) -> None:
    """As one call that can be undone; then there is no try any more."""
    tried(workspace)
    assert "formatter 2 paths changed" in text_of(visitor.get("/board"))
    told = text_of(visitor.get("/tries/formatter"))
    assert "ruff format --check . " in told
    assert "Amounts are kept in whole cents." in told

    done = visitor.confirm("/do/accept", **{"try": "formatter", "scope": "all"})

    assert done.headers["location"] == "/calls/14?done=accept"
    assert (place / "setup.cfg").read_text() == "[tool]\n"
    assert tries(workspace) == ()
    assert visitor.confirm("/do/undo", call="14").status_code == 303
    assert not (place / "setup.cfg").exists()


def test_a_large_try_is_shown_as_it_is_asked_for(visitor: Visitor, workspace: Workspace) -> None:
    """The first files with their diffs, the others by name, each with the way to it."""
    tried(workspace, "large", **{f"f{number:02}.txt": f"{number}\n" * 290 for number in range(40)})

    page = visitor.get("/tries/large")
    assert (page.count("<table"), page.count('class="later"'), page.count('type="checkbox"')) == (21, 19, 40)
    assert "created f39.txt +290" in text_of(visitor.get("/tries/large/files/39"))
    assert "<html" not in visitor.get("/tries/large/files/39", part=True)
    visitor.get("/tries/large/files/40", 422)
    assert visitor.get("/do/accept?try=large").count("<table") == 21


def test_a_part_of_a_try_is_accepted_and_the_rest_dropped(visitor: Visitor, workspace: Workspace, place: Path) -> None:
    """The paths that were ticked, whatever their names are."""
    name = "café +%.txt"
    tried(workspace, "mine", **{name: "x\n", "setup.cfg": "[tool]\n"})
    assert 'value="caf%C3%A9%20%2B%25.txt"' in visitor.get("/tries/mine")

    done = visitor.confirm("/do/accept", **{"try": "mine", "scope": "chosen", "path": ["caf%C3%A9%20%2B%25.txt"]})

    assert done.status_code == 303
    assert (place / name).read_text() == "x\n"
    assert not (place / "setup.cfg").exists()
    dropped = visitor.confirm("/do/drop", **{"try": "mine", "scope": "all"})
    assert dropped.headers["location"] == "/board"
    assert tries(workspace) == ()
    assert not (place / "setup.cfg").exists()


def test_a_try_that_went_on_is_shown_again(visitor: Visitor, workspace: Workspace, place: Path) -> None:
    """What is accepted is what was seen, also of files too large to be shown."""
    tried(workspace, "big", **{"big.txt": "x" * 100_000})
    seal = seal_of(visitor.get("/do/accept?try=big"))
    tried(workspace, "big", **{"big.txt": "y" * 100_000})

    answer = visitor.post("/do/accept", **{"try": "big", "seal": seal})

    assert answer.status_code == 409
    assert not (place / "big.txt").exists()
    assert visitor.post("/do/accept", **{"try": "big", "seal": seal_of(answer.text)}).status_code == 303


def test_a_try_in_the_way_of_others_is_told(visitor: Visitor, workspace: Workspace, place: Path) -> None:
    """Nothing is accepted over what somebody has changed since."""
    tried(workspace)
    seal = seal_of(visitor.get("/do/accept?try=formatter"))
    (place / "README.md").write_text("mine\n")

    answer = visitor.post("/do/accept", **{"try": "formatter", "seal": seal})

    assert answer.status_code == 409
    assert "README.md has changed in the workspace since the try began" in text_of(answer.text)
    assert (place / "README.md").read_text() == "mine\n"
    assert not (place / "setup.cfg").exists()


def test_dropping_says_how_it_comes_back(visitor: Visitor, workspace: Workspace) -> None:
    """Not from here."""
    tried(workspace)

    assert "`wink drop --undo` brings it back" in text_of(visitor.get("/do/drop?try=formatter"))
