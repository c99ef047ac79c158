"""Several workspaces on one page: each is what it is alone, under a prefix of its own, and `/` tells of all."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest
from plugins.ui.tests.conftest import HERE, TOKEN, Visitor, seal_of, text_of
from plugins.ui.tests.scene import Agent, place_at, tried, worked
from plugins.ui.tests.test_gate import EVERYTHING, OTHERS
from starlette.testclient import TestClient
from tests.states import state_of

from wink.adapters import RecordJournal
from wink.cli import run
from wink.runtime import pending_approvals
from wink.workspace import Workspace
from wink_ui._app import Page, page_app
from wink_ui._several import Pages, roots_of

ONE, TWO = "/w/invoices", "/w/invoices-2"
LINKS = ("href", "src", "action", "formaction", "hx-get", "data-to")
ANSWERS = (
    "/", "/?text=parse", "/rows?limit=3", "/glance", "/calls/4", "/calls/4/files/0", "/calls/4/prompt", "/calls/99", "/waiting", "/board", "/runs", "/runs/1",
    "/runs/1?call=4", "/changes?run=r1", "/changes?try=formatter&view=side", "/changes?session=default&path=none",
    "/changes/file?run=r1&file=notes/todo.md", "/changes/file?run=r1&file=notes/todo.md&side=after", "/tries/formatter", "/tries/formatter/files/0",
    "/tries/none", "/state", "/back", "/slices/1", "/do/undo?call=4", "/do/undo?call=9", "/do/redo", "/do/restore?checkpoint=one",
    "/do/accept?try=formatter", "/do/drop?try=formatter", "/nothing",
)  # fmt: skip


class Links(HTMLParser):
    """Where a page leads, and what it loads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, name, value) for name, value in attrs if name in LINKS and value is not None]


def places_in(directory: Path) -> tuple[Path, Path]:
    """Two projects of the same name, in each of which the same was done."""
    found = place_at(directory / "invoices"), place_at(directory / "old/invoices")
    for place in found:
        with Workspace.open(place) as workspace:
            worked(workspace)
            workspace.checkpoint("one")
            tried(workspace)
    return found


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """Two of them, to change."""
    return places_in(tmp_path)


def opened(*paths: Path) -> tuple[Pages, Visitor]:
    """The page of workspaces, and somebody who has the token."""
    names = [str(path) for path in paths]
    pages = Pages([Page(path, root) for path, root in zip(names, roots_of(names), strict=True)])
    client = TestClient(pages.app(TOKEN), base_url=HERE)
    assert client.get(f"/?token={TOKEN}").status_code == 200
    return pages, Visitor(client)


@pytest.fixture
def visitor(places: tuple[Path, Path]) -> Iterator[Visitor]:
    """Has both open."""
    pages, found = opened(*places)
    yield found
    pages.close()


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[tuple[Path, Path], Visitor]]:
    """Two that nobody changes, and who has both open."""
    places = places_in(tmp_path_factory.mktemp("read"))
    pages, found = opened(*places)
    yield places, found
    pages.close()


@pytest.fixture
def reader(read: tuple[tuple[Path, Path], Visitor]) -> Visitor:
    """Changes nothing."""
    return read[1]


def test_the_list_says_how_each_stands(read: tuple[tuple[Path, Path], Visitor]) -> None:
    """Its name and place, the last call, runs that did not end, and what waits."""
    places, visitor = read
    told = text_of(visitor.get("/"))

    for place in places:
        assert f"invoices {place} last call c13 write_file denied" in told
    assert told.count("Waiting for you: 1 call · Board: 1 try") == 2
    assert {value for tag, _, value in Links(visitor.get("/", part=True)).found if tag == "a"} == {
        f"{root}{path}" for root in (ONE, TWO) for path in ("/", "/calls/13", "/waiting", "/board")
    }


def test_each_page_is_what_it_is_alone(read: tuple[tuple[Path, Path], Visitor]) -> None:
    """Byte for byte, but for the prefix and the way to the list."""
    places, visitor = read
    page = Page(str(places[1]))
    client = TestClient(page_app(page, TOKEN), base_url=HERE)
    client.get(f"/?token={TOKEN}")

    def plain(text: str) -> str:
        for added in (TWO, '<a href="/">Workspaces</a>', ' <a class="button" href="/">All workspaces</a>'):
            text = text.replace(added, "")
        text = re.sub(r'value="[0-9a-f]{64}"', 'value="SEAL"', text)
        return text.replace('of the page">\n    ', 'of the page">\n')

    for path in ANSWERS:
        for headers in ({}, {"hx-request": "true"}):
            alone = client.get(path, headers=headers, follow_redirects=False)
            mounted = visitor.client.get(f"{TWO}{path}", headers=headers, follow_redirects=False)
            assert mounted.status_code == alone.status_code, path
            if path != "/nothing":
                assert plain(mounted.text) == plain(alone.text), path
    page.close()


