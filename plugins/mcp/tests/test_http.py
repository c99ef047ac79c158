"""The same server over HTTP: several clients at once, and only those that are meant."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from plugins.mcp.tests.serving import Server
from plugins.mcp.tests.test_ending import wait_for
from plugins.mcp.tests.wire import SECONDS

from wink.workspace import Workspace


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
def test_a_client_works_over_http(server: Server, place: Path, mode: str) -> None:
    """Both eras: with a session of the transport, and without any."""

    async def work() -> None:
        beats: list[float] = []

        async def beaten(progress: float, total: float | None, message: str | None) -> None:
            beats.append(progress)

        async with server.client(mode) as client:
            result = await client.call_tool("write_file", {"file_path": "b.txt", "content": "new\n"})
            failed = await client.call_tool("fail", {})
            await client.call_tool("beat", {"number": 3}, progress_callback=beaten)
            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(client.call_tool, "append", {"number": number})
        assert not result.is_error
        assert failed.is_error
        assert beats == [1, 2, 3]

    asyncio.run(work())

    assert (place / "b.txt").read_text() == "new\n"
    assert sorted(map(int, (place / "numbers.txt").read_text().split())) == list(range(20))


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_path_names_the_session(server: Server, mode: str) -> None:
    """Two clients of one server each know only what they have read themselves."""

    async def work() -> list[bool | None]:
        write = {"file_path": "a.txt", "content": "new"}
        async with server.client(mode, "/one") as one, server.client(mode, "/two") as two:
            await one.call_tool("read_file", {"file_path": "a.txt"})
            return [(await client.call_tool("write_file", write)).is_error for client in (two, one)]

    assert asyncio.run(work()) == [True, False]


def test_a_session_that_cannot_be_is_an_answer_and_not_a_crash(server: Server) -> None:
    """Names come from strangers."""

    async def work() -> Any:
        async with server.client("2026-07-28", "/NOT-A-NAME") as client:
            return await client.call_tool("peek", {"text": "a.txt"})

    assert "cannot name a session" in asyncio.run(work()).content[0].text


def test_a_call_that_nobody_waits_for_is_taken_back(server: Server, place: Path, tmp_path: Path) -> None:
    """In the stateless era a client cancels by going away."""
    until = str(tmp_path / "until")

    async def give_up() -> str:
        async with server.client("2026-07-28") as client:
            slow = asyncio.create_task(client.call_tool("wait", {"path": "half.txt", "until": until}))
            await asyncio.to_thread(wait_for, until + ".began")
            slow.cancel()
            await asyncio.wait([slow])
        async with server.client("2026-07-28") as other:
            return (await other.call_tool("append", {"number": 1})).content[0].text

    assert asyncio.run(give_up()) == "added"
    assert not (place / "half.txt").exists()


@pytest.mark.parametrize(
    ("mode", "tool", "number", "status"),
    [
        ("legacy", "hang", signal.SIGTERM, 0),
        ("legacy", "hang_async", signal.SIGINT, 130),
        ("2026-07-28", "hang", signal.SIGINT, 130),
        ("2026-07-28", "hang_async", signal.SIGTERM, 0),
    ],
)
def test_a_server_ends_when_told_to_while_a_call_hangs(
    server: Server, place: Path, tmp_path: Path, tool: str, mode: str, number: int, status: int
) -> None:
    """Open connections and calls must not keep it."""
    until = str(tmp_path / "until")

    async def work() -> None:
        async with server.client(mode) as client:
            await client.call_tool(tool, {"path": "half.txt", "until": until})

    async def both() -> int:
        working = asyncio.create_task(work())
        await asyncio.to_thread(wait_for, until + ".began")
        ended = await asyncio.to_thread(server.end, number)
        working.cancel()
        await asyncio.wait([working])
        working.cancelled() or working.exception()
        return ended

    assert asyncio.run(both()) == status
    assert not (place / "half.txt").exists()
    assert b"Traceback" not in server.process.stderr.read()
    with Workspace.open(place) as workspace:
        assert workspace.recovered == ()


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (421, {"host": "evil.example"}),
        (421, {"host": "evil.example:80"}),
        (421, {"host": "127.0.0.1.evil.example:80"}),
        (421, {"host": "127.0.0.1:80@evil.example"}),
        (421, {"host": ""}),
        (403, {"origin": "http://evil.example"}),
        (403, {"origin": "null"}),
        (403, {"origin": "file://"}),
        (403, {"origin": "http://localhost.evil.example"}),
        (400, {"content_type": "text/plain"}),
    ],
)
def test_pages_of_the_web_are_kept_out(server: Server, status: int, headers: dict[str, str]) -> None:
    """A page can have its own name resolve to this machine, and post forms to it."""
    assert server.request("POST", "/mcp", PING, **headers)[0] == status
    assert server.process.poll() is None


def test_garbage_over_http_is_answered(server: Server) -> None:
    """Whatever is posted, the next client is served."""
    modern = {"mcp_protocol_version": "2026-07-28"}
    for body in (b"", b"{", b"\xff", b"[]", b"null", b"[" * 100_000, b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}'):
        for headers in ({}, modern):
            status, _ = server.request("POST", "/mcp", body, **headers)
            assert 400 <= status < 500, (body[:40], headers)
    for method, path in (("GET", "/"), ("PUT", "/mcp"), ("GET", "/mcp/a/b"), ("POST", "/mcpx"), ("DELETE", "/mcp")):
        status, _ = server.request(method, path)
        assert 400 <= status < 500, (method, path)
    status, _ = server.request("POST", "/mcp", b" " * (17 * 1024 * 1024))
    assert status == 413

    async def work() -> Any:
        async with server.client() as client:
            return await client.call_tool("show", {"text": "x"})

    assert asyncio.run(work()).content[0].text == "<x>"


@pytest.mark.parametrize(
    "options", [["--http", "0.0.0.0:0"], ["--http", "x"], ["--http", "127.0.0.1:0", "--port", "0"]]
)
def test_a_wrong_address_is_one_line(command: list[str], environment: dict[str, str], options: list[str]) -> None:
    """Before anything is opened."""
    done = subprocess.run([*command, *options], env=environment, capture_output=True, timeout=SECONDS)

    assert done.returncode == 2
    assert done.stderr.startswith(b"wink: ")
    assert done.stderr.count(b"\n") == 1


def test_an_address_that_is_taken_is_one_line(server: Server, command: list[str], environment: dict[str, str]) -> None:
    """With what to do about it."""
    done = subprocess.run([*command, "--port", str(server.port)], env=environment, capture_output=True, timeout=SECONDS)

    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"another port" in done.stderr
