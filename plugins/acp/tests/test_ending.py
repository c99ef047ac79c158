"""However one of the two ends, the other one hears of it, and no call is left half done; what nobody can read goes no further."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import acp
import pytest
from plugins.acp.tests.editor import AGENT, SECONDS, Editor


class Raw:
    """`wink acp` in front of an agent, with lines in and out."""

    def __init__(self, editor: Editor, *agent: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "wink", "acp", "--", *(agent or AGENT)],
            cwd=editor.root,
            env=editor.all_of_environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.identity = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> None:
        self.identity += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.identity, "method": method, "params": params}).encode())

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def result(self) -> Any:
        return json.loads(self.line())["result"]

    def begin(self, root: Path) -> str:
        self.ask("initialize", protocolVersion=1)
        self.result()
        self.ask("session/new", cwd=str(root), mcpServers=[])
        return self.result()["sessionId"]

    def prompt(self, session: str, *steps: Any) -> None:
        self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": f"Go\n{json.dumps(steps)}"}])

    def end(self) -> tuple[int, str]:
        """Close its input; its status and what it said to the person."""
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors.decode()


def test_everything_else_goes_on_as_the_bytes_that_came(editor: Editor) -> None:
    """Unknown methods, extensions, unknown fields and odd spelling, both ways."""
    lines = [
        b'{"jsonrpc":"2.0","id":"x","method":"_odd/thing","params":{"b":1.50,"a":"\\u00e4","\xc3\xa4": null}}',
        b'{ "jsonrpc" : "2.0", "method": "$/note", "params": [1, 2], "_meta": {"z": 1e3} }',
        b'{"jsonrpc":"2.0","id":7,"result":{"unknown":true}}',
        b'{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"m","data":[1]}}',
        b'{"jsonrpc":"2.0","id":null,"method":"session/update","params":{"sessionId":"s","update":{"content":[]}}}',
    ]
    raw = Raw(editor, "cat")  # which says what it is told

    for line in lines:
        raw.send(line)
        assert raw.line() == line + b"\n"

    assert raw.end()[0] == 0


def test_extensions_pass_in_both_directions(editor: Editor) -> None:
    """Requests and notifications with methods that only those two know."""
    found = editor.does([["call", "_odd/thing", {"a": [1, {"b": None}]}], ["tell", "_odd/note", {"c": 1}]])

    assert found[0] == {"method": "odd/thing", "params": {"a": [1, {"b": None}]}}
    assert ("odd/note", {"c": 1}) in editor.extensions


def test_an_agent_that_dies_leaves_no_request_open(editor: Editor) -> None:
    """The editor gets an error for each, running commands are taken back, and the exit status is the agent's."""
    raw = Raw(editor)
    session = raw.begin(editor.root)
    raw.prompt(session, ["begin", "t", "echo half > half.txt; echo up; sleep 1000"], ["until", "t", "up"], ["die", 7])

    told = json.loads(raw.line())

    assert told["id"] == 3
    assert "the agent has ended with exit status 7" in told["error"]["message"]
    assert raw.end()[0] == 7
    assert not (editor.root / "half.txt").exists()


def test_an_agent_that_is_killed_by_a_signal_is_told_as_a_shell_does(editor: Editor) -> None:
    """128 and the signal's number."""
    raw = Raw(editor, "sh", "-c", "kill -9 $$")

    assert raw.end()[0] == 137


def test_an_agent_that_ends_at_once_or_speaks_another_language(editor: Editor) -> None:
    """Its lines are shown to the person, some of them, and reach no editor."""
    raw = Raw(editor, "sh", "-c", 'for i in $(seq 40); do echo "Listening $i"; done; echo "[1]"; exit 4')
    raw.ask("initialize", protocolVersion=1)

    told = json.loads(raw.line())

    assert told["id"] == 1
    assert "error" in told
    status, errors = raw.end()
    assert status == 4
    assert errors.count("has printed what is no message") == 20
    assert "more such lines are not shown" in errors


def test_an_agent_that_does_not_start_is_told(editor: Editor) -> None:
    """Before the editor has said anything."""
    status, errors = Raw(editor, "no-such-agent").end()
    (editor.root / "agent").write_text("no program\n")
    os.chmod(editor.root / "agent", 0o755)
    second, what = Raw(editor, "./agent").end()

    assert (status, "there is no program 'no-such-agent'" in errors) == (2, True)
    assert (second, "cannot be started" in what) == (2, True)


def test_an_editor_that_goes_ends_the_agent_and_what_runs(editor: Editor) -> None:
    """Also one that does not listen for its end; and running commands are taken back."""
    raw = Raw(editor)
    session = raw.begin(editor.root)
    raw.prompt(
        session, ["begin", "t", "echo half > half.txt; echo up; sleep 1000"], ["until", "t", "up"], ["tell", "_up", {}],
        ["stop_reading"],
    )  # fmt: skip
    assert b"_up" in raw.line()

    raw.end()

    assert not (editor.root / "half.txt").exists()
    deaf = Raw(editor, "sh", "-c", "trap '' TERM HUP; echo '{\"method\": \"up\"}'; sleep 1000 & wait; sleep 1000")
    deaf.line()
    assert deaf.end()[0] == 137


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_agent(editor: Editor, number: signal.Signals) -> None:
    """The agent is asked to end as well; nothing of a call stays."""
    raw = Raw(editor)
    session = raw.begin(editor.root)
    raw.prompt(
        session, ["begin", "t", "echo half > half.txt; echo up; sleep 1000"], ["until", "t", "up"], ["tell", "_up", {}],
        ["stop_reading"],
    )  # fmt: skip
    assert b"_up" in raw.line()

    raw.process.send_signal(number)

    assert json.loads(raw.line())["id"] == 3
    assert raw.process.wait(SECONDS) in (0, 143)
    raw.end()
    assert not (editor.root / "half.txt").exists()


