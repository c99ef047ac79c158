"""A person looks after several workspaces on one page."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from plugins.ui.tests.browser.conftest import IMAGES, PATIENCE, Open
from plugins.ui.tests.browser.test_reading import PIXEL
from plugins.ui.tests.scene import OWN, Agent, place_at, tried, worked
from plugins.ui.tests.serving import WINK, served

from wink.workspace import Workspace

expect.set_options(timeout=PATIENCE)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A second project."""
    return place_at(tmp_path / "parcels")


@pytest.fixture
def url(place: Path, other: Path, tmp_path: Path) -> Iterator[str]:
    """The address of both, and of one that cannot be read."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/.wink").write_text("x")
    for one in (place, other):
        with Workspace.open(one) as workspace:
            worked(workspace)
            pictures = tried(workspace)
            (Path(pictures.overlay.upper) / "b.png").write_bytes(PIXEL)
    with served(place, other, tmp_path / "broken") as printed:
        yield printed


def test_the_list_follows_all_of_them_and_leads_into_each(other: Path, at: Open) -> None:
    """What happens in one appears without a reload; the way back is at the top."""
    page = at()
    expect(page.locator("#workspaces > li")).to_have_count(3)
    expect(page.locator("#workspaces .warning")).to_have_count(1)
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    command = [*WINK, "call", "write_file", "--workspace", str(other), "file_path=a.txt", "content=one"]

    subprocess.run(command, check=True, capture_output=True, timeout=60)

    expect(page.locator("#workspaces > li").nth(1)).to_contain_text("c14 write_file")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#c14 .tool")).to_have_text("write_file")
    page.get_by_role("link", name="Workspaces").click()
    page.get_by_role("link", name="c13").click()
    expect(page.locator("#call-title")).to_contain_text("c13 write_file")
    assert page.url.endswith("/w/invoices/calls/13")


def test_all_of_a_page_works_below_its_prefix(place: Path, other: Path, at: Open) -> None:
    """It follows its own workspace, searches, opens calls and diffs, shows images, and takes back."""
    page = at("/w/parcels/")
    expect(page.locator("#calls li.row")).to_have_count(13)
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    with Workspace.open(place) as first, Workspace.open(other) as second:
        Agent(first).call("ls")
        Agent(second).call(OWN, files={"src/a.py": "x = 1\n"})
    expect(page.locator("#calls li.row")).to_have_count(14)
    expect(page.locator("#c14 .tool")).to_have_text(OWN)
    page.locator("#search").fill("accountants")
    expect(page.locator("#calls li.row")).to_have_count(5)
    page.wait_for_url("**/w/parcels/?text=accountants*")
    page.locator("#c1").click()
    expect(page.locator("#call-title")).to_contain_text("c1 ")
    page.locator("#close").click()

    page.goto("/w/parcels/waiting")
    page.get_by_role("button", name="Deny a1").click()
    expect(page.locator(".done")).to_contain_text("a1 is denied")
    assert page.url.endswith("/w/parcels/waiting?done=denied&request=a1")

    page.goto("/w/parcels/calls/9")
    page.get_by_role("link", name="Undo this call").click()
    page.get_by_role("button", name="Undo c9").click()
    expect(page.locator(".done")).to_contain_text("it can be undone too")
    assert page.url.endswith("/w/parcels/calls/15?done=undo")
    assert [(one / "notes").exists() for one in (place, other)] == [True, False]

    page.goto("/w/parcels/changes?try=formatter")
    page.locator(".tree a").first.click()
    page.keyboard.press("v")
    expect(page.locator(".tree a.is-viewed")).to_have_count(1)
    page.locator("figure img").first.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('figure img').naturalWidth > 0")
    page.goto("/w/invoices/changes?try=formatter")
    expect(page.locator(".tree a")).to_have_count(3)
    expect(page.locator(".tree a.is-viewed")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_is_for_everybody(at: Open, axe: str, scheme: str) -> None:
    """No rule of accessibility is broken, and it fits a small screen."""
    page = at(color_scheme=scheme, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(one["id"], node["html"][:150]) for one in found["violations"] for node in one["nodes"]] == []


def test_a_picture_of_the_list(at: Open, tmp_path: Path) -> None:
    """What the guide shows; written there with `WINK_IMAGES=1`."""
    images = IMAGES if os.environ.get("WINK_IMAGES") else tmp_path
    page = at(viewport={"width": 1280, "height": 500})
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    for place in page.locator("#workspaces .path, #workspaces .warning").all():
        place.evaluate(
            "(one, here) => { one.textContent = one.textContent.replaceAll(here, '/home/me'); }", str(tmp_path)
        )

    page.screenshot(path=images / "page-workspaces-light.png", animations="disabled")

    assert (images / "page-workspaces-light.png").read_bytes().startswith(b"\x89PNG")
