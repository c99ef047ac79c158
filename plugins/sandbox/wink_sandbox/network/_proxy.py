"""The proxy of one program: HTTP and SOCKS5 at one port, told apart by their first byte."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import h11

from wink_sandbox.network import _socks as socks
from wink_sandbox.network._http import BadRequestError, Exchange, authority, target_of
from wink_sandbox.network._listed import Listed
from wink_sandbox.network._opening import NotOpenedError, Resolve, opened, resolved
from wink_sandbox.network._traffic import ALLOWED, Meter
from wink_sandbox.network._tunnel import Streams, Tunnel

if TYPE_CHECKING:
    from wink_sandbox.network._asking import Asking

_AT_ONCE: Final = 200
"""Connections beyond these wait: each takes two descriptors, of which a process has 1,024 where nobody has said otherwise."""
_HEAD_BYTES: Final = 1 << 16
_HEAD_SECONDS: Final = 30.0
_CHUNK: Final = 1 << 17


class Proxy:
    """Lets through what is listed, and notes all that was asked for."""

    def __init__(self, listed: Listed, meter: Meter, resolve: Resolve = resolved, asking: Asking | None = None) -> None:
        self._listed, self._meter, self._resolve, self._asking = listed, meter, resolve, asking
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, listener: socket.socket) -> None:
        """Accept from a listening socket until this is cancelled, and with it all connections."""
        listener.setblocking(False)
        loop, room = asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE)
        try:
            while True:
                await room.acquire()
                try:
                    accepted, _ = await loop.sock_accept(listener)
                except OSError:  # no descriptor is left, or the client has gone
                    room.release()
                    await asyncio.sleep(0.05)
                    continue
                task = loop.create_task(self._client(accepted))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                task.add_done_callback(lambda _: room.release())
        finally:
            left = tuple(self._tasks)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            if self._asking is not None:
                await self._asking.close()

    async def _client(self, accepted: socket.socket) -> None:
        client = await asyncio.open_connection(sock=accepted, limit=_CHUNK)
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                first = await client[0].read(_CHUNK)
            if first and first[0] == socks.VERSION:
                await self._socks(client, first)
            elif first:
                await self._http(client, first)
        except (OSError, TimeoutError):
            pass  # whoever goes, or is too slow, is told nothing
        finally:
            client[1].close()

    # -- SOCKS5

    async def _socks(self, client: Streams, data: bytes) -> None:
        reader, writer = client
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                while not (used := socks.greeting(data)):
                    data += await _more(reader)
                writer.write(socks.GREETED)
                data = data[used:]
                while (found := socks.request(data)) is None:
                    data += await _more(reader)
        except ValueError:
            writer.write(socks.NO_METHOD)
            return
        (host, port, refusal), used = found
        if refusal:
            self._meter.note(host, port, "refused: of SOCKS5 there is only CONNECT")
            writer.write(socks.reply(refusal))
            return
        try:
            server = await opened(host, port, self._listed, self._resolve, self._asking)
        except NotOpenedError as error:
            self._meter.note(host, port, error.outcome)
            writer.write(socks.reply(socks.NOT_ALLOWED if error.status == 403 else socks.UNREACHABLE))
            return
        try:
            writer.write(socks.reply(socks.DONE))
            await Tunnel(client, server, host, port).run(data[used:], self._meter)
        finally:
            server[1].close()

    # -- HTTP

    async def _http(self, client: Streams, data: bytes) -> None:
        ours = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
        ours.receive_data(data)
        while True:
            try:
                request = await self._request(ours, client[0])
                if request is None:
                    return
                if request.method == b"CONNECT":
                    await self._connect(ours, client, request)
                    return
                host, port, target = target_of(request)
            except (h11.RemoteProtocolError, BadRequestError) as error:
                await _refuse(ours, client, getattr(error, "error_status_hint", 400), str(error))
                return
            if not await self._exchange(ours, client, request, (host, port, target)):
                return
            if ours.our_state is not h11.DONE or ours.their_state is not h11.DONE:
                return
            ours.start_next_cycle()

    async def _request(self, ours: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
        """The next request; None when no more comes."""
        async with asyncio.timeout(_HEAD_SECONDS):
            while True:
                event = ours.next_event()
                if isinstance(event, h11.Request):
                    return event
                if event is not h11.NEED_DATA:
                    return None
                ours.receive_data(await reader.read(_CHUNK))

    async def _exchange(
        self, ours: h11.Connection, client: Streams, request: h11.Request, wanted: tuple[str, int, bytes]
    ) -> bool:
        """Pass one request on; whether another may follow."""
        host, port, target = wanted
        try:
            server = await opened(host, port, self._listed, self._resolve, self._asking)
        except NotOpenedError as error:
            await self._not_opened(ours, client, (host, port), error)
            return False
        exchange, outcome = Exchange(ours, client, server), ALLOWED
        try:
            shown = f"[{host}]" if ":" in host else host
            await exchange.run(request, shown if port == 80 else f"{shown}:{port}", target)
        except (h11.ProtocolError, OSError) as error:
            outcome = "failed: it ended early"
            await _refuse(ours, client, 502, f"no response: {error}")
            return False
        finally:
            server[1].close()
            self._meter.note(host, port, outcome, exchange.sent, exchange.received)
        return True

    async def _connect(self, ours: h11.Connection, client: Streams, request: h11.Request) -> None:
        if any(bytes(name) in {b"content-length", b"transfer-encoding"} for name, _ in request.headers):
            raise BadRequestError("a CONNECT has no body")
        host, port = authority(request.target.decode("latin-1"), None)
        try:
            server = await opened(host, port, self._listed, self._resolve, self._asking)
        except NotOpenedError as error:
            await self._not_opened(ours, client, (host, port), error)
            return
        try:
            while ours.next_event() not in (h11.PAUSED, h11.NEED_DATA):
                pass  # the end of a message without a body
            client[1].write(ours.send(h11.Response(status_code=200, reason=b"Connected", headers=[])) or b"")
            await Tunnel(client, server, host, port).run(ours.trailing_data[0], self._meter)
        finally:
            server[1].close()

    async def _not_opened(
        self, ours: h11.Connection, client: Streams, wanted: tuple[str, int], error: NotOpenedError
    ) -> None:
        host, port = wanted
        self._meter.note(host, port, error.outcome)
        await _refuse(ours, client, error.status, f"{host}:{port} {error.outcome}")


async def _more(reader: asyncio.StreamReader) -> bytes:
    data = await reader.read(_CHUNK)
    if not data:
        raise ConnectionResetError
    return data


async def _refuse(ours: h11.Connection, client: Streams, status: int, text: str) -> None:
    """Answer with a refusal, if nothing was answered yet, and let go."""
    body = f"wink: {text}\n".encode("ascii", "backslashreplace")
    headers: list[tuple[str, str]] = [
        ("Content-Type", "text/plain"),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    events = (
        h11.Response(status_code=status, reason=b"Refused by wink" if status == 403 else b"", headers=headers),
        h11.Data(data=body),
        h11.EndOfMessage(),
    )
    with suppress(h11.LocalProtocolError, OSError):
        pieces = [ours.send(event) for event in events]
        client[1].write(b"".join(filter(None, pieces)))
        await client[1].drain()
