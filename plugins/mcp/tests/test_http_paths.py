"""A session of the transport belongs to the path at which it began; at another it is as if there were none."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from plugins.mcp.tests.serving import Server, bearer
from plugins.mcp.tests.wire import SECONDS

BEGIN = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "hand", "version": "0"}},
}
WRITE = {"name": "write_file", "arguments": {"file_path": "foreign.txt", "content": "x"}}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": WRITE}


@pytest.fixture
def session(server: Server) -> Iterator[str]:
    """The id of a session that began at the path of `one`."""
    answer = server.answer("POST", "/mcp/one", BEGIN, **bearer(server.token))
    assert answer.status == 200, answer.content
    session = answer.headers["mcp-session-id"]
    yield session
    # Nobody has ended it meanwhile.
    status, _ = server.request("POST", "/mcp/one", {**CALL, "id": 2}, mcp_session_id=session)
    assert status == 200


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp/two", "/mcp/default", "/mcp/%6fne%20"])
def test_a_session_of_one_path_is_unknown_at_another(server: Server, session: str, path: str) -> None:
    """It can neither be used there, nor listened to, nor ended; the answer does not tell it from one that never was."""
    for method, body in (("POST", CALL), ("GET", None), ("DELETE", None)):
        foreign = server.request(method, path, body, mcp_session_id=session)
        assert foreign == server.request(method, path, body, mcp_session_id="0" * 32)
        assert foreign[0] == 404
        assert json.loads(foreign[1])["error"]["message"] == "Session not found"


def test_the_official_client_with_a_session_of_another_path_is_refused(server: Server, session: str) -> None:
    """What it calls is not done."""

    async def foreign() -> None:
        headers = {**bearer(server.token), "mcp-session-id": session}
        async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http:
            async with Client(streamable_http_client(f"{server.url}/two", http_client=http), mode="legacy") as client:
                await client.call_tool(WRITE["name"], WRITE["arguments"])

    with pytest.raises(BaseException, match=r"Session not found|unhandled errors|terminated"):
        asyncio.run(foreign())


def test_who_listens_at_a_foreign_path_hears_nothing(server: Server, session: str) -> None:
    """A stream of a session's news is for its own path, where it can be had."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    headers = {**bearer(server.token), "accept": "text/event-stream", "mcp-session-id": session}
    connection.request("GET", "/mcp/one", headers=headers)
    own = connection.getresponse()
    assert (own.status, own.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    connection.close()
    assert server.request("GET", "/mcp/two", mcp_session_id=session)[0] == 404
