"""What is no message, or a message that nobody expects, costs the server nothing but an answer."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCResponse
from plugins.mcp.tests.wire import SECONDS, Wire

from wink_mcp._lines import Lines, TooLong
from wink_mcp._messages import is_refusal, message_of
from wink_mcp._stdio import Wire as Channel


@pytest.fixture
def wire(command: list[str], environment: dict[str, str]) -> Iterator[Wire]:
    with Wire(command, environment) as wire:
        wire.initialize()
        yield wire


GARBAGE: list[tuple[bytes, int, Any]] = [
    # what is sent                                              code    id of the answer
    (b"hello", -32700, None),
    (b"{", -32700, None),
    (b"\xff\xfe\x00", -32700, None),
    (b"\x00", -32700, None),
    (b"[" * 200_000, -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700, None),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', -32700, None),
    (b"[]", -32600, None),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
    (b"null", -32600, None),
    (b'"text"', -32600, None),
    (b"{}", -32600, None),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":3}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":' + b"[" * 300 + b"]" * 300 + b"}}", -32600, 7),
    (b'{"jsonrpc":"2.0","id":"x","method":"no/such/method"}', -32601, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"tools/call"}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"file:///etc/passwd"}}', -32601, "x"),
]


def test_garbage_is_answered_and_the_next_message_as_well(wire: Wire) -> None:
    """A client with one mistake must be told of it, and not lose its connection."""
    for number, (line, code, request_id) in enumerate(GARBAGE, 100):
        wire.send(line)
        answer = wire.next()
        assert (answer["error"]["code"], answer["id"]) == (code, request_id), line[:80]
        wire.send({"jsonrpc": "2.0", "id": number, "method": "ping"})
        assert wire.next() == {"jsonrpc": "2.0", "id": number, "result": {}}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b'{"jsonrpc":"2.0","method":"notifications/nothing"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never seen"}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}',
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}',
    ],
)
def test_what_needs_no_answer_gets_none(wire: Wire, line: bytes) -> None:
    """Notifications and answers to nothing are passed over."""
    wire.send(line)
    wire.send({"jsonrpc": "2.0", "id": "p", "method": "ping"})

    assert wire.next()["id"] == "p"


@pytest.mark.parametrize("request_id", [0, "", "zero", -1, 2**53])
def test_ids_come_back_as_they_were(wire: Wire, request_id: int | str) -> None:
    """0 and the empty string are ids like any other, and text stays text."""
    assert wire.call(request_id, "show", text="x") == "<x>"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_message_that_is_too_long_is_refused_by_its_id(wire: Wire, is_first: bool) -> None:
    """It must cost no memory, and whoever sent it must not wait for ever; some clients write the id last."""
    start, params = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":', b'{"name":"echo","arguments":{"text":"'
    end = b'"}}'
    if is_first:
        wire.process.stdin.write(start + params)
    else:
        wire.process.stdin.write(b'{"method":"tools/call","params":' + params)
    for _ in range(17):
        wire.process.stdin.write(b"x" * (1 << 20))
    wire.send(end + (b"}" if is_first else b',"jsonrpc":"2.0","id":5}'))

    answer = wire.next()

    assert (answer["id"], answer["error"]["code"]) == (5, -32600)
    assert wire.call(6, "show", text="x") == "<x>"


def test_half_characters_may_come_and_go_out_escaped(wire: Wire) -> None:
    """JSON can say them and UTF-8 cannot; a client that got one would take the whole message for broken."""
    wire.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"show","arguments":{"text":"\\ud800"}}}')
    shown = wire.answer(1)["result"]
    wire.send(b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}')
    unknown = wire.answer(2)

    assert shown["content"][0]["text"] == "<\\ud800>"
    assert "result" in unknown or unknown["error"]["code"] == -32602
    assert wire.call(3, "surrogate") == "half \\ud800 of it"


def test_what_handlers_print_misses_the_protocol(wire: Wire) -> None:
    """One line too many on standard output ends a client's connection; a handler that reads gets nothing."""
    assert wire.call(1, "shout") == "read ''"
    assert wire.call(2, "show", text="x") == "<x>"
    wire.process.stdin.close()
    assert wire.ended() == 0
    for printed in (b"printed", b"written", b"shell"):
        assert printed in wire.said


@pytest.mark.parametrize("tool", ["leave", "leave_async"])
@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "Cancelled"])
def test_a_handler_cannot_end_the_server(wire: Wire, tool: str, kind: str, place: Path) -> None:
    """The exceptions that end programs end the call."""
    assert wire.call(1, tool, text=kind).startswith("Error: ")
    assert not (place / "left.txt").exists()
    assert wire.call(2, "show", text="x") == "<x>"