def test_lines_that_are_too_long_are_answered(editor: Editor) -> None:
    """A request of 70 MB gets an error from wink; whoever sent it goes on."""
    raw = Raw(editor)
    raw.ask("initialize", protocolVersion=1, filler="x" * (70 << 20))

    told = json.loads(raw.line())

    assert told["id"] == 1
    assert "too long" in told["error"]["message"]
    raw.begin(editor.root)
    assert "too long" in raw.end()[1]


def test_a_large_file_passes(editor: Editor) -> None:
    """Ten megabytes, written and read."""
    path, content = str(editor.root / "large.txt"), "x" * (10 << 20)

    found = editor.does([["write", path, content], ["read", path]])

    assert found == ["written", content]


def test_what_an_agent_prints_besides_and_gives_up(editor: Editor) -> None:
    """Garbage, nesting without end and requests without an id reach nobody; a request that is given up is answered."""
    path = str(editor.root / "b.txt")
    session = "5e551001-aaaa"
    write = json.dumps(
        {
            "jsonrpc": "2.0",
            "method": "fs/write_text_file",
            "params": {"sessionId": session, "path": path, "content": ""},
        }
    )

    found = editor.does(
        [
            ["print", "Listening"],
            ["print", "[" * 100_000],
            ["print", '{"id": NaN}'],
            ["print", '{"jsonrpc":"2.0","id":99,"method":["fs/write_text_file"],"params":5}'],
            ["print", write],
            ["give_up", "terminal/create", {"sessionId": session, "command": "sleep 1000; touch made.txt"}],
            ["write", path, "b\n"],
        ]
    )

    assert "error" in found[5] or "terminalId" in str(found[5])
    assert found[6] == "written"
    assert editor.told.count("has printed what is no message") == 5
    assert not (editor.root / "made.txt").exists()


def test_sessions_open_workspaces_where_they_work(editor: Editor) -> None:
    """Each has the workspace of its directory; one in a home is refused, and so is one outside of a named workspace."""
    other = editor.root.parent / "other"
    (other / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    raw = Raw(editor)
    raw.begin(editor.root)
    raw.ask("session/new", cwd=str(other / "sub"), mcpServers=[])
    session = raw.result()["sessionId"]
    raw.prompt(session, ["write", str(other / "x.txt"), "x\n"], ["write", str(editor.root / "x.txt"), "x\n"])
    results = raw.result()["_meta"]["results"]
    for wrong in (str(editor.home), "relative", "/", str(other / "missing"), 5):
        raw.ask("session/new", cwd=wrong, mcpServers=[])
        assert "error" in json.loads(raw.line())
    raw.ask("session/load", cwd=str(other), sessionId="5e551099-aaaa", mcpServers=[])
    raw.result()
    raw.prompt("5e551099-aaaa", ["write", str(other / "y.txt"), "y\n"])
    assert raw.result()["_meta"]["results"] == ["written"]
    raw.end()

    assert results[0] == "written"
    assert "is outside the workspace" in results[1]["error"]
    assert (other / "x.txt").read_text() == "x\n"
    assert not (other / "sub/.wink").exists()

    editor.options = ("--workspace", str(other))
    with pytest.raises(acp.RequestError, match="is outside the workspace"):
        editor.does([])


def test_who_delegates_nothing_is_told_of_attaching(editor: Editor) -> None:
    """Once, to the person; and of commands that an agent runs itself."""
    editor.environment = {"AGENT_NAME": "@agentclientprotocol/claude-agent-acp"}
    editor.does([])
    assert "`wink attach claude-code`" in editor.told

    editor.environment = {}
    update = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "t", "kind": "execute", "status": "in_progress"}
    params = {"sessionId": "5e551001-aaaa", "update": update}
    editor.does([["tell", "session/update", params], ["tell", "session/update", params]])
    assert editor.told.count("runs commands without the editor") == 1


def test_many_requests_at_once_are_each_answered(editor: Editor) -> None:
    """Reads, writes and commands of one session, all begun before the first is answered."""
    root = editor.root
    several = [["write", f"{root}/f{one}.txt", f"{one}\n"] for one in range(20)] + [["read", f"{root}/a.txt"]] * 20

    found = editor.does([["together", *several]])

    assert found == [["written"] * 20 + ["one\ntwo\nthree\n"] * 20]


def test_a_kill_of_wink_itself_leaves_nothing_half_done(editor: Editor) -> None:
    """The agent ends with its input, and so does what runs; the next one works."""
    raw = Raw(editor)
    session = raw.begin(editor.root)
    raw.prompt(
        session, ["write", str(editor.root / "b.txt"), "b\n"], ["begin", "t", "echo half > half.txt; echo up; sleep 1000"],
        ["until", "t", "up"], ["tell", "_up", {}], ["stop_reading"],
    )  # fmt: skip
    assert b"_up" in raw.line()

    raw.process.kill()

    raw.end()  # when nobody has its standard error any more, the agent too
    assert (editor.root / "b.txt").read_text() == "b\n"
    assert not (editor.root / "half.txt").exists()
    assert editor.does([["run", "cat b.txt"]]) == [[0, "b\n"]]
    editor.wink("undo", "--turn", "1")
    assert not (editor.root / "b.txt").exists()
