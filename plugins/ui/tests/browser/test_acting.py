"""A person acts: takes back, accepts, answers."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from plugins.ui.tests.browser.conftest import Open
from plugins.ui.tests.scene import Agent, tried, worked

from wink.workspace import Workspace
from wink_sandbox.tries import tries


def test_an_undo_is_looked_at_and_then_done(place: Path, at: Open) -> None:
    """From the call to its preview, to the call that took it back, which can be redone."""
    with Workspace.open(place) as workspace:
        worked(workspace)
    page = at("/calls/7")

    page.get_by_role("link", name="Undo this call").click()
    expect(page.locator("h1")).to_have_text("Undo c7?")
    expect(page.locator(".diff tr.add .code")).to_have_text('    return f"{cents / 100} EUR"')
    assert "{cents // 100}" in (place / "invoice/money.py").read_text()
    page.get_by_role("button", name="Undo c7").click()

    expect(page.locator("#call-title")).to_contain_text("c14 undo")
    assert "{cents / 100}" in (place / "invoice/money.py").read_text()
    expect(page.locator("#c7 .word")).to_have_text("undone")
    page.get_by_role("link", name="Redo this call").click()
    page.get_by_role("button", name="Undo c14").click()
    expect(page.locator("#call-title")).to_contain_text("c15 redo")
    assert "{cents // 100}" in (place / "invoice/money.py").read_text()


def test_what_moved_is_shown_again_before_anything_is_done(place: Path, at: Open) -> None:
    """Whoever confirms has seen what happens."""
    with Workspace.open(place) as workspace:
        worked(workspace)
        page = at("/do/undo?n=1")
        workspace.undo()

        page.get_by_role("button", name="Undo the last call").click()

        expect(page.get_by_role("alert")).to_contain_text("Something has moved since you looked, so nothing was done.")
        assert len(workspace.calls()) == 14
        page.get_by_role("button", name="Undo the last call").click()
        expect(page.locator("#call-title")).to_contain_text("c15 undo")


def test_a_conflict_is_shown_and_nothing_is_lost(place: Path, at: Open) -> None:
    """A person's own work stays."""
    with Workspace.open(place) as workspace:
        worked(workspace)
    page = at("/do/undo?call=7")
    (place / "invoice/money.py").write_text("mine\n")

    page.get_by_role("button", name="Undo c7").click()

    expect(page.locator("h1")).to_have_text("Something is in the way; nothing was changed")
    expect(page.locator(".conflicts")).to_contain_text("invoice/money.py was changed since by somebody else")
    assert (place / "invoice/money.py").read_text() == "mine\n"


def test_a_checkpoint_is_made_and_restored(place: Path, at: Open) -> None:
    """The way back of a whole afternoon."""
    with Workspace.open(place) as workspace:
        agent = worked(workspace)
        page = at("/back")
        page.get_by_label("Name for the present state").fill("lunch")
        page.get_by_role("button", name="Make a checkpoint").click()
        expect(page.get_by_text("lunch", exact=True).first).to_be_visible()
        agent.call("write_file", file_path="notes/more.md", content="x\n")

        page.get_by_role("link", name="Restore…").click()
        expect(page.locator("summary .path")).to_have_text("notes/more.md")
        page.get_by_role("button", name="Go back").click()

        expect(page.locator("#call-title")).to_contain_text("restore")
        assert not (place / "notes/more.md").exists()


def test_a_try_is_accepted_in_part_and_then_whole(place: Path, at: Open) -> None:
    """By ticking what is meant; the rest waits on."""
    with Workspace.open(place) as workspace:
        tried(workspace, "formatter", **{"README.md": "# New\n", "setup.cfg": "[tool]\n", "src/a.py": "x = 1\n"})
        page = at("/board")
        page.get_by_role("link", name="formatter").click()
        page.get_by_label("Tick setup.cfg").check()
        page.get_by_role("button", name="Accept the ticked").click()
        expect(page.locator("summary .path")).to_have_text("setup.cfg")
        page.get_by_role("button", name="Accept 1 path").click()
        expect(page.locator("#call-title")).to_contain_text("c1 accept")
        assert (place / "setup.cfg").read_text() == "[tool]\n"
        assert (place / "README.md").read_text() != "# New\n"

        page.goto("/tries/formatter")
        page.get_by_role("button", name="Accept all").click()
        page.get_by_role("button", name="Accept all").click()

        expect(page.locator("#call-title")).to_contain_text("c2 accept")
        assert (place / "README.md").read_text() == "# New\n"
        assert tries(workspace) == ()


