"""A person watches: the timeline, what happens meanwhile, and each call."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import expect
from plugins.ui.tests.browser.conftest import PATIENCE, Open
from plugins.ui.tests.scene import OWN, Agent, tried, worked
from plugins.ui.tests.serving import WINK

from wink.transactions import CommitEntry
from wink.workspace import Workspace

expect.set_options(timeout=PATIENCE)


def test_a_call_is_chosen_from_the_timeline(place: Path, at: Open) -> None:
    """It opens beside the list, with its diff in colour, and the address is its own."""
    with Workspace.open(place) as workspace:
        worked(workspace)
    page = at()
    expect(page.locator("#calls li.row")).to_have_count(13)
    expect(page.locator("#live")).to_have_attribute("data-state", "on")

    page.locator("#c4").click()

    expect(page.locator("#call-title")).to_contain_text("c4 edit_file")
    expect(page.locator("#c4")).to_have_attribute("aria-current", "true")
    expect(page.locator(".diff tr.add .code").first).to_have_text('    whole, _, cents = text.strip().partition(".")')
    expect(page.locator(".diff .t-k").first).to_have_text("def")
    assert page.url.endswith("/calls/4")
    page.reload()
    expect(page.locator("#call-title")).to_contain_text("c4 edit_file")
    page.go_back()
    expect(page.locator("#detail .empty")).to_be_visible()


def test_calls_of_another_process_appear_and_are_announced(place: Path, at: Open) -> None:
    """Without a reload, from the very first one on; who cannot see is told."""
    page = at()
    expect(page.locator("#calls .nothing")).to_be_visible()
    command = [*WINK, "call", "write_file", "--workspace", str(place)]

    subprocess.run([*command, "file_path=a.txt", "content=one"], check=True, capture_output=True, timeout=60)

    expect(page.locator("#c1 .tool")).to_have_text("write_file")
    expect(page.locator("#glance")).to_contain_text("Calls")
    expect(page.locator("#announce")).to_have_text("1 new call, the newest: write_file ok")
    page.locator("#c1").focus()
    subprocess.run([*command, "file_path=release/a", "content=x"], check=False, capture_output=True, timeout=60)
    expect(page.locator("#c2 .word")).to_have_text("denied")
    expect(page.locator("#waiting-count")).to_have_text("1")
    expect(page.locator("#c1")).to_be_focused()
    with Workspace.open(place) as workspace:
        workspace.undo(1)
    expect(page.locator("#c1 .word")).to_have_text("undone")


def test_typing_filters_and_the_address_keeps_it(place: Path, at: Open) -> None:
    """What is new appears only if it is wanted."""
    with Workspace.open(place) as workspace:
        agent = worked(workspace)
        page = at()
        page.locator("#search").fill("accountants")
        expect(page.locator("#calls li.row")).to_have_count(5)
        page.get_by_label("Outcome").select_option("ok")
        page.get_by_label("Tool").select_option("planning_setup_plan")
        expect(page.locator("#calls li.row")).to_have_count(1)
        page.wait_for_url(re.compile("text=accountants&path=&outcome=ok&tool=planning_setup_plan"))

        agent.call("ls")
        agent.call("planning_setup_plan", objective="Ask the accountants", initial_steps=["a"])

        expect(page.locator("#calls li.row")).to_have_count(2)
        page.reload()
        expect(page.locator("#calls li.row")).to_have_count(2)
        page.locator("#c1").click()
        page.locator("#close").click()
        expect(page.locator("#calls li.row")).to_have_count(2)


def test_ten_thousand_calls(place: Path, at: Open) -> None:
    """The newest are there at once, the others as they are asked for, and a search looks through all."""
    with Workspace.open(place) as workspace:
        for number in range(10_000):
            workspace.record.commit(
                CommitEntry(
                    f"t{number}", "default", f"n{number}", "read_file", "demo", f'{{"file_path": "f{number}.py"}}',
                    "committed", f"the text of {number}", datetime.now(UTC), timedelta(milliseconds=1), (), (), (),
                )
            )  # fmt: skip
    page = at()
    expect(page.locator("#calls li.row")).to_have_count(50)
    expect(page.locator("#glance")).to_contain_text("10,000")

    page.get_by_role("link", name="Older calls").click()
    expect(page.locator("#calls li.row")).to_have_count(100)
    expect(page.locator("#c9901")).to_be_visible()
    page.locator("#search").fill("text of 4711")
    expect(page.locator("#calls li.row")).to_have_count(1)
    page.locator("#c4712").click()
    expect(page.locator(".sent")).to_have_text("the text of 4711")


HOSTILE = '</script><img src=x onerror="alert(1)"><script>alert(2)</script>\u202egnp\x1b[31m<svg onload=alert(3)>'


def test_hostile_names_and_output_are_text(place: Path, at: Open) -> None:
    """No script runs, no element appears, nothing turns the text around; `at` fails on any dialog."""
    with Workspace.open(place) as workspace:
        agent = Agent(workspace)
        agent.call(HOSTILE, **{HOSTILE: HOSTILE})
        agent.call(OWN, files={"a&lt;b&gt;'\u202e.py": HOSTILE})
        agent.call("write_file", file_path="release/a.md", content=f"x</textarea>{HOSTILE}")
        tried(workspace, "odd", **{'"><img src=x onerror=alert(1)>': HOSTILE})
    page = at()
    for path in ("/", "/calls/1", "/calls/2", "/waiting", "/tries/odd", "/do/undo?call=2", "/do/accept?try=odd"):
        page.goto(path)
        assert page.locator("img, main svg, main script").count() == 0
        assert "\u202e" not in page.locator("body").inner_text()
    page.goto("/calls/1")
    expect(page.locator("#call-title .tool")).to_contain_text('<img src=x onerror="alert(1)"><script>alert(2)</script>')
    expect(page.locator("#call-title .ctl").first).to_have_text(r"\u202e")
    page.goto("/calls/2")
    expect(page.locator("summary .path")).to_have_text(r"a&lt;b&gt;'\u202e.py")


def test_without_scripts_all_of_it_still_works(place: Path, at: Open) -> None:
    """Links are links, and forms are forms."""
    with Workspace.open(place) as workspace:
        worked(workspace)
    page = at(java_script_enabled=False)

    page.locator("#c9").click()
    expect(page.locator("#call-title")).to_contain_text("c9 write_file")
    page.get_by_role("link", name="Undo this call").click()
    page.get_by_role("button", name="Undo c9").click()

    expect(page.locator(".done")).to_contain_text("it can be undone too")
    assert not (place / "notes").exists()
