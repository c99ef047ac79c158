"""Servers at a URL, servers from settings, and wink's own server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from plugins.mcp.tests.mount.helpers import NOTES, Agent

from wink.errors import OfferNotFound, PromptValidationError
from wink.plugins import Catalog, PluginWarning, Settings, Table

Mount = Callable[..., Agent]


class Web:
    """The usual server, over HTTP, that can be ended and started again at the same place."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        self.process = subprocess.Popen([*NOTES, str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                threading.Event().wait(0.05)
            else:
                return
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def web() -> Iterator[Web]:
    served = Web()
    yield served
    served.stop()


def test_a_server_at_a_url_is_used_like_any_other(mount: Mount, web: Web, tmp_path: Path) -> None:
    """Calls, errors, time-outs that reach it, and a server that goes and comes back."""
    agent = mount(command=None, url=web.url, timeout=5)
    assert agent.says("notes_add", text="over there") == "added over there"
    assert agent.fails("notes_fail", reason="x").startswith("notes_fail failed:")

    web.stop()
    text = agent.fails("notes_list_notes")
    assert "Whether it has done its work is not known" in text or "Nothing was sent" in text
    assert "cannot be reached" in agent.render().text

    web.start()
    agent.prompt.cleanup()  # forgets the back-off, too
    agent.render()
    assert agent.says("notes_list_notes") == "(none)"


def test_a_time_out_reaches_a_server_at_a_url(mount: Mount, web: Web, tmp_path: Path) -> None:
    """Closing the stream is how the newest protocol cancels."""
    agent = mount(command=None, url=web.url, timeout=0.5)
    path = tmp_path / "state"

    assert "did not answer within 0.5 s" in agent.fails("notes_wait", seconds=60, path=str(path))

    end = time.monotonic() + 20
    while path.read_text() != "cancelled":
        assert time.monotonic() < end
        threading.Event().wait(0.02)


class Huge(BaseHTTPRequestHandler):
    """Answers every question with more than anybody wants to read."""

    sent = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        try:
            for _ in range(200):
                self.wfile.write(b" " * 1_000_000)
                type(self).sent += 1
        except OSError:
            pass

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_an_answer_without_end_is_not_read_to_its_end(mount: Mount) -> None:
    """What is one message is bounded, over HTTP too."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Huge) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        agent = mount(command=None, url=f"http://127.0.0.1:{server.server_port}/mcp", message_bytes=2_000_000)
        server.shutdown()

    assert agent.names == []
    assert "more than 2000000 bytes" in agent.rendered.text
    assert Huge.sent < 60


def test_nobody_at_the_url_costs_nothing_but_the_tools(mount: Mount) -> None:
    """And is said in words."""
    agent = mount(command=None, url="http://127.0.0.1:9/mcp")

    assert agent.names == []
    assert "cannot be reached" in agent.rendered.text


# -- settings


def catalog(*tables: Table) -> Catalog:
    """What is installed, with these settings."""
    return Catalog.installed(Settings(tables=tables))


def server(**more: Any) -> dict[str, Any]:
    return {"command": NOTES, **more}


def test_servers_of_the_users_settings_are_offered_as_sections() -> None:
    """By name, and nothing is started by offering them."""
    offered = catalog(Table("mcp", {"servers": {"notes": server(tools=["add"])}}, "~/.config/wink/wink.toml"))

    assert [offer.name for offer in offered.offers("section") if offer.plugin == "mcp"] == ["mcp.notes"]
    agent = Agent(offered.use("section", "mcp.notes"))
    assert agent.names == ["notes_add"]
    assert agent.says("notes_add", text="x") == "added x"
    agent.prompt.cleanup()


def test_a_workspace_cannot_add_or_change_servers() -> None:
    """An agent can write its files; what it adds is not offered, and said aloud."""
    mine = Table("mcp", {"servers": {"notes": server()}}, "~/.config/wink/wink.toml")
    theirs = Table(
        "mcp",
        {"servers": {"notes": {"command": ["/bin/sh"]}, "evil": {"command": ["/bin/sh"]}}, "timeout": 1e9},
        "wink.toml:3",
        tighten_only=True,
    )

    offered = catalog(mine, theirs)
    with pytest.warns(PluginWarning) as caught:
        section = offered.use("section", "mcp.notes")

    said = [str(one.message) for one in caught]
    assert any("wink.toml:3: servers is not heeded" in text for text in said)
    assert any("wink.toml:3: timeout is not heeded" in text for text in said)
    assert section._place.command == tuple(NOTES)
    with pytest.raises(OfferNotFound):
        offered.use("section", "mcp.evil")


def test_a_workspace_can_forbid_tools_and_take_time_away() -> None:
    """That is tightening."""
    mine = Table("mcp", {"servers": {"notes": server(deny=["fail"])}, "deny": ["*.wait"]}, "user")
    theirs = Table("mcp", {"deny": ["*.wait", "notes.a*"], "timeout": 3}, "wink.toml:1", tighten_only=True)

    agent = Agent(catalog(mine, theirs).use("section", "mcp.notes"))

    assert "notes_list_notes" in agent.names
    assert not {"notes_add", "notes_ask", "notes_fail", "notes_wait"} & set(agent.names)
    assert agent.section._timeout == 3
    agent.prompt.cleanup()


def test_secrets_stay_out_of_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value names the variable; a missing one is an error before anything is started."""
    monkeypatch.setenv("NOTES_TOKEN", "s3cret")
    table = Table("mcp", {"servers": {"notes": server(env={"TOKEN": "Bearer ${NOTES_TOKEN}"})}}, "user")
    offered = catalog(table)
    assert "s3cret" not in repr(offered.own_settings("mcp"))

    agent = Agent(offered.use("section", "mcp.notes"))
    assert json.loads(agent.says("notes_environment"))["TOKEN"] == "Bearer s3cret"
    agent.prompt.cleanup()

    monkeypatch.delenv("NOTES_TOKEN")
    with pytest.raises(Exception, match="needs the variable NOTES_TOKEN") as caught:
        offered.use("section", "mcp.notes")
    assert isinstance(caught.value.__cause__ or caught.value, PromptValidationError)


