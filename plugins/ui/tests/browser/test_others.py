"""Pages of others, in the same browser, get nothing and change nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect
from plugins.ui.tests.browser.conftest import PATIENCE
from plugins.ui.tests.scene import worked

from wink.workspace import Workspace

Serve = Callable[[str], str]


@pytest.fixture
def elsewhere() -> Iterator[Serve]:
    """Serves a page at another port; gives that."""
    with ExitStack() as servers:

        def serve(page: str) -> str:
            class Answers(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(200)
                    self.send_header("content-type", "text/html")
                    self.end_headers()
                    self.wfile.write(page.encode())

                def log_message(self, format: str, *args: object) -> None:
                    """Say nothing."""

            server = servers.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Answers))
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            servers.callback(thread.join)
            servers.callback(server.shutdown)
            return str(server.server_port)

        yield serve


ATTACK = """<!doctype html><meta charset=utf-8><title>pending</title><iframe id=frame name=frame src="URL/"></iframe>
<form id=form action="URL/do/undo" method=post target=frame><input name=n value=1></form>
<script>
const told = {};
const attempt = async (name, work) => { try { told[name] = await work(); } catch (error) { told[name] = "refused"; } };
const image = (src) => new Promise((done) => { const i = new Image(); i.onload = () => done("seen"); i.onerror = () => done("refused"); i.src = src; });
const script = (src) => new Promise((done) => { const s = document.createElement("script"); s.onload = () => done("seen"); s.onerror = () => done("refused"); s.src = src; document.head.append(s); });
const events = () => new Promise((done) => { const e = new EventSource("URL/live", {withCredentials: true}); e.onopen = () => done("seen"); e.onerror = () => done("refused"); });
(async () => {
  await attempt("cors", async () => (await fetch("URL/", {credentials: "include"})).text());
  await attempt("opaque", async () => { await fetch("URL/checkpoints", {method: "POST", mode: "no-cors", credentials: "include", headers: {"content-type": "application/x-www-form-urlencoded"}, body: "name=stolen"}); return "refused"; });
  await attempt("json", async () => (await fetch("URL/do/undo", {method: "POST", credentials: "include", headers: {"x-mine": "1"}, body: "n=1"})).text());
  await attempt("image", () => image("URL/static/icon.svg"));
  await attempt("script", () => script("URL/static/page.js"));
  await attempt("events", events);
  document.getElementById("form").submit();
  await new Promise((done) => { document.getElementById("frame").onload = done; setTimeout(done, 2000); });
  await attempt("frame", async () => frames[0].document.body.textContent);
  document.title = JSON.stringify(told);
})();
</script>"""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_another_page_of_this_browser_gets_nothing(
    browser: Browser, place: Path, url: str, elsewhere: Serve, host: str
) -> None:
    """Of another site, and of another port of this very host, for which the browser does send the cookie."""
    parts = urlsplit(url)
    base = f"http://{parts.netloc}"
    with Workspace.open(place) as workspace, browser.new_context() as context:
        worked(workspace)
        context.set_default_timeout(PATIENCE)
        context.new_page().goto(url)
        calls = len(workspace.calls())
        port = elsewhere(ATTACK.replace("URL", base))
        answers: list[tuple[str, int]] = []
        page = context.new_page()
        page.on("response", lambda answer: answers.append((answer.url, answer.status)))

        page.goto(f"http://{host}:{port}/")
        page.wait_for_function("document.title !== 'pending'")

        told = page.evaluate("JSON.parse(document.title)")
        assert set(told.values()) == {"refused"}, told
        statuses = {status for asked, status in answers if asked.startswith(base)}
        assert statuses == {403}
        assert (len(workspace.calls()), workspace.checkpoints()) == (calls, ())


def test_a_name_that_leads_here_opens_nothing(browser: Browser, place: Path, url: str) -> None:
    """A page of the web lets its own name lead to this machine, and even has the token."""
    parts = urlsplit(url)
    with browser.new_context() as context:
        page = context.new_page()
        answer = page.goto(f"http://rebound.example:{parts.port}/?{parts.query}")

        assert answer is not None
        assert (answer.status, context.cookies()) == (403, [])


@pytest.mark.parametrize("query", ["", "?token=wrong", "?token="])
def test_without_the_token_nothing_is_seen(browser: Browser, url: str, query: str) -> None:
    """Nor with another one."""
    parts = urlsplit(url)
    with browser.new_context() as context:
        page = context.new_page()
        answer = page.goto(f"http://{parts.netloc}/{query}")

        assert answer is not None
        assert (answer.status, context.cookies()) == (403, [])
        expect(page.locator("body")).to_contain_text("copy it from the terminal")


def test_the_token_is_nowhere_in_the_page(browser: Browser, url: str) -> None:
    """Not in the address that stays, nor where a script could read it."""
    token = urlsplit(url).query.removeprefix("token=")
    with browser.new_context() as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(url)
        page.wait_for_url(f"http://{urlsplit(url).netloc}/")

        assert token not in page.content()
        assert token not in page.evaluate("document.cookie + document.referrer")
        (cookie,) = context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