def test_no_link_leads_out_of_a_workspace(reader: Visitor) -> None:
    """Whatever a page leads to or loads is below its prefix; each link is followed."""
    seen, todo = set[str](), [f"{ONE}{path}" for path in ANSWERS]
    while todo and len(seen) < 400:
        path = todo.pop(0)
        if path in seen:
            continue
        seen.add(path)
        answer = reader.client.get(path, follow_redirects=False)
        assert answer.status_code < 500, path
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        for tag, name, value in Links(answer.text).found:
            to = urljoin(path, value).partition("#")[0]
            if tag == "link" or tag == "script":
                assert value.startswith("/static/"), (path, value)
            elif to != "/":  # which is the list
                assert to.startswith(f"{ONE}/"), (path, name, value)
                if name in ("href", "hx-get", "src"):
                    todo.append(to)
    assert len(seen) > 60


@pytest.mark.parametrize("path", EVERYTHING)
def test_nothing_below_a_prefix_is_shown_without_the_token(reader: Visitor, path: str) -> None:
    """Nor with another one."""
    stranger = TestClient(reader.client.app, base_url=HERE)

    for place in (f"{ONE}{path}", f"{ONE}{path}?token={TOKEN}"):
        for cookie in ("", f"wink-ui-8765={TOKEN[:-1]}"):
            answer = stranger.get(place, headers={"cookie": cookie}, follow_redirects=False)
            assert answer.status_code == 403
            assert answer.text.startswith("wink: this page opens only with the address")
            assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("headers", [*OTHERS, {"host": "evil.example"}])
def test_what_another_page_asks_of_one_of_them_is_refused(reader: Visitor, headers: dict[str, str]) -> None:
    """Even with the cookie."""
    for root in (ONE, TWO):
        assert reader.client.get(f"{root}/", headers=headers).status_code == 403
        for path, fields in (
            ("/checkpoints", {"name": "x"}),
            ("/do/undo", {"n": "1"}),
            ("/approvals/1", {"answer": "deny"}),
        ):
            assert reader.client.post(f"{root}{path}", data=fields, headers=headers).status_code == 403
    assert reader.client.post(f"{ONE}/checkpoints", data={"name": "x"}).status_code == 403  # without any word on it


@pytest.mark.parametrize(
    "path", ["/", f"{ONE}/", f"{ONE}/do/undo?call=4", f"{ONE}/nothing", "/w/none/", f"{ONE}/live-not"]
)
def test_every_answer_keeps_the_browser_in_bounds(reader: Visitor, path: str) -> None:
    """As that of a workspace alone does; nothing of it is kept."""
    headers = reader.client.get(path).headers

    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert (headers["cache-control"], headers["x-frame-options"]) == ("no-store", "DENY")


def test_a_form_changes_its_own_workspace_and_leads_back_below_its_prefix(
    visitor: Visitor, places: tuple[Path, Path]
) -> None:
    """The other one stays as it is."""
    assert visitor.post(f"{ONE}/checkpoints", name="two").headers["location"] == f"{ONE}/back?done=checkpoint"
    seal = seal_of(visitor.get(f"{ONE}/waiting"))
    done = visitor.post(f"{ONE}/approvals/1", answer="approve", seal=seal)
    assert done.headers["location"] == f"{ONE}/waiting?done=approved&request=a1"
    done = visitor.confirm(f"{ONE}/do/undo", call="9")
    assert done.headers["location"] == f"{ONE}/calls/14?done=undo"
    assert visitor.confirm(f"{ONE}/do/drop", **{"try": "formatter"}).headers["location"] == f"{ONE}/board"

    assert [(place / "notes/todo.md").exists() for place in places] == [False, True]
    with Workspace.open(places[1]) as other:
        assert (len(other.calls()), len(pending_approvals(other))) == (13, 1)
        assert [one.name for one in other.checkpoints()] == ["one"]
    assert "1 try" in text_of(visitor.get("/"))


