"""Keys, screen readers, small screens, and both colour schemes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect
from plugins.ui.tests.browser.conftest import IMAGES, PATIENCE, Open, Seen
from plugins.ui.tests.scene import tried, worked

from wink.workspace import Workspace
from wink_ui import static_page

PLACES = (
    "/",
    "/calls/4",
    "/calls/6",
    "/waiting",
    "/board",
    "/tries/deps/update",
    "/tries/formatter",
    "/tries/deps",
    "/changes?try=deps",
    "/state",
    "/back",
    "/do/undo?call=7",
    "/do/undo?call=4",
)


@pytest.fixture(autouse=True)
def scene(place: Path) -> None:
    """Something of everything."""
    with Workspace.open(place) as workspace:
        worked(workspace)
        tried(workspace)
        tried(workspace, "deps", **{".venv/a.py": "x\n", "src/a.py": "x\n"})
        workspace.checkpoint("before-the-notes")
        workspace.undo(9)


def focused(page: Page) -> str:
    """What has the focus."""
    return page.evaluate("document.activeElement.id || document.activeElement.textContent.trim().slice(0, 30)")


def test_everything_is_done_with_keys(place: Path, at: Open) -> None:
    """Along the calls, into one and out of it, to the search and to help."""
    page = at()
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    keys = page.keyboard
    keys.press("j")
    keys.press("j")
    keys.press("k")
    keys.press("j")
    assert focused(page) == "c13"
    keys.press("Enter")
    expect(page.locator("#call-title")).to_contain_text("c13")
    expect(page.locator("#call-title")).to_be_focused()
    keys.press("j")
    assert focused(page) == "c12"
    keys.press("Escape")
    expect(page.locator("#detail .empty")).to_be_visible()
    expect(page.locator("#c13")).to_be_focused()
    keys.press("/")
    assert focused(page) == "search"
    page.keyboard.type("jk?")
    expect(page.locator("#calls .nothing")).to_be_visible()
    keys.press("Escape")
    keys.press("?")
    expect(page.locator("#help")).to_be_visible()
    keys.press("Escape")
    expect(page.locator("#help")).not_to_be_visible()


def test_an_undo_with_the_keyboard_alone(place: Path, at: Open) -> None:
    """Every control is reached with Tab, in the order of the page, and shows that it is."""
    page = at("/calls/7")
    reached: list[str] = []
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.append(focused(page))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline not in ("none", ""), reached
        if reached[-1].startswith("Undo this call"):
            break
    assert reached[0] == "Skip to the content"
    assert "search" in reached
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Undo c7?")
    page.locator("#close").focus()
    for _ in range(10):
        page.keyboard.press("Tab")
        if focused(page) == "Undo c7":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#call-title")).to_contain_text("undo")


def test_nothing_is_wider_than_a_small_screen(at: Open) -> None:
    """360 pixels; one thing at a time, and the way back."""
    page = at(viewport={"width": 360, "height": 740})
    for path in PLACES:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    page.goto("/")
    page.locator("#c7").click()
    expect(page.locator("#call-title")).to_be_visible()
    expect(page.locator("#list")).not_to_be_visible()
    page.locator("#close").click()
    expect(page.locator("#list")).to_be_visible()


def test_who_wants_no_motion_gets_none(at: Open) -> None:
    """Not even the small dot."""
    page = at(reduced_motion="reduce")
    expect(page.locator("#live")).to_have_attribute("data-state", "on")

    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_accessibility_is_broken(at: Open, axe: str, scheme: str) -> None:
    """Landmarks, names, contrast and the rest, of every page."""
    page = at(color_scheme=scheme)
    broken: list[str] = []
    for path in PLACES:
        page.goto(path)
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        for one in found["violations"]:
            broken += [
                f"{path}: {one['id']}: {node['html'][:150]} {node['failureSummary'][:200]}" for node in one["nodes"]
            ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_exported_page_is_a_file_for_everybody(
    browser: Browser, place: Path, tmp_path: Path, axe: str, seen: Seen, scheme: Literal["light", "dark"]
) -> None:
    """It asks for nothing, its policy has nothing to complain about, and a link to a call opens that."""
    with Workspace.open(place) as workspace:
        (tmp_path / "s.html").write_text(static_page(workspace, "default")[0])
    file = (tmp_path / "s.html").as_uri()
    with browser.new_context(color_scheme=scheme, viewport={"width": 360, "height": 740}) as context:
        context.set_default_timeout(PATIENCE)
        seen.watch(context)
        page = context.new_page()
        page.goto(f"{file}#c4")
        expect(page.locator("#c4 table.diff")).to_be_visible()
        expect(page.locator("#c6")).not_to_be_visible()
        page.locator("summary.to").filter(has_text="c6").click()
        expect(page.locator("#c6")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.evaluate("getComputedStyle(document.body).fontFamily").startswith("system-ui")
        assert {url.partition("#")[0] for url in seen.requests} == {file}
        assert seen.complaints == []
    with browser.new_context(bypass_csp=True, color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(f"{file}#c4")
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(one["id"], node["html"][:150]) for one in found["violations"] for node in one["nodes"]] == []


@pytest.mark.parametrize(
    ("name", "scheme", "path", "size"),
    [
        ("page-call-light", "light", "/calls/4", (1280, 860)),
        ("page-call-dark", "dark", "/calls/4", (1280, 860)),
        ("page-undo-light", "light", "/do/undo?call=7", (1280, 620)),
        ("page-waiting-light", "light", "/waiting", (1280, 700)),
        ("page-try-dark", "dark", "/tries/formatter", (1280, 520)),
        ("page-small-light", "light", "/", (360, 640)),
    ],
)
def test_pictures(at: Open, tmp_path: Path, name: str, scheme: str, path: str, size: tuple[int, int]) -> None:
    """What the guide shows; written there with `WINK_IMAGES=1`."""
    images = IMAGES if os.environ.get("WINK_IMAGES") else tmp_path
    page = at(path, color_scheme=scheme, viewport={"width": size[0], "height": size[1]})
    expect(page.locator("#live")).to_have_attribute("data-state", "on")

    page.screenshot(path=images / f"{name}.png", animations="disabled")

    assert (images / f"{name}.png").read_bytes().startswith(b"\x89PNG")
