"""Calls over MCP between processes, as a client makes them, beside a server of the SDK alone."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client

from benchmarks.conftest import TEXT, make_tree

Benchmark = Any

BARE = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")

@server.tool(structured_output=False)
def read_file(file_path: str) -> str:
    with open(file_path) as file:
        return file.read()

@server.tool(structured_output=False)
def write_file(file_path: str, content: str) -> str:
    with open(file_path, "w") as file:
        file.write(content)
    return "written"

server.run("stdio")
"""
SERVERS = {"wink": ["-m", "wink", "serve"], "the SDK alone": ["-c", BARE]}

each_server = pytest.mark.parametrize("server", list(SERVERS))
_numbers = itertools.count()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make_tree(tmp_path, 1_000)
    return tmp_path


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


def client(server: str, place: Path) -> Client:
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=SERVERS[server], cwd=place)))


@contextmanager
def connected(portal: BlockingPortal, server: str, place: Path) -> Iterator[Client]:
    with portal.wrap_async_context_manager(client(server, place)) as session:
        yield session


@pytest.mark.benchmark(group="serve: from the start of the process to the list of tools")
@each_server
def test_first_list(benchmark: Benchmark, portal: BlockingPortal, place: Path, server: str) -> None:
    def run() -> None:
        with connected(portal, server, place) as session:
            assert portal.call(session.list_tools).tools

    benchmark.pedantic(run, rounds=10, warmup_rounds=2)


@pytest.mark.benchmark(group="serve: a call that reads 1.5 KB")
@each_server
def test_read(benchmark: Benchmark, portal: BlockingPortal, place: Path, server: str) -> None:
    with connected(portal, server, place) as session:

        def run() -> None:
            result = portal.call(session.call_tool, "read_file", {"file_path": "dir/sub/file.txt"})
            assert not result.is_error, result

        benchmark.pedantic(run, rounds=500, warmup_rounds=50)


@pytest.mark.benchmark(group="serve: a call that overwrites 1.5 KB")
@each_server
def test_write(benchmark: Benchmark, portal: BlockingPortal, place: Path, server: str) -> None:
    with connected(portal, server, place) as session:
        portal.call(session.call_tool, "read_file", {"file_path": "dir/sub/file.txt"})

        def run() -> None:
            arguments = {"file_path": "dir/sub/file.txt", "content": f"{TEXT}{next(_numbers)}"}
            result = portal.call(session.call_tool, "write_file", arguments)
            assert not result.is_error, result

        benchmark.pedantic(run, rounds=500, warmup_rounds=50)
