"""Speak MCP with a server at a URL, reading no more than we can hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp.client._transport import TransportStreams  # pyright: ignore[reportPrivateUsage]
from mcp.client.streamable_http import streamable_http_client


@dataclass(eq=False)
class HttpServer:
    """One attempt to reach the server at `url`; `async with server.streams()` is its life.

    `message_bytes` bounds one message from it: the SDK does so for the events of a stream, and here it is done for an
    answer in one piece.
    """

    name: str
    url: str
    headers: Mapping[str, str]
    message_bytes: int
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing more will come from it."""
    why: str = ""

    def reason(self) -> str:
        """Why it is lost."""
        return self.why

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[TransportStreams]:
        """The streams of messages to and from the server."""

        async def bound(response: httpx2.Response) -> None:
            if response.headers.get("content-type", "").lower().startswith("application/json"):
                response.stream = _Bounded(response.stream, self.message_bytes)

        timeout = httpx2.Timeout(30.0, read=None)  # how long an answer may take is the caller's to say
        hooks: dict[str, Any] = {"response": [bound]}
        async with httpx2.AsyncClient(headers=dict(self.headers), timeout=timeout, event_hooks=hooks) as client:
            async with streamable_http_client(
                self.url, http_client=client, max_sse_event_size=self.message_bytes
            ) as streams:
                yield streams


class _Bounded(httpx2.AsyncByteStream):
    """A response's body, up to a length."""

    def __init__(self, inner: Any, limit: int) -> None:
        self._inner, self._limit = inner, limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for chunk in self._inner:
            taken += len(chunk)
            if taken > self._limit:
                raise httpx2.StreamError(f"the server sent a message of more than {self._limit} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
