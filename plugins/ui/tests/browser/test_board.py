"""Four tries at work and an attached agent, side by side: programs write, conflict and end while somebody looks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from plugins.ui.tests.browser.conftest import IMAGES, PATIENCE, Open
from plugins.ui.tests.serving import WINK

from wink.filesystem import FileTransaction
from wink.transactions import CommitEntry
from wink.workspace import Workspace, apply
from wink_sandbox import People
from wink_sandbox.tries import tries

expect.set_options(timeout=PATIENCE)
SESSION = "claude-code-5e551011"

WORK = {
    "rounding": "sed -i 's/int(whole)/round(float(whole))/' invoice/money.py",
    "parser": "sed -i 's/int(whole)/decimal(whole)/' invoice/money.py; echo '# Changes' > CHANGES.md",
    "tests": "mkdir tests; for n in 1 2 3 4 5 6 7 8 9; do echo 'assert 1' > tests/test_$n.py; done",
    "docs": "echo 'Amounts have two digits.' >> README.md",
}


class Program:
    """`wink try` with a program that writes, and waits for a line before it goes on and ends."""

    def __init__(self, place: Path, name: str, script: str, then: str = ":") -> None:
        command = [*WINK, "try", "-q", "--name", name, "--", "sh", "-c", f"{script}; read line; {then}"]
        self.running = subprocess.Popen(
            command, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def go_on(self) -> None:
        """Let it end."""
        self.running.communicate(b"\n", timeout=PATIENCE / 1000)


@pytest.fixture
def programs(place: Path) -> Iterator[dict[str, Program]]:
    """All of them, at work."""
    with ExitStack() as stack:
        found: dict[str, Program] = {}
        for name, script in WORK.items():
            found[name] = Program(place, name, script, "echo later > later.txt" if name == "tests" else ":")
            stack.callback(found[name].running.communicate)
            stack.callback(found[name].running.kill)
        yield found


def card(page: Page, name: str) -> Locator:
    """The card of a try."""
    return page.locator(f"#try-{name}")


def test_four_tries_at_work_are_followed_and_acted_on(
    place: Path, programs: dict[str, Program], at: Open, axe: str, tmp_path: Path
) -> None:
    """What each does and changes appears by itself; update, accept with a check and drop are done from there."""
    page = at("/board", viewport={"width": 1440, "height": 900})
    expect(page.locator(".board > .card")).to_have_count(4)
    for name in programs:
        expect(card(page, name).locator(".word").first).to_have_text("running")
    expect(card(page, "tests")).to_contain_text("10 paths changed")
    expect(card(page, "rounding")).to_contain_text("in conflict with parser: invoice/money.py")
    expect(card(page, "parser")).to_contain_text("in conflict with rounding: invoice/money.py")
    expect(page.locator("#tries-count")).to_have_text("4")

    with Workspace.open(place) as workspace:
        # An agent that is attached writes in the workspace itself, and one of the programs wants a host.
        number = workspace.record.turn(SESSION, "claude-code", "Say in the README what amounts are kept in")

        def work(part: FileTransaction) -> None:
            part.handle.write("README.md", "# Invoices\n\nAmounts are kept in whole cents.\n")

        def told(made: CommitEntry) -> CommitEntry:
            return replace(made, run=f"t{number}", prompt="claude-code")

        apply(workspace, "Write", {"file_path": "README.md"}, work, session=SESSION, told=told)
        line = "pip in wink try"
        people = People(workspace.record.approvals, "default", line, list[str]().append, "", call_id="try tests")
        request = people.ask("registry.test", 443)
        agent = page.locator(f"#agent-{number}")
        expect(agent).to_contain_text("Say in the README what amounts are kept in")
        expect(agent).to_contain_text("last c1 Write")
        expect(agent).to_contain_text("in conflict with docs: README.md")
        expect(card(page, "tests")).to_contain_text(f"waits for you {request.id} network access")
        expect(card(page, "docs")).to_contain_text("in conflict with the workspace: README.md")
        expect(page.locator("#waiting-count")).to_have_text("1")

        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(one["id"], node["html"][:150]) for one in found["violations"] for node in one["nodes"]] == []
        images = IMAGES if os.environ.get("WINK_IMAGES") else tmp_path
        page.screenshot(path=images / "page-board-light.png", animations="disabled", full_page=True)
        assert (images / "page-board-light.png").read_bytes().startswith(b"\x89PNG")

        card(page, "tests").get_by_role("link", name=request.id).click()
        page.get_by_role("button", name=f"Deny {request.id}").click()
        page.get_by_role("navigation").get_by_role("link", name="Board").click()
        expect(card(page, "tests")).not_to_contain_text("waits for you")

        # A program that runs keeps its try to itself; when it has ended the card says so.
        card(page, "tests").get_by_role("button", name="Accept…").click()
        expect(page.get_by_role("main")).to_contain_text("a program is still running in the try 'tests'")
        page.goto("/board")
        programs["tests"].go_on()
        expect(card(page, "tests")).to_contain_text("status 0")
        expect(card(page, "tests")).to_contain_text("11 paths changed")
        card(page, "tests").get_by_role("button", name="Accept…").click()
        page.get_by_label("Check first").fill("test ! -e later.txt")
        page.get_by_role("button", name="Accept all").click()
        expect(page.locator("h1")).to_have_text("The check has not passed; nothing was accepted")
        assert not (place / "later.txt").exists()
        page.goto("/board")
        card(page, "tests").get_by_role("button", name="Accept…").click()
        page.get_by_label("Check first").fill("cat later.txt")
        page.get_by_role("button", name="Accept all").click()
        expect(page.locator("#call-title")).to_contain_text("accept")
        assert (place / "later.txt").read_text() == "later\n"

        programs["docs"].go_on()
        page.get_by_role("navigation").get_by_role("link", name="Board").click()
        expect(card(page, "docs")).to_contain_text("status 0")
        card(page, "docs").get_by_role("link", name="Update…").click()
        expect(page.locator("#main")).to_contain_text("README.md")
        page.get_by_role("button", name="Update", exact=True).click()
        page.get_by_role("navigation").get_by_role("link", name="Board").click()

        programs["parser"].go_on()
        expect(card(page, "parser")).to_contain_text("status 0")
        card(page, "parser").get_by_role("button", name="Drop…").click()
        page.get_by_role("button", name="Drop all").click()
        page.wait_for_url("**/board")
        expect(card(page, "rounding")).not_to_contain_text("in conflict")
        assert {one.name for one in tries(workspace)} == {"docs", "rounding"}
        programs["rounding"].go_on()
        expect(card(page, "rounding")).to_contain_text("status 0")