def test_a_server_with_nonsense_in_its_settings_is_refused_with_its_place() -> None:
    """As other plugins' settings are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        offered = catalog(Table("mcp", {"servers": {"notes": {"comand": ["x"]}}}, "wink.toml:7"))
        with pytest.raises(Exception, match="comand"):
            offered.use("section", "mcp.notes")


def test_the_command_line_knows_mounted_servers(tmp_path: Path) -> None:
    """`wink call --section mcp.notes` is a call like any other, and stands in the record."""
    settings = tmp_path / "config" / "wink" / "wink.toml"
    settings.parent.mkdir(parents=True)
    command = ", ".join(f'"{word}"' for word in NOTES)
    settings.write_text(f"[plugins.mcp.servers.notes]\ncommand = [{command}]\n")
    place = tmp_path / "place"
    place.mkdir()
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def wink(*words: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-m", "wink", *words], cwd=place, env=env, capture_output=True, text=True, timeout=60
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert wink("call", "--section", "mcp.notes", "notes_add", "text=hello", "times=2") == "added hello\n"
    shown = wink("show", "c1")
    assert "notes_add" in shown
    assert "text: hello" in shown
    assert "added hello" in shown


def test_wink_mounts_wink(mount: Mount, tmp_path: Path) -> None:
    """The tools of another workspace: what is done there is recorded there."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "a.txt").write_text("one\n")
    command = [sys.executable, "-m", "wink", "serve", "--workspace", str(there)]
    inherit = ["PATH", "HOME", "XDG_STATE_HOME", "PYTHONPATH", "LANG", "LC_*"]
    agent = mount("x", command=command, inherit=inherit, prefix="there")

    assert "has not been read" in agent.fails("there_write_file", file_path="a.txt", content="two\n")
    agent.says("there_read_file", file_path="a.txt")
    agent.says("there_write_file", file_path="a.txt", content="two\n")

    assert (there / "a.txt").read_text() == "two\n"
    agent.prompt.cleanup()
    from wink.workspace import Workspace

    with Workspace.open(there) as opened:
        assert [call.tool for call in opened.calls() if call.committed] == ["write_file", "read_file"]
