"""A person reads a run: as a conversation, and as all that it changed."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from playwright.sync_api import Browser, expect
from plugins.ui.tests.browser.conftest import PATIENCE, Open, Seen
from plugins.ui.tests.scene import OWN, Agent, tried

from wink.adapters import ModelTurn, RecordJournal
from wink.workspace import Workspace
from wink_ui import static_page

expect.set_options(timeout=PATIENCE)

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HOSTILE = '</div><img src=x onerror="alert(1)"><script>alert(2)</script>\u202e'


def recorded(place: Path) -> None:
    """A run of fifty turns, each with a call that writes one file."""
    with Workspace.open(place) as workspace, RecordJournal.begin(workspace, plan={"task": HOSTILE}) as journal:
        agent = Agent(workspace, run=journal.context)
        for turn in range(1, 51):
            journal.turned(turn, ModelTurn(f"turn {turn} {HOSTILE}", thinking=HOSTILE))
            agent.call(OWN, files={f"src/{turn:02}.py": f"def number() -> int:\n    return {turn}\n"})
            journal.replied(turn, (), "")
        journal.ended("")


def test_a_run_is_read_with_the_keys_and_a_link_opens_where_it_points(place: Path, at: Open) -> None:
    """Calls stand in their turns; what a model said is text, whatever it says."""
    recorded(place)
    page = at("/runs/1")
    expect(page.locator("li.turn")).to_have_count(40)
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.locator("body").inner_text()

    page.get_by_role("link", name="Later turns").click()
    expect(page.locator("li.turn")).to_have_count(50)
    page.keyboard.press("j")
    expect(page.locator("#c1")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#call-title")).to_contain_text("c1")
    page.goto("/calls/45")
    page.get_by_role("link", name="r1, turn 45").click()
    expect(page.locator("#c45")).to_have_attribute("aria-current", "true")


def test_what_was_viewed_stays_so_and_the_tree_leads_to_a_file(place: Path, at: Open) -> None:
    """After a reload too; the same file with another change is not taken for viewed."""
    recorded(place)
    page = at("/changes?run=r1")
    expect(page.locator(".reading")).to_have_count(50)

    page.locator(".tree a").nth(4).click()
    expect(page.locator(".reading").nth(4).locator("summary")).to_be_focused()
    page.keyboard.press("v")
    expect(page.locator(".reading").nth(4)).not_to_have_attribute("open", "")
    page.reload()
    expect(page.locator(".tree a.is-viewed")).to_have_text("05.py")
    with Workspace.open(place) as workspace, RecordJournal.begin(workspace) as journal:
        Agent(workspace, run=journal.context).call(OWN, files={"src/05.py": "other\n"})
    page.goto("/changes?run=r2")
    expect(page.locator(".reading")).to_have_count(1)
    expect(page.locator(".tree a.is-viewed")).to_have_count(0)
    page.goto("/changes?run=r1")
    page.locator("#search").fill("/4")
    page.locator("#search").press("Enter")
    expect(page.locator(".reading")).to_have_count(10)
    page.get_by_role("link", name="Side by side").click()
    expect(page.locator(".diff.wide").first).to_be_visible()
    page.wait_for_url(re.compile("view=side"))


def test_images_are_shown_and_an_svg_runs_nothing(place: Path, at: Open) -> None:
    """Those before and after stand beside each other; `at` fails on any dialog."""
    (place / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
    with Workspace.open(place) as workspace:
        one = tried(
            workspace,
            "odd",
            **{"a.svg": "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8' onload='alert(1)'/>"},
        )
        (Path(one.overlay.upper) / "b.png").write_bytes(PIXEL)
    page = at("/changes?try=odd")

    expect(page.locator("figure img")).to_have_count(3)
    for number in range(3):
        page.locator("figure img").nth(number).scroll_into_view_if_needed()
        page.wait_for_function("(at) => document.querySelectorAll('figure img')[at].naturalWidth > 0", arg=number)


def test_images_of_an_exported_page_are_in_it(browser: Browser, place: Path, tmp_path: Path, seen: Seen) -> None:
    """Its policy lets them be shown, and they ask for nothing."""
    with Workspace.open(place) as workspace:
        one = tried(workspace, "pictures", **{"a.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"})
        (Path(one.overlay.upper) / "b.png").write_bytes(PIXEL)
        one.accept()
        (tmp_path / "s.html").write_text(static_page(workspace, "default")[0])
    file = (tmp_path / "s.html").as_uri()
    with browser.new_context() as context:
        context.set_default_timeout(PATIENCE)
        seen.watch(context)
        page = context.new_page()
        page.goto(f"{file}#c1")
        expect(page.locator("figure img")).to_have_count(1)
        page.wait_for_function("document.querySelector('figure img').naturalWidth > 0")
    assert {url.partition("#")[0] for url in seen.requests if not url.startswith("data:")} == {file}
    assert seen.complaints == []
