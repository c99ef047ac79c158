"""The file that `wink ui` gives a browser, in a real one."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Browser
from plugins.ui.tests.browser.conftest import PATIENCE

from wink_ui import leading_to


def test_the_file_leads_to_the_page(browser: Browser, url: str) -> None:
    """By itself, and with the cookie; neither the file's address nor the token stays in that of the page."""
    parts = urlsplit(url)
    with leading_to(url) as file, browser.new_context() as context:
        page = context.new_page()
        page.goto(file)
        page.wait_for_url(f"{parts.scheme}://{parts.netloc}/", timeout=PATIENCE)
        assert page.get_by_role("link", name="Waiting").count() > 0
        assert page.evaluate("document.referrer") == ""
