"""`wink serve --print-config CLIENT --write`: the client's file keeps all that is in it, and gains one server."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.cli import run
from wink.cli.json_text import applied, inverse, parts, plain, top, with_members

FILES = {
    "claude-code": ".mcp.json",
    "opencode": "opencode.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "vscode": ".vscode/mcp.json",
    "cursor": ".cursor/mcp.json",
}
COMMENTED = """\
// kept by hand
{
    /* the first */ "mcpServers": {
        "db": { "command": "db", "args": ["--port", "1",] }, // the database
        // the last one
        "web": {"url": "https://example.com/mcp", "note": "// no comment"}, // why: see the wiki
    },
    "other": [1.50, 1e400,],
}
// the end
"""


@pytest.fixture
def wink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command, in a new directory: its exit status and what it says."""
    monkeypatch.chdir(tmp_path)

    def command(client: str, *options: str) -> tuple[int, str, str]:
        status = run(["serve", *options, "--print-config", client, "--write"])
        return (status, *capsys.readouterr())

    return command


def printed(client: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What is printed without --write."""
    assert run(["serve", "--print-config", client]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("client", FILES)
def test_a_new_file_holds_what_would_be_printed(
    client: str, wink: Callable[..., tuple[int, str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both ways lead to the same, and twice to once."""
    status, out, _ = wink(client)
    assert (status, out) == (0, f"wrote {FILES[client]}: the server 'wink'\n")
    before = (tmp_path / FILES[client]).read_bytes()
    assert json.loads(before) == printed(client, capsys)
    status, out, _ = wink(client)
    assert (status, out) == (0, f"{FILES[client]} has it already: the server 'wink'\n")
    assert (tmp_path / FILES[client]).read_bytes() == before


def test_other_servers_comments_and_layout_stay_as_they_are(
    wink: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Taking out what was put in leads back to every byte, and every line that was there still is."""
    (tmp_path / ".mcp.json").write_text(COMMENTED)
    status, out, _ = wink("claude-code")
    assert (status, out) == (0, "wrote .mcp.json: the server 'wink', beside 2 more\n")
    text = (tmp_path / ".mcp.json").read_text()
    lines = text.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"wink"' in line)
    assert lines[:at] == COMMENTED.splitlines(keepends=True)[:at]
    assert "".join(lines[len(lines) - 5 + 1 :]) == "".join(COMMENTED.splitlines(keepends=True)[-4:])
    assert json.loads(plain(text).text)["mcpServers"].keys() == {"db", "web", "wink"}


def test_what_was_added_to_winks_own_entry_stays(wink: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """Somebody trusts the server, or gives it variables; only what wink says of it is brought up to date."""
    entry = {"command": "/old/wink", "args": ["serve"], "trust": True, "env": {"MINE": "1"}}
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/settings.json").write_text(json.dumps({"theme": "x", "mcpServers": {"wink": entry}}))
    assert wink("gemini")[0] == 0
    found = json.loads((tmp_path / ".gemini/settings.json").read_text())
    assert found["theme"] == "x"
    assert found["mcpServers"]["wink"]["trust"] is True
    assert found["mcpServers"]["wink"]["env"]["MINE"] == "1"
    assert str(tmp_path) in found["mcpServers"]["wink"]["args"]


def test_a_server_at_an_address_takes_the_place_of_one_that_is_started(
    wink: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """An entry with both would be neither. It holds the token then, so nobody else can read the file."""
    assert wink("cursor")[0] == 0
    assert stat.S_IMODE((tmp_path / ".cursor/mcp.json").stat().st_mode) & 0o600 == 0o600
    status, out, err = wink("cursor", "--port", "8765")
    entry = json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["wink"]
    assert status == 0
    assert entry.keys() == {"type", "url", "headers"}
    assert "token" in err
    assert entry["headers"]["Authorization"].removeprefix("Bearer ") not in out + err
    assert stat.S_IMODE((tmp_path / ".cursor/mcp.json").stat().st_mode) & 0o077 == 0
    assert wink("cursor")[0] == 0
    assert json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["wink"].keys() >= {"command", "args"}
    assert "url" not in (tmp_path / ".cursor/mcp.json").read_text()


def test_the_permissions_of_a_file_stay(wink: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """A team's file is not made private by one of them."""
    (tmp_path / ".mcp.json").write_text("{}")
    (tmp_path / ".mcp.json").chmod(0o664)
    assert wink("claude-code")[0] == 0
    assert stat.S_IMODE((tmp_path / ".mcp.json").stat().st_mode) == 0o664


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"mcpServers": {', "is no JSON"),
        (b"[]", "is no JSON object"),
        (b'{"mcpServers": []}', "is no object of servers"),
        (b'{"mcpServers": {}, "mcpServers": {"db": {}}}', "'mcpServers' twice"),
        (b'{"mcpServers": {"wink": {"url": "https://example.com/other"}}}', "none of wink's"),
        (b'{"mcpServers": {"wink": "x"}}', "none of wink's"),
        (b'{"a": /* without an end', "is no JSON"),
        (b'{"a": "without an end', "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"{\xff}", "is no UTF-8 text"),
        (b" " * (1024 * 1024 + 1), "is longer than"),
    ],
)
def test_what_makes_no_sense_is_left_as_it_is(
    content: bytes, told: str, wink: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """A person has to look at it; nothing is lost before they do."""
    (tmp_path / ".mcp.json").write_bytes(content)
    status, out, err = wink("claude-code")
    assert (status, out) == (2, "")
    assert told in err
    assert (tmp_path / ".mcp.json").read_bytes() == content


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "directory", "above"])
def test_nothing_is_written_through_links_or_into_what_is_no_file(
    kind: str, wink: Callable[..., tuple[int, str, str]], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An agent could have made the client's file anything."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "mcp.json").write_text("{}")
    place = tmp_path / ".cursor" / "mcp.json"
    if kind == "above":
        place.parent.symlink_to(elsewhere)
    else:
        place.parent.mkdir()
        {
            "link": lambda: place.symlink_to(elsewhere / "mcp.json"),
            "dangling": lambda: place.symlink_to(elsewhere / "nothing"),
            "fifo": lambda: os.mkfifo(place),
            "directory": place.mkdir,
        }[kind]()
    status, out, err = wink("cursor")
    assert (status, out) == (2, "")
    assert ".cursor" in err
    assert {path.name: path.read_text() for path in elsewhere.iterdir()} == {"mcp.json": "{}"}
    assert os.listdir(place.parent) == ["mcp.json"]


@pytest.mark.parametrize("client", ["codex", "goose"])
def test_clients_without_a_file_in_the_workspace_are_not_written_for(
    client: str, wink: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Their files lie in the home, and are TOML and YAML."""
    status, out, err = wink(client)
    assert (status, out) == (2, "")
    assert "reads no file of the workspace" in err
    assert list(tmp_path.iterdir()) == []


def test_write_alone_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would otherwise start a server, and write nothing."""
    monkeypatch.chdir(tmp_path)
    assert run(["serve", "--write"]) == 2


BLANK = st.sampled_from(["", " ", "\n", "\n  ", "\r\n\t", "/* , } */", " // }\n", "/**/\n  ", "/* \n */"])


@st.composite
def commented(draw: st.DrawFn, depth: int = 2) -> tuple[str, Any]:
    """A text of JSON with comments and loose commas, and what it says."""
    kinds = ["scalar", "array", "object"] if depth else ["scalar"]
    kind = draw(st.sampled_from(kinds))
    if kind == "scalar":
        value = draw(st.sampled_from([1, "//", "/* */", ",}", '"', "\\", None, "é"]))
        return json.dumps(value, ensure_ascii=draw(st.booleans())), value
    items = draw(st.lists(commented(depth - 1), max_size=3))
    said = [draw(BLANK) + text + draw(BLANK) for text, _ in items]
    end = "," + draw(BLANK) if items and draw(st.booleans()) else draw(BLANK)
    if kind == "array":
        return f"[{','.join(said)}{end}]", [value for _, value in items]
    named = [f'{draw(BLANK)}"k{at}"{draw(BLANK)}:{one}' for at, one in enumerate(said)]
    return f"{{{','.join(named)}{end}}}", {f"k{at}": value for at, (_, value) in enumerate(items)}


@given(commented(3), BLANK, BLANK)
def test_a_member_more_is_all_that_changes(made: tuple[str, Any], before: str, after: str) -> None:
    """Whatever comments stand where: they stay, the values stay, and what leads back does."""
    text, value = before + made[0] + after, made[1]
    bare = plain(text)
    assert len(bare.text) == len(text)
    assert json.loads(bare.text) == value
    if not isinstance(value, dict):
        return
    changes = with_members(bare.text, top(bare.text), {"new": {"a": [1]}}, bare.commas)
    changed = applied(text, changes)
    assert json.loads(plain(changed).text) == value | {"new": {"a": [1]}}
    assert all(comment in changed for comment in ("/* , } */", "// }", "/**/", "/* \n */") if comment in text)
    assert applied(changed, inverse(text, changes)) == text
    assert [part.key for part in parts(plain(changed).text, top(plain(changed).text))] == [*value, "new"]
