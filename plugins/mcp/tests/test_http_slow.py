"""Clients that send or read too slowly, or are too many, in front of a real server: the official client is served meanwhile."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from plugins.mcp.tests.serving import Server, started
from plugins.mcp.tests.wire import SECONDS

BEGUN = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
MANY = 600


@contextmanager
def connected(server: Server, begun: bytes) -> Iterator[socket.socket]:
    """A client that has sent this much and no more."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as client:
        client.sendall(begun)
        yield client


async def tools(server: Server) -> list[str]:
    """What a client with the token finds, each time anew."""
    async with server.client() as client:
        return [tool.name for tool in (await client.list_tools()).tools]


def is_over(client: socket.socket) -> bool:
    """Whether the server has ended a connection, after an answer or without one; waits for it."""
    try:
        while client.recv(1024):
            pass
    except ConnectionError:
        pass
    return True


def descriptors(server: Server) -> int:
    """How many descriptors the server has open."""
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


@pytest.mark.parametrize("begun", [b"", b"P", BEGUN, BEGUN + b"X-Slow: a", BEGUN + b"Content-Length: 9999\r\n\r\n{"])
def test_hundreds_of_clients_that_say_no_more_keep_nobody_out(server: Server, begun: bytes) -> None:
    """They hold a few descriptors and not all of them: those that came first have had to go."""
    before = descriptors(server) if Path("/proc").exists() else 0
    with ExitStack() as clients:
        held = [clients.enter_context(connected(server, begun)) for _ in range(MANY)]
        assert "read_file" in asyncio.run(tools(server))
        assert all(is_over(client) for client in held[: MANY // 2])
        if before:
            assert descriptors(server) < before + 200


def test_who_has_shown_the_token_is_not_pushed_out(server: Server) -> None:
    """A client in the middle of its work, and one whose connection waits for the next request."""

    async def work() -> None:
        async with server.client("legacy") as client:
            await client.list_tools()
            with ExitStack() as clients:
                for _ in range(MANY):
                    await asyncio.to_thread(clients.enter_context, connected(server, BEGUN))
                assert not (await client.call_tool("read_file", {"file_path": "a.txt"})).is_error

    asyncio.run(work())


def test_where_descriptors_are_few_tools_still_open_files(command: list[str], environment: dict[str, str]) -> None:
    """Of 128, connections take a part; the rest is for what the calls do."""
    few = ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh", *command, "--port", "0"]

    async def work(server: Server) -> None:
        async with server.client() as client:
            for number in range(5):
                new = {"file_path": f"new{number}.txt", "content": "x"}
                assert not (await client.call_tool("write_file", new)).is_error
                assert not (await client.call_tool("read_file", {"file_path": "a.txt"})).is_error

    with started(few, environment) as server, ExitStack() as clients:
        for _ in range(MANY):
            clients.enter_context(connected(server, BEGUN))
        asyncio.run(work(server))


def test_a_request_whose_headers_never_end_is_over(server: Server) -> None:
    """Ten seconds after it began, though there was something new of it each second."""
    with connected(server, BEGUN) as client:
        client.settimeout(1)
        for number in range(SECONDS):
            try:
                client.sendall(b"X-%d: slow\r\n" % number)
                assert client.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            break
        else:
            raise AssertionError("it goes on and on")
    assert "read_file" in asyncio.run(tools(server))
