"""Pass on plain HTTP requests, each judged by itself, parsed and written anew, so that both sides see the same request."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import h11

from wink_sandbox.network._addresses import address_of
from wink_sandbox.network._listed import name_of
from wink_sandbox.network._tunnel import Streams

_ABSOLUTE: Final = re.compile(r"http://([^/?#@\\]+)(.*)", re.IGNORECASE | re.DOTALL)
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
_HOP_BY_HOP: Final = frozenset(
    (
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"upgrade",
        b"trailer",
    )
)
_CHUNK: Final = 1 << 17
_LAST_PORT: Final = 65535


class BadRequestError(Exception):
    """A request that is not passed on; its text says why."""


def authority(text: str, otherwise: int | None) -> tuple[str, int]:
    """Host, without brackets, and port; raises `BadRequestError`."""
    found = _AUTHORITY.fullmatch(text)
    port = int(found[2]) if found and found[2] else otherwise
    if found is None or port is None or not 1 <= port <= _LAST_PORT:
        raise BadRequestError("the target is no host and port")
    host = found[1].strip("[]")
    return host, port


def target_of(request: h11.Request) -> tuple[str, int, bytes]:
    """Host, port and the target as the server gets it, of a request with an absolute target; raises `BadRequestError`."""
    headers: list[tuple[bytes, bytes]] = [(bytes(name), bytes(value)) for name, value in request.headers]
    found = _ABSOLUTE.fullmatch(request.target.decode("latin-1"))
    if found is None:
        raise BadRequestError("this is a proxy: it takes http://host/path, and CONNECT for everything else")
    host, port = authority(found[1], 80)
    names = [name for name, _ in headers]
    if b"content-length" in names and b"transfer-encoding" in names:
        raise BadRequestError("the request says its length in two ways")
    for name, value in headers:
        if name == b"host" and _same(*authority(value.decode("latin-1"), 80)) != _same(host, port):
            raise BadRequestError("the header Host is not for the host that is asked for")
    rest = found[2]
    return host, port, (rest if rest.startswith("/") else f"/{rest}").encode("latin-1")


def _same(host: str, port: int) -> tuple[object, int]:
    return address_of(host) or name_of(host) or host, port


class Exchange:
    """One request to a server, and its response back to the client."""

    def __init__(self, ours: h11.Connection, client: Streams, server: Streams) -> None:
        self._ours, self._client, self._server = ours, client, server
        self._theirs: Final = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 17)
        self.sent = self.received = 0

    async def run(self, request: h11.Request, host: str, target: bytes) -> None:
        """Raises OSError and `h11.ProtocolError` where one side is gone or speaks no HTTP."""
        headers = [(b"Host", host.encode("latin-1")), *(one for one in _passed(request.headers) if one[0] != b"host")]
        made = h11.Request(method=request.method, target=target, headers=[*headers, (b"Connection", b"close")])
        await self._up(made)
        body = asyncio.ensure_future(self._request_body())
        answer = asyncio.ensure_future(self._response())
        try:
            await asyncio.wait((body, answer), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await body  # which fails where the client has gone, or sent what is no HTTP
            await answer  # also where the server did not want all of the body
        finally:
            for task in (body, answer):
                task.cancel()
            await asyncio.gather(body, answer, return_exceptions=True)

    async def _request_body(self) -> None:
        while True:
            event = self._ours.next_event()
            if event is h11.NEED_DATA:
                self._ours.receive_data(await self._client[0].read(_CHUNK))
            elif isinstance(event, h11.Data):
                await self._up(h11.Data(data=event.data))
            else:
                await self._up(h11.EndOfMessage())
                return

    async def _response(self) -> None:
        while True:
            event = self._theirs.next_event()
            if event is h11.NEED_DATA:
                data = await self._server[0].read(_CHUNK)
                self.received += len(data)
                self._theirs.receive_data(data)
            elif isinstance(event, h11.InformationalResponse):
                if event.status_code == 101:
                    raise h11.RemoteProtocolError("it switched protocols without being asked")
                if self._ours.their_http_version == b"1.1":
                    await self._down(
                        h11.InformationalResponse(status_code=event.status_code, headers=_passed(event.headers))
                    )
            elif isinstance(event, h11.Response):
                await self._down(
                    h11.Response(status_code=event.status_code, reason=event.reason, headers=_passed(event.headers))
                )
            elif isinstance(event, h11.Data):
                await self._down(h11.Data(data=event.data))
            elif isinstance(event, h11.EndOfMessage):
                await self._down(h11.EndOfMessage())
                return
            else:
                raise h11.RemoteProtocolError("the server has gone")

    async def _up(self, event: h11.Request | h11.Data | h11.EndOfMessage) -> None:
        data = self._theirs.send(event)
        if data:
            self.sent += len(data)
            self._server[1].write(data)
            await self._server[1].drain()

    async def _down(self, event: h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage) -> None:
        data = self._ours.send(event)
        if data:
            self._client[1].write(data)
            await self._client[1].drain()


def _passed(headers: Any) -> list[tuple[bytes, bytes]]:
    """The headers that are for the other side, without those that are for the next one only."""
    given = [(bytes(name), bytes(value)) for name, value in headers]
    named = {word.strip().lower() for name, value in given if name == b"connection" for word in value.split(b",")}
    # What a message's end is told by is never one of those, whatever a client says.
    named -= {b"content-length", b"transfer-encoding", b"host"}
    return [one for one in given if one[0] not in _HOP_BY_HOP and one[0] not in named]
