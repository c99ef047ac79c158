"""Calls that are given up, clients that vanish, servers that are told to end: what was half done is taken back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.mcp.tests.wire import SECONDS, Wire

from wink.workspace import Workspace

END = {"EOF": 0, "SIGTERM": 0, "SIGINT": 130}
"""How a server is told to end, and the exit status that it then has."""


@pytest.fixture
def wire(command: list[str], environment: dict[str, str]) -> Iterator[Wire]:
    with Wire(command, environment) as wire:
        wire.initialize()
        yield wire


@pytest.fixture
def until(tmp_path: Path) -> str:
    """What a waiting tool waits for; it says with `.began` and `.ended` how far it has come."""
    return str(tmp_path / "until")


def wait_for(path: str) -> None:
    """Wait until a file appears."""
    import time

    end = time.monotonic() + SECONDS
    while not Path(path).exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.002)


def end(wire: Wire, how: str) -> int:
    if how == "EOF":
        wire.process.stdin.close()
    else:
        wire.process.send_signal(getattr(signal, how))
    return wire.ended()


@pytest.mark.parametrize("how", END)
@pytest.mark.parametrize("tool", ["hang", "hang_async", "wait_async"])
def test_a_server_ends_when_told_to_while_a_call_hangs(
    wire: Wire, place: Path, until: str, tool: str, how: str
) -> None:
    """Whatever the handler does: the workspace is as it was, and there is nothing to recover."""
    wire.ask(1, tool, path="half.txt", until=until)
    wait_for(until + ".began")
    assert (place / "half.txt").read_text() == "half"

    status = end(wire, how)

    assert status == END[how]
    assert not (place / "half.txt").exists()
    assert b"Traceback" not in wire.said
    with Workspace.open(place) as workspace:
        assert workspace.recovered == ()


@pytest.mark.parametrize("how", END)
def test_a_server_without_work_ends_quietly(wire: Wire, how: str) -> None:
    """There is nothing to say."""
    assert end(wire, how) == END[how]
    assert wire.said == b""


@pytest.mark.parametrize("how", END)
def test_a_server_that_was_never_asked_anything_ends(command: list[str], environment: dict[str, str], how: str) -> None:
    """A client may change its mind before the handshake."""
    with Wire(command, environment) as wire:
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        wire.next()
        assert end(wire, how) == END[how]
        assert b"Traceback" not in wire.said


def test_a_client_that_vanishes_leaves_nothing_half_done(
    command: list[str], environment: dict[str, str], place: Path, until: str
) -> None:
    """Both ends of the connection go at once, as when a client is killed: nobody is left to wait for an answer."""
    arguments = {"path": "half.txt", "until": until}
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "hand", "version": "0"}}
    lines = (
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": arguments}},
    )
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    process = subprocess.Popen(command, env=environment, stdin=their_in, stdout=their_out)
    try:
        os.close(their_in)
        os.close(their_out)
        os.write(our_out, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        wait_for(until + ".began")
        os.close(our_in)
        os.close(our_out)

        status = process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
    assert status == 0
    assert not (place / "half.txt").exists()


@pytest.mark.parametrize("tool", ["wait", "wait_async"])
def test_a_cancelled_call_is_taken_back_before_the_next_one(wire: Wire, place: Path, until: str, tool: str) -> None:
    """Clients cancel what takes too long, and send the next call at once."""
    wire.ask("slow", tool, path="half.txt", until=until)
    wait_for(until + ".began")

    wire.cancel("slow")
    seen = wire.call("next", "peek", text="half.txt")
    written = wire.call("after", "append", number=1)

    assert (seen, written) == ("there is none", "added")
    assert not (place / "half.txt").exists()


def test_a_handler_that_goes_on_after_its_end_changes_nothing(wire: Wire, place: Path, until: str) -> None:
    """A thread cannot be interrupted; what it held is taken away instead."""
    wire.ask("slow", "wait", path="half.txt", until=until)
    wait_for(until + ".began")
    wire.cancel("slow")
    wire.call("next", "append", number=1)

    Path(until).touch()
    wait_for(until + ".ended")

    assert wire.call("then", "peek", text="half.txt") == "there is none"
    assert not (place / "half.txt").exists()


def test_a_call_that_waits_for_its_turn_can_be_cancelled(wire: Wire, place: Path, until: str) -> None:
    """It has not begun, and does not begin."""
    wire.ask("slow", "wait", path="half.txt", until=until)
    wait_for(until + ".began")
    wire.ask("waiting", "append", number=1)
    wire.cancel("waiting")
    wire.send({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    assert wire.next()["id"] == "p"

    Path(until).touch()

    assert "result" in wire.answer("slow")
    assert wire.call("then", "peek", text="numbers.txt") == "there is none"
    assert (place / "half.txt").read_text() == "whole"


def test_a_cancel_that_comes_too_late_does_nothing(wire: Wire, place: Path) -> None:
    """Ids may be used again, and what has been committed stands."""
    wire.call(1, "append", number=1)
    wire.cancel(1)

    assert wire.call(1, "append", number=2) == "added"
    assert (place / "numbers.txt").read_text() == "1\n2\n"


def test_a_cancelled_call_is_not_answered(wire: Wire, until: str) -> None:
    """The protocol says so: the id may be in use again."""
    wire.ask("slow", "wait", path="half.txt", until=until)
    wait_for(until + ".began")
    wire.cancel("slow")
    wire.call("next", "append", number=1)
    wire.process.stdin.close()

    assert [message for message in wire.rest() if message.get("id") == "slow"] == []


def test_while_a_call_hangs_only_its_own_session_waits(wire: Wire, until: str) -> None:
    """One slow tool must not make a client believe that the server is gone."""
    wire.ask("slow", "wait", path="half.txt", until=until)
    wait_for(until + ".began")
    wire.ask("behind", "peek", text="half.txt")
    wire.send({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
    wire.send({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})
    other = {"name": "peek", "arguments": {"text": "a.txt"}, "_meta": {"wink/session": "other"}}
    wire.send({"jsonrpc": "2.0", "id": "read", "method": "tools/call", "params": other})

    assert {wire.next()["id"] for _ in range(3)} == {"ping", "list", "read"}
    Path(until).touch()
    assert wire.answer("behind")["result"]["content"][0]["text"] == "whole"


def test_progress_comes_only_when_asked_for_and_never_after_the_result(wire: Wire) -> None:
    """Clients take a notification for a call that has ended for a mistake."""
    wire.call("plain", "beat", number=3)
    params = {"name": "beat", "arguments": {"number": 3}, "_meta": {"progressToken": 0}}
    wire.send({"jsonrpc": "2.0", "id": "told", "method": "tools/call", "params": params})
    messages = [wire.next() for _ in range(4)]
    wire.ask("much", "beat", number=10_000)
    wire.answer("much")
    wire.process.stdin.close()

    assert [message.get("method") for message in messages] == [*["notifications/progress"] * 3, None]
    assert [message["params"] for message in messages[:3]] == [
        {"progressToken": 0, "progress": float(beat)} for beat in (1, 2, 3)
    ]
    assert [message for message in wire.rest() if "method" in message] == []


def test_changes_come_in_the_order_in_which_they_were_asked_for(wire: Wire, place: Path) -> None:
    """Clients send them in parallel, and what each finds is what those before it left."""
    for number in range(40):
        wire.ask(number, "append", number=number)
    for number in range(40):
        assert "result" in wire.answer(number)

    assert list(map(int, (place / "numbers.txt").read_text().split())) == list(range(40))


def test_two_servers_work_on_one_workspace(
    wire: Wire, command: list[str], environment: dict[str, str], place: Path
) -> None:
    """Two windows of one editor, or two agents: their writes come one at a time too."""
    with Wire(command, environment) as other:
        other.initialize()
        for number in range(20):
            (wire, other)[number % 2].ask(number, "append", number=number)
        for number in range(20):
            assert "result" in (wire, other)[number % 2].answer(number)

    assert sorted(map(int, (place / "numbers.txt").read_text().split())) == list(range(20))


def test_a_new_process_knows_what_the_session_has_read(
    command: list[str], environment: dict[str, str], place: Path
) -> None:
    """Some clients start a server for each call, and some crash."""
    replies = []
    for session, tool, arguments in (
        ("one", "write_file", {"file_path": "a.txt", "content": "new"}),
        ("one", "read_file", {"file_path": "a.txt"}),
        ("two", "write_file", {"file_path": "a.txt", "content": "new"}),
        ("one", "write_file", {"file_path": "a.txt", "content": "new"}),
    ):
        with Wire([*command, "--session", session], environment) as wire:
            wire.initialize()
            replies.append(wire.call(1, tool, **arguments))
            wire.process.kill()

    assert [reply.startswith("Error: ") for reply in replies] == [True, False, True, False]
    assert (place / "a.txt").read_text() == "new"


def test_a_person_can_undo_beside_a_running_server(
    wire: Wire, command: list[str], environment: dict[str, str], place: Path
) -> None:
    """A server holds the workspace only while a call changes it, and sees what others have done since."""
    wire.call(1, "append", number=1)
    undo = [*command[:3], "undo", "--workspace", str(place)]
    subprocess.run(undo, env=environment, check=True, capture_output=True, timeout=SECONDS)

    assert wire.call(2, "peek", text="numbers.txt") == "there is none"
    assert wire.call(3, "append", number=2) == "added"
    assert (place / "numbers.txt").read_text() == "2\n"


def test_a_request_may_name_its_session(wire: Wire) -> None:
    """One server, two sessions: what the one has read the other has not."""

    def call(request_id: int, tool: str, session: object, **arguments: str) -> dict:
        params = {"name": tool, "arguments": arguments, "_meta": {"wink/session": session}}
        wire.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params})
        return wire.answer(request_id)["result"]

    write = {"file_path": "a.txt", "content": "new"}
    assert call(1, "read_file", "one", file_path="a.txt").get("isError") is not True
    assert call(2, "write_file", "two", **write)["isError"] is True
    assert call(3, "write_file", "one", **write).get("isError") is not True
    assert "cannot name a session" in call(4, "peek", "../x", text="a.txt")["content"][0]["text"]
    assert call(5, "peek", 3, text="a.txt")["isError"] is True


def test_long_results_are_kept_and_read_in_pages(wire: Wire) -> None:
    """A model is sent the beginning and the end, and can ask for the rest."""
    text = wire.call(1, "much", number=30_000)
    result_id = text.split("result_id='")[1].split("'")[0]

    page = wire.call(2, "read_result", result_id=result_id, offset=100_000, limit=100)

    assert len(text) <= 50_000
    assert "".join(f"line {n}\n" for n in range(30_000))[100_000:100_100] in page
