"""A `wink serve --http` of its own for a test, ended as a person would end it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from plugins.mcp.tests.wire import SECONDS

WINK = os.path.join(os.path.dirname(sys.executable), "wink")


@dataclass
class Answer:
    """What a request by hand was answered."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes


@dataclass
class Server:
    """A server process, where it is, and the token that it asks for."""

    process: subprocess.Popen[bytes]
    url: str
    token: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.split(":")[2].split("/")[0])

    def end(self, number: int) -> int:
        """Send it a signal; its exit status."""
        self.process.send_signal(number)
        return self.process.wait(SECONDS)

    @asynccontextmanager
    async def client(self, mode: str = "auto", path: str = "") -> AsyncIterator[Client]:
        """The official client, with the token."""
        async with httpx2.AsyncClient(headers=bearer(self.token), timeout=SECONDS) as http:
            async with Client(streamable_http_client(self.url + path, http_client=http), mode=mode) as client:
                yield client

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        """One request by hand, with the token; names of headers with underscores."""
        answer = self.answer(method, path, body, **(bearer(self.token) | headers))
        return answer.status, answer.content

    def answer(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """The same without the token, and with all that is answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.putrequest(method, path, skip_host=True)
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            defaults = {"host": f"127.0.0.1:{self.port}", "content_type": "application/json"}
            defaults |= {"accept": "application/json, text/event-stream"}
            for name, value in (defaults | headers).items():
                connection.putheader(name.replace("_", "-"), value)
            if data is not None:
                connection.putheader("content-length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()


def bearer(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"authorization": f"Bearer {token}"} if token else {}


@contextmanager
def started(command: list[str], environment: Mapping[str, str]) -> Iterator[Server]:
    """A server of `wink serve` with these options, killed at the end."""
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        url = token = ""
        for line in process.stderr:
            if b"serving at" in line:
                url = line.decode().split()[-1]
            if b"clients show the token in" in line:
                token = Path(line.decode().partition(" in ")[2].partition(";")[0]).read_text().strip()
            if token or b"it asks for no token" in line:
                break
        yield Server(process, url, token)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@contextmanager
def served(workspace: Path, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The URL of a server on a free port; it has to end by itself when it is asked to, and without a traceback."""
    command = [WINK, "serve", *options, "--http", "127.0.0.1:0"]
    env = {**os.environ, **(environment or {})}
    with subprocess.Popen(command, cwd=workspace, env=env, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        try:
            assert "serving at http://" in said, said + server.stderr.read()
            yield said.split()[-1]
        finally:
            server.terminate()
            _, rest = server.communicate(timeout=10)
        assert "Traceback" not in rest, rest