def test_a_directory_of_a_try_is_one_tick_that_keys_reach(place: Path, at: Open) -> None:
    """Source files first; j and k go along the ticks, Space ticks, and Enter opens instead of sending the form."""
    with Workspace.open(place) as workspace:
        made = {f".venv/lib/{number}.py": "x = 1\n" for number in range(150)}
        tried(workspace, "deps", **made, **{"README.md": "# New\n", "src/a.py": "x = 1\n"})
        page = at("/tries/deps")
        expect(page.locator(".pick")).to_have_count(3)
        expect(page.locator(".heap summary")).to_have_text(".venv 150 files added, 900 bytes (generated)")
        expect(page.locator(".heap .names")).not_to_be_visible()

        page.keyboard.press("j")
        expect(page.get_by_label("Tick README.md")).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("j")
        tick = page.get_by_label("Tick all of .venv")
        expect(tick).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".heap .names li")).to_have_count(100)
        expect(page.locator(".heap .names li").first).to_be_visible()
        page.keyboard.press("Space")
        expect(tick).to_be_checked()

        page.get_by_role("link", name="Show what changed in them").click()
        expect(page.locator(".reading")).to_have_count(50)
        expect(page.get_by_role("link", name="More files")).to_be_visible()
        page.go_back()
        page.get_by_label("Tick all of .venv").check()
        page.get_by_role("button", name="Accept the ticked").focus()
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Accept what is ticked of the try deps?")
        expect(page.locator(".heap summary")).to_contain_text(".venv 150 files added")
        page.get_by_role("button", name="Accept what is ticked").click()
        expect(page.locator("#call-title")).to_contain_text("c1 accept")
        assert len(list((place / ".venv/lib").iterdir())) == 150
        assert not (place / "src").exists()
        assert [one.name for one in tries(workspace)] == ["deps"]


def test_a_call_that_waits_appears_is_edited_and_approved(place: Path, at: Open) -> None:
    """While the page is open; the model's next try runs with what the person wrote."""
    with Workspace.open(place) as workspace:
        agent = Agent(workspace)
        page = at("/waiting")
        agent.call("write_file", file_path="release/notes.md", content="# 1.4\n")
        expect(page.locator("#t-a1")).to_contain_text("write_file")
        expect(page.locator(".diff tr.add .code")).to_have_text("# 1.4")

        page.get_by_text("Arguments, which you may edit").click()
        page.get_by_label("content").fill("# 1.4\n\nBetter.\n")
        page.get_by_label("Note to the model").fill("with a reason")
        page.get_by_role("button", name="Approve a1").click()

        expect(page.locator(".done")).to_have_text("a1 is approved.")
        agent.call("write_file", file_path="release/notes.md", content="# 1.4\n")
        assert (place / "release/notes.md").read_bytes() == b"# 1.4\n\nBetter.\n"


def test_a_call_that_waits_is_denied_with_a_note(place: Path, at: Open) -> None:
    """The model is told why."""
    with Workspace.open(place) as workspace:
        agent = Agent(workspace)
        agent.call("write_file", file_path="release/notes.md", content="# 1.4\n")
        page = at("/waiting")
        page.get_by_label("Note to the model").fill("not before Monday")
        page.get_by_role("button", name="Deny a1").click()

        expect(page.locator(".done")).to_have_text("a1 is denied.")
        assert "not before Monday" in agent.call("write_file", file_path="release/notes.md", content="# 1.4\n").text
        assert not (place / "release").exists()
