"""`wink ui` as a process: its address, its stream of news, and its end."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from plugins.ui.tests.conftest import seal_of
from plugins.ui.tests.scene import Agent, place_at, tried
from plugins.ui.tests.serving import WINK, served

from wink.adapters import RecordJournal
from wink.workspace import Workspace


@contextmanager
def client_of(url: str) -> Iterator[httpx2.Client]:
    """Somebody who has opened the address."""
    parts = urlsplit(url)
    with httpx2.Client(base_url=f"{parts.scheme}://{parts.netloc}", timeout=60) as client:
        assert client.get(f"/?{parts.query}").status_code == 200
        yield client


@contextmanager
def listening(url: str, path: str = "/live") -> Iterator[Callable[[], dict[str, object]]]:
    """Gives what the stream of news tells next."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = HTTPConnection(parts.hostname, parts.port, timeout=60)
    token = parts.query.removeprefix("token=")
    connection.request("GET", path, headers={"cookie": f"wink-ui-{parts.port}={token}"})
    answer = connection.getresponse()
    assert (answer.status, answer.headers.get_content_type()) == (200, "text/event-stream")

    def told() -> dict[str, object]:
        while line := answer.readline():
            if line.startswith(b"data: "):
                return json.loads(line.removeprefix(b"data: "))
        raise AssertionError("the stream ended")

    try:
        yield told
    finally:
        answer.close()
        connection.close()