def test_neither_a_section_nor_a_policy_can_end_the_server(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    """Foreign code runs outside of handlers too."""
    with Wire([*command, "--section", "odd.dying", "--policy", "odd.asks"], environment) as wire:
        wire.initialize()
        (tmp_path / "flag").touch()
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        wire.send({"jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": {"name": "instructions"}})

        assert wire.answer(1)["error"]["code"] == -32603
        assert wire.answer(2)["error"]["code"] == -32603
        assert wire.call(3, "show", text="x").startswith(
            "Error: policy 'asks' denied show: its check raised SystemExit"
        )
        assert wire.call(4, "peek", text="nothing.txt") == "there is none"


def test_a_call_whose_arguments_are_no_object_is_a_failed_call(wire: Wire) -> None:
    """A model that got this wrong can fix it, if it is told."""
    for number, arguments in enumerate(("text", [1], 3, False), 1):
        params = {"name": "show", "arguments": arguments}
        wire.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        result = wire.answer(number)["result"]
        assert result["isError"] is True
        assert "no object" in result["content"][0]["text"]


def test_a_summarised_section_is_opened_for_the_session(command: list[str], environment: dict[str, str]) -> None:
    """The client is told that there are other tools, and the model what the section says, since it is asked only once."""
    with Wire([*command, "--section", "odd.folded"], environment) as wire:
        can = wire.initialize()["result"]["capabilities"]
        closed = wire.call(1, "act_when_open")
        wire.ask(2, "open_sections", section_keys=["folded"], reason="to act")
        messages = [wire.next(), wire.next()]
        opened = wire.call(3, "act_when_open")

    assert can["tools"]["listChanged"] is True
    assert closed.startswith("Error: there is no tool")
    assert messages[0]["method"] == "notifications/tools/list_changed"
    assert "All of it." in messages[1]["result"]["content"][0]["text"]
    assert "act_when_open" in messages[1]["result"]["content"][0]["text"]
    assert opened == "done"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_a_server_without_standard_streams_ends_by_itself(
    command: list[str], environment: dict[str, str], closed: str
) -> None:
    """Were their numbers free, the record would get one of them, and all that is printed."""
    line = " ".join(shlex.quote(word) for word in command) + " " + closed
    done = subprocess.run(["sh", "-c", line], env=environment, input=b"", capture_output=True, timeout=SECONDS)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_results_that_cannot_be_stored_are_failures(wire: Wire) -> None:
    """Nothing of Python's own goes over the wire."""
    assert wire.call(1, "unstorable").startswith("Error: ")
    assert wire.call(2, "show", text="x") == "<x>"


def test_a_pipe_that_was_closed_behind_the_last_message_gets_all_answers(
    command: list[str], environment: dict[str, str]
) -> None:
    """`printf … | wink serve` is how people try it."""
    with Wire(command, environment) as wire:
        wire.initialize()
        for number in range(20):
            wire.ask(number, "append", number=number)
        wire.process.stdin.close()

        answers = wire.rest()

        assert sorted(answer["id"] for answer in answers) == list(range(20))
        assert all("result" in answer for answer in answers)
        assert wire.ended() == 0
        assert b"Traceback" not in wire.said


def test_the_stateless_era_needs_no_handshake(command: list[str], environment: dict[str, str]) -> None:
    """`server/discover` is answered at once, whatever else is going on."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "hand", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with Wire(command, environment) as wire:
        wire.send({"jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": {"_meta": meta}})

        found = wire.next()["result"]

        assert "2026-07-28" in found["supportedVersions"]
        assert "Odd tools" in found["instructions"]


def test_what_waits_for_an_answer_takes_bounded_memory() -> None:
    """A client that sends and sends is told to come later, until something has been answered."""

    def ask(number: int) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": "m", "params": {"x": "x" * 300}}).encode() + b"\n"

    async def serve(reading: Any, writing: Any) -> None:
        async with reading, writing:
            first = (await reading.receive()).message.id
            second = (await reading.receive()).message.id
            await writing.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=first, result={})))
            third = (await reading.receive()).message.id
            for number in (second, third):
                await writing.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=number, result={})))

    async def talk() -> list[tuple[int, bool]]:
        (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
        channel = Channel(their_in, their_out, ended=lambda: None, most_held=1000)
        running = asyncio.create_task(channel.run(serve))
        with os.fdopen(our_in, "rb") as answers:
            os.write(our_out, ask(1) + ask(2) + ask(3))
            found = [json.loads(await asyncio.to_thread(answers.readline)) for _ in range(2)]
            os.write(our_out, ask(4))
            found += [json.loads(await asyncio.to_thread(answers.readline)) for _ in range(2)]
            os.close(our_out)
            await running
        os.close(their_in)
        os.close(their_out)
        return [(answer["id"], "error" in answer) for answer in found]

    assert sorted(asyncio.run(talk())) == [(1, False), (2, False), (3, True), (4, False)]


messages = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
keys = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"])


@settings(deadline=None)
@given(st.binary() | messages.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_a_message_or_is_refused(line: bytes) -> None:
    """Whatever comes over the wire, reading it raises nothing."""
    message = message_of(line)
    assert message is None or is_refusal(message) or message.jsonrpc == "2.0"


@settings(deadline=None)
@given(st.dictionaries(keys, st.just("2.0") | messages, max_size=6))
def test_any_object_is_a_message_or_is_refused(value: dict[str, Any]) -> None:
    """Objects that are nearly messages too."""
    message = message_of(json.dumps(value).encode())
    assert message is not None


@given(st.lists(st.binary(max_size=30)), st.integers(1, 12), st.randoms())
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[bytes], longest: int, random: Any) -> None:
    """What is too long is told by its length; all else is unchanged, whatever the chunks."""
    lines = [line.replace(b"\n", b"") for line in lines]
    stream = b"".join(line + b"\n" for line in lines)
    cutter, found = Lines(longest), []
    while stream:
        size = random.randint(1, len(stream))
        found += cutter.feed(stream[:size])
        stream = stream[size:]
    found += cutter.end()

    assert [len(line) if isinstance(line, bytes) else line.length for line in found] == [len(line) for line in lines]
    assert all(isinstance(one, TooLong) == (len(line) > longest) for one, line in zip(found, lines, strict=True))
    assert all(one == line for one, line in zip(found, lines, strict=True) if isinstance(one, bytes))
