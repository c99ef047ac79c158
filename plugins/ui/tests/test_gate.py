"""Who is let in, and what every answer says to the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plugins.ui.tests.conftest import HERE, TOKEN, Visitor
from starlette.testclient import TestClient

from wink_ui._app import Page, page_app

EVERYTHING = (
    "/", "/rows", "/glance", "/calls/1", "/calls/1/files/0", "/calls/1/prompt", "/waiting", "/board", "/tries/a", "/state", "/back",
    "/slices/1", "/do/undo", "/do/redo", "/do/restore", "/do/accept", "/do/drop", "/live", "/static/page.css",
    "/favicon.ico", "/nothing",
)  # fmt: skip


@pytest.fixture
def stranger(place: Path) -> Iterator[TestClient]:
    """Somebody who knows where the page is, and no more."""
    page = Page(str(place))
    yield TestClient(page_app(page, TOKEN), base_url=HERE)
    page.close()


@pytest.mark.parametrize("path", EVERYTHING)
@pytest.mark.parametrize("cookie", [None, "wrong", "", TOKEN + "x", TOKEN[:-1]])
def test_nothing_is_shown_without_the_token(stranger: TestClient, path: str, cookie: str | None) -> None:
    """Every address, also those of files and of what does not exist."""
    headers = {} if cookie is None else {"cookie": f"wink-ui-8765={cookie}"}

    answer = stranger.get(path, headers=headers)

    assert answer.status_code == 403
    assert (
        answer.text == "wink: this page opens only with the address that `wink ui` printed; copy it from the terminal\n"
    )


@pytest.mark.parametrize(
    "path", ["/?token=wrong", "/?token=", "/?token=wrong&token=" + TOKEN, "/waiting?token=" + TOKEN]
)
def test_a_wrong_token_in_the_address_opens_nothing(stranger: TestClient, path: str) -> None:
    """And the right one only where the address that was printed leads."""
    answer = stranger.get(path)

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_changes_need_the_token_too(stranger: TestClient) -> None:
    """A form is no way around it."""
    headers = {"origin": HERE, "sec-fetch-site": "same-origin"}

    for path in ("/do/undo", "/approvals/1", "/checkpoints"):
        assert stranger.post(path, data={"token": TOKEN}, headers=headers).status_code == 403


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have(stranger: TestClient) -> None:
    """And it leaves the address."""
    answer = stranger.get(f"/?token={TOKEN}")

    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 200
    assert cookie == f"wink-ui-8765={TOKEN}; HttpOnly; Path=/; SameSite=strict"
    assert TOKEN not in answer.text
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8765", "127.0.0.1.evil.example:8765", "localhost.evil.example", "127.0.0.2:8765",
        "0.0.0.0:8765", "[::]:8765", "127.0.0.1:8765:1", "127.0.0.1:x", "user@127.0.0.1:8765", "2130706433:8765", "",
    ],
)  # fmt: skip
def test_a_name_that_was_made_to_lead_here_is_refused(visit: Callable[[], Visitor], host: str) -> None:
    """DNS rebinding: the browser sends the name that it was given."""
    answer = visit().client.get("/", headers={"host": host, "cookie": f"wink-ui-8765={TOKEN}"})

    assert answer.status_code == 403
    assert "<" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_the_names_of_this_machine_are_not(visit: Callable[[], Visitor], host: str) -> None:
    """However a person has typed it."""
    headers = {"host": host, "cookie": f"wink-ui-8765={TOKEN}"}

    assert visit().client.get("/", headers=headers).status_code == 200


OTHERS = (
    {"origin": "http://evil.example"},
    {"origin": "https://127.0.0.1:8765"},
    {"origin": "http://127.0.0.1:9999"},
    {"origin": "http://localhost:8765"},
    {"origin": "null"},
    {"origin": "null", "sec-fetch-site": "cross-site"},
    {"origin": HERE, "sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "made up"},
)


@pytest.mark.parametrize("headers", OTHERS)
def test_what_another_page_asks_for_is_refused(visit: Callable[[], Visitor], headers: dict[str, str]) -> None:
    """Even with the cookie: another port of this machine has it too."""
    client = visit().client

    assert client.get("/", headers=headers).status_code == 403
    assert client.post("/checkpoints", data={"name": "x"}, headers=headers).status_code == 403
    assert client.get(f"/?token={TOKEN}", headers={**headers, "sec-fetch-dest": "iframe"}).status_code == 403


def test_a_change_says_where_it_comes_from(visit: Callable[[], Visitor], place: Path) -> None:
    """A request without any word on its origin changes nothing."""
    visitor = visit()

    assert visitor.client.post("/checkpoints", data={"name": "x"}).status_code == 403
    assert visitor.post("/checkpoints", name="x").status_code == 303


def test_a_form_of_this_page_may_have_no_origin_to_tell(visit: Callable[[], Visitor]) -> None:
    """A page that gives no referrer sends "null", and the browser says itself whose form it was."""
    headers = {"origin": "null", "sec-fetch-site": "same-origin"}

    assert (
        visit().client.post("/checkpoints", data={"name": "x"}, headers=headers, follow_redirects=False).status_code
        == 303
    )


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/page.js", "/live-not", "/do/undo?call=99"])
def test_every_answer_keeps_the_browser_in_bounds(visit: Callable[[], Visitor], path: str) -> None:
    """No script but ours, no frame around it, no word to others where somebody was."""
    headers = visit().client.get(path).headers

    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "font-src": "'self'",
        "connect-src": "'self'", "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'",
    }  # fmt: skip
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_pages_are_not_kept_and_files_are(visit: Callable[[], Visitor]) -> None:
    """What a page shows must not stay in a cache."""
    client = visit().client

    assert client.get("/").headers["cache-control"] == "no-store"
    assert "immutable" in client.get("/static/page.css").headers["cache-control"]


@pytest.mark.parametrize("path", ["/static/../_app.py", "/static/%2e%2e/_app.py", "/static/..%2f_app.py", "/static/"])
def test_no_other_file_is_served(visit: Callable[[], Visitor], path: str) -> None:
    """Only those that are named."""
    assert visit().client.get(path).status_code == 404