def test_calls_of_another_process_are_told_as_they_happen(place: Path) -> None:
    """Also the first one, which makes the record; what waits and what is undone is told too."""
    with served(place) as url, client_of(url) as client, listening(url) as news:
        assert news() == {"call": 0, "tx": 0, "undo": 0, "approvals": [], "tries": []}
        command = [*WINK, "call", "write_file", "file_path=a.txt", "content=x", "--workspace", str(place)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        told = news()
        while told["call"] != 1:
            told = news()
        with Workspace.open(place) as workspace:
            workspace.undo()
            while not told["undo"]:
                told = news()
            Agent(workspace).call("write_file", file_path="release/a.md", content="x")
            while told["approvals"] != [1]:
                told = news()
        assert "a.txt" in client.get("/").text


def test_a_list_of_workspaces_is_told_when_anything_on_it_moves(place: Path, tmp_path: Path) -> None:
    """A call, a run that begins, something that waits, in any of them; each page of one of them hears of that one alone."""
    other = place_at(tmp_path / "other")
    with served(place, other) as url, client_of(url) as client, listening(url) as news:
        seen = news()["workspaces"]

        def moved() -> bool:
            nonlocal seen
            before, seen = seen, news()["workspaces"]
            return before != seen

        with (
            Workspace.open(other) as workspace,
            listening(url, "/w/other/live") as its,
            listening(url, "/w/invoices/live") as none,
        ):
            assert (its()["call"], none()["call"]) == (0, 0)
            Agent(workspace).call("write_file", file_path="release/a.md", content="x")
            assert moved()
            while (told := its())["approvals"] != [1]:
                assert told["call"] <= 1
            while "last call c1" not in client.get("/").text.replace('<a href="/w/other/calls/1">c1</a>', "c1"):
                assert moved()
            with RecordJournal.begin(workspace, plan={"task": "Round amounts"}):
                while "Round amounts" not in client.get("/").text:
                    assert moved()


def test_looking_needs_no_lease(place: Path) -> None:
    """A call that runs, or a run that waits for its model, keeps nobody from looking."""
    with Workspace.open(place) as workspace:
        Agent(workspace).call("write_file", file_path="a.txt", content="x")
        with served(place) as url, client_of(url) as client:
            workspace.filesystem.turns.acquire(10)
            try:
                for path in ("/", "/calls/1", "/do/undo?call=1", "/waiting", "/state", "/back"):
                    assert client.get(path).status_code == 200
            finally:
                workspace.filesystem.turns.release()


def test_the_page_accepts_no_name_that_the_settings_refuse(place: Path) -> None:
    """What `wink accept` refuses is not let in by a browser, also where it is set while the page is open."""
    with Workspace.open(place) as workspace:
        tried(workspace, "t", CON="x\n")
    with served(place) as url, client_of(url) as client:
        assert client.get("/do/accept?try=t").status_code == 200
        settings = place / "wink.toml"
        settings.write_text("portable_names = true\n" + settings.read_text())
        answer = client.get("/do/accept?try=t")

    assert answer.status_code == 409
    assert "has a name that no Windows can hold" in answer.text


def test_the_page_accepts_no_settings_that_nobody_could_read(place: Path) -> None:
    """The page itself would be the last command that works."""
    with Workspace.open(place) as workspace:
        tried(workspace, "t", **{"wink.toml": "[[rules\n"})
    with served(place) as url, client_of(url) as client:
        answer = client.get("/do/accept?try=t")

    assert answer.status_code == 409
    assert "would stop every wink command: is not TOML: " in answer.text


def test_with_settings_that_make_no_sense_it_shows_and_takes_back_and_approves_nothing(place: Path) -> None:
    """As commands that look and go back do: an agent could have broken them."""
    with Workspace.open(place) as workspace:
        agent = Agent(workspace)
        agent.call("write_file", file_path="new.txt", content="x")
        agent.call("write_file", file_path="release/a.md", content="x")
        agent.call("write_file", file_path="release/b.md", content="x")
        tried(workspace, "t", **{"b.txt": "x"})
    settings = (place / "wink.toml").read_text()
    (place / "wink.toml").write_text("[[rules\n")
    with served(place) as url, client_of(url) as client:
        headers = {"origin": str(client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}

        def post(to: str, **fields: str) -> httpx2.Response:
            return client.post(to, data=fields, headers=headers, follow_redirects=False)

        for path in ("/", "/calls/1", "/state", "/back", "/waiting", "/tries/t"):
            assert client.get(path).status_code == 200, path
        seal = seal_of(client.get("/waiting").text)
        refused = [post("/approvals/1", answer="approve", seal=seal), client.get("/do/accept?try=t")]
        assert [answer.status_code for answer in refused] == [422, 422]
        assert all("wink.toml" in answer.text and "is not TOML" in answer.text for answer in refused)
        assert post("/approvals/1", answer="deny", seal=seal).status_code == 303

        (place / "wink.toml").write_text(settings)  # it need not be started anew
        seal = seal_of(client.get("/waiting").text)
        assert post("/approvals/2", answer="approve", seal=seal).status_code == 303

        (place / "wink.toml").write_text("[[rules\n")
        done = post("/do/undo", call="1", seal=seal_of(post("/do/undo", call="1").text))
        assert done.status_code == 303
        assert not (place / "new.txt").exists()


def test_it_ends_at_once_with_pages_open(place: Path) -> None:
    """A stream that is open does not hold it up; `served` waits for the end."""
    with ExitStack() as open_page:
        with served(place) as url:
            news = open_page.enter_context(listening(url))
            assert news()["call"] == 0


def test_each_start_has_a_token_of_its_own(place: Path) -> None:
    """Long enough not to be guessed."""
    with served(place) as one, served(place) as two:
        tokens = {urlsplit(url).query.removeprefix("token=") for url in (one, two)}

    assert len(tokens) == 2
    assert all(len(token) == 43 for token in tokens)


def test_it_listens_on_loopback_alone(place: Path) -> None:
    """Whoever is on the network reaches nothing."""
    with served(place) as url:
        port = urlsplit(url).port
        assert port is not None
        with socket.socket() as other:
            other.settimeout(5)
            assert other.connect_ex(("127.0.0.2", port)) != 0


def test_a_port_that_is_taken_is_said(place: Path) -> None:
    """In one line, with what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*WINK, "ui", "--no-open", "--port", port, "--workspace", str(place)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "take another port, or 0" in done.stderr


def test_a_place_that_is_none_is_said(tmp_path: Path) -> None:
    """Before anything is served."""
    done = subprocess.run(
        [*WINK, "ui", "--workspace", str(tmp_path / "none")], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be a workspace" in done.stderr


@pytest.mark.parametrize("missing", ["jinja2", "uvicorn"])
def test_what_is_not_installed_is_said(place: Path, missing: str) -> None:
    """In one line, with what to install."""
    program = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        f"u.find_spec = lambda name, *rest: None if name == {missing!r} else find(name, *rest)\n"
        "from wink.cli import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "ui", "--no-open", "--workspace", str(place)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr == f"wink: the page needs the package {missing!r}; install wink[ui]\n"


def test_the_command_line_does_not_load_what_the_page_needs() -> None:
    """Only `wink ui` pays for it."""
    program = "import sys, wink.cli._main as m; m.run(['--help']); print([n for n in ('starlette', 'jinja2', 'uvicorn') if n in sys.modules])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.endswith("[]\n")
