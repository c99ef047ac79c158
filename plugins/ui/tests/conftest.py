"""The page without a browser: its application is asked directly, as a browser that has the token would ask it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from httpx2 import Response
from plugins.ui.tests.scene import Agent, place_at
from starlette.testclient import TestClient

from wink.workspace import Workspace
from wink_ui._app import Page, page_app

HERE = "http://127.0.0.1:8765"
TOKEN = "the-token"


@dataclass
class Visitor:
    """Asks for pages, sends their forms, and reads what they say."""

    client: TestClient

    def get(self, path: str, status: int = 200, *, part: bool = False) -> str:
        """A page, or with `part` what htmx would swap in; its text as HTML."""
        answer = self.client.get(path, headers={"hx-request": "true"} if part else {}, follow_redirects=False)
        assert answer.status_code == status, answer.text
        return answer.text

    def post(self, to: str, **fields: str | list[str]) -> Response:
        """Send a form as the page itself would."""
        headers = {"origin": HERE, "sec-fetch-site": "same-origin"}
        return self.client.post(to, data=fields, headers=headers, follow_redirects=False)

    def confirm(self, to: str, **fields: str | list[str]) -> Response:
        """Look at what an act would do, and confirm it."""
        seen = self.post(to, **fields)
        assert seen.status_code == 200, seen.text
        return self.post(to, **fields, seal=seal_of(seen.text))


def seal_of(page: str) -> str:
    """The first seal on a page."""
    found = re.search(r'name="seal" value="([0-9a-f]{64})"', page)
    assert found is not None, page
    return found[1]


def text_of(page: str) -> str:
    """What a person reads of a page."""
    without_inline = re.sub(r"</?(span|i|b|bdi|strong|code|kbd|time|a)\b[^>]*>", "", page)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", without_inline)).split())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A small project whose rules ask about what is released."""
    return place_at(tmp_path / "invoices")


@pytest.fixture
def workspace(place: Path) -> Iterator[Workspace]:
    """The project as another process has it open: the page opens its own."""
    with Workspace.open(place) as opened:
        yield opened


@pytest.fixture
def agent(workspace: Workspace) -> Agent:
    """Somebody who makes calls."""
    return Agent(workspace)


@pytest.fixture
def visit(place: Path) -> Iterator[Callable[[], Visitor]]:
    """Opens the page with the token; once for a test, when there is something to see."""
    pages: list[Page] = []

    def opened() -> Visitor:
        page = Page(str(place))
        pages.append(page)
        client = TestClient(page_app(page, TOKEN), base_url=HERE)
        assert client.get(f"/?token={TOKEN}").status_code == 200
        return Visitor(client)

    yield opened
    for page in pages:
        page.close()
