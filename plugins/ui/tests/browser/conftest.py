"""The page in a real Chromium, which may speak to nobody but the page."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from plugins.ui.tests.scene import place_at
from plugins.ui.tests.serving import served

PATIENCE = 60_000
"""Milliseconds after which something that should happen is taken not to; the machine may be busy."""

IMAGES = Path(__file__).parents[4] / "docs/images"

Open = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser on a busy machine takes its time."""
    for item in items:
        item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests; a name of the web leads to this machine, and all others nowhere."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert program is not None, "these tests need Chromium; install it: apt-get install chromium"
    arguments = [
        "--host-resolver-rules=MAP rebound.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
    ]
    if os.getuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A small project whose rules ask about what is released."""
    return place_at(tmp_path / "invoices")


class Seen:
    """Everything that a browser asked for and complained about."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def watch(self, context: BrowserContext) -> None:
        """Keep what happens in all pages of a context."""
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("dialog", lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))


@pytest.fixture
def seen() -> Seen:
    """What the browser of this test did."""
    return Seen()


@pytest.fixture
def url(place: Path) -> Iterator[str]:
    """The address that `wink ui` printed."""
    with served(place) as printed:
        yield printed


@pytest.fixture
def at(browser: Browser, url: str, seen: Seen) -> Iterator[Open]:
    """Opens a place of the page, in a browser that got the address; nothing but the page may be asked for anything."""
    parts = urlsplit(url)
    base = f"{parts.scheme}://{parts.netloc}"
    with ExitStack() as contexts:

        def opened(path: str = "/", **options: Any) -> Page:
            context = contexts.enter_context(browser.new_context(base_url=base, **options))
            context.set_default_timeout(PATIENCE)
            seen.watch(context)
            page = context.new_page()
            page.goto(url)
            page.wait_for_url("/")
            if path != "/":
                page.goto(path)
            return page

        yield opened
    elsewhere = [asked for asked in seen.requests if not asked.startswith((f"{base}/", "data:", "blob:"))]
    assert not elsewhere
    refused = "Failed to load resource: the server responded with a status of 4"
    assert [said for said in seen.complaints if not said.startswith(refused)] == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rules of axe-core, from npm."""
    place = Path(os.environ.get("WINK_NPM") or tmp_path_factory.mktemp("npm")).absolute() / "axe-core"
    source = place / "node_modules/axe-core/axe.min.js"
    if not source.exists():
        place.mkdir(parents=True, exist_ok=True)
        command = [
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--prefix",
            str(place),
            "axe-core@4",
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=240)
    return source.read_text()