def test_what_was_shown_of_one_workspace_confirms_nothing_in_another(
    visitor: Visitor, places: tuple[Path, Path]
) -> None:
    """Even where the same would happen there."""
    seal = seal_of(visitor.post(f"{ONE}/do/undo", call="9").text)
    asked = seal_of(visitor.get(f"{ONE}/waiting"))

    assert visitor.post(f"{TWO}/do/undo", call="9", seal=seal).status_code == 409
    assert visitor.post(f"{TWO}/approvals/1", answer="approve", seal=asked).status_code == 409

    with Workspace.open(places[1]) as other:
        assert len(other.calls()) == 13
        assert len(pending_approvals(other)) == 1


def test_one_that_cannot_be_read_is_a_line_and_the_others_are_shown(places: tuple[Path, Path], tmp_path: Path) -> None:
    """One with the states of others, one whose state is a link, one that is damaged or gone by now; each is asked again."""
    names = "copied", "linked", "damaged", "gone", "sound"
    copied, linked, damaged, gone, sound = (place_at(tmp_path / name) for name in names)
    shutil.copytree(places[0] / ".wink", copied / ".wink")
    (copied / ".wink" / ("2" * 32)).mkdir()
    (linked / ".wink").symlink_to(places[0] / ".wink")
    with Workspace.open(damaged) as workspace:
        Agent(workspace).call("ls")
    (state_of(damaged) / "record.db").write_bytes(b"no record at all" * 1000)
    shutil.rmtree(gone)
    pages, visitor = opened(copied, linked, damaged, gone, sound, places[0])

    told = text_of(visitor.get("/"))
    assert told.count("It cannot be shown: ") == 4, told
    assert "sound no calls yet" in told.replace(f"{sound} ", "")
    assert "last call c13" in told
    for name in names[:-1]:
        assert visitor.client.get(f"/w/{name}/").status_code in (422, 503)
    assert visitor.client.get("/w/sound/").status_code == visitor.client.get(f"{ONE}/calls/4").status_code == 200
    (linked / ".wink").unlink()
    assert text_of(visitor.get("/")).count("It cannot be shown: ") == 3
    pages.close()


def test_one_within_another_has_a_record_of_its_own(tmp_path: Path) -> None:
    """A call in the inner one is none of the outer one."""
    outer = place_at(tmp_path / "outer")
    inner = place_at(outer / "inner")
    with Workspace.open(inner) as workspace:
        Agent(workspace).call("write_file", file_path="a.txt", content="x")
    pages, visitor = opened(outer, inner)

    told = text_of(visitor.get("/"))

    assert f"outer {outer} no calls yet" in told
    assert f"inner {inner} last call c1 write_file ok" in told
    pages.close()


def test_hostile_names_and_secrets_are_not_shown(tmp_path: Path) -> None:
    """A directory is called whatever somebody has called it."""
    secret, odd = "sk-proj-Zq3vT9xLm2Rk8wYb", '"><img src=x onerror=alert(1)>\u202e'
    pages, visitor = opened(place_at(tmp_path / secret), place_at(tmp_path / odd), place_at(tmp_path / "..."))

    page = visitor.get("/", part=True)

    assert re.findall(r'href="([^"]+/)"', page) == ["/w/-masked-/", "/w/-img-src-x-onerror-alert-1-/", "/w/workspace/"]
    assert secret not in page + visitor.get("/w/-masked-/")
    assert "<img" not in page
    assert "\u202e" not in page
    pages.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a", "a"), "is the same workspace as"),
        (("a", "b", "./b/../a"), "is the same workspace as"),
        (("a", "link"), "is the same workspace as"),
        (("a", "none"), "'none' cannot be a workspace, it does not exist"),
        (("a", "file"), "'file' cannot be a workspace, it is not a directory"),
        (("a", ""), "cannot be a workspace, it has no name"),
        (("a", "--workspace", "b"), "leave one of them out"),
    ],
)
def test_paths_that_make_no_sense_are_said_before_anything_is_served(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    """In one line."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(tmp_path)

    status = run(["ui", "--no-open", *arguments])

    told = capsys.readouterr()
    assert (status, told.out) == (2, "")
    assert told.err.count("\n") == 1
    assert said in told.err


def test_runs_that_did_not_end_are_told(tmp_path: Path) -> None:
    """In a word, as `wink status` does."""
    place = place_at(tmp_path / "one")
    pages, visitor = opened(place, place_at(tmp_path / "two"))
    with Workspace.open(place) as workspace:
        with RecordJournal.begin(workspace, plan={"task": "Round amounts"}) as journal:
            assert "r1 running · Round amounts" in text_of(visitor.get("/"))
            journal.ended("")
        assert "r1" not in text_of(visitor.get("/"))
    pages.close()
