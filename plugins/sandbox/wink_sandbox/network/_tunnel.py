"""Pass bytes on both ways; where a program speaks TLS, only to the server that it said it wanted."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from wink_sandbox.network._addresses import address_of
from wink_sandbox.network._hello import ALERT, MOST, Hello, is_tls
from wink_sandbox.network._listed import name_of
from wink_sandbox.network._traffic import ALLOWED, Meter

_CHUNK: Final = 1 << 17
_HELLO_SECONDS: Final = 20.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Tunnel:
    """One connection that is passed on; `early` is what the client has sent already."""

    def __init__(self, client: Streams, server: Streams, host: str, port: int) -> None:
        self._client, self._server = client, server
        self._host, self._port = host, port
        self._sent = self._received = 0
        self._outcome = ALLOWED

    async def run(self, early: bytes, meter: Meter) -> None:
        """Until both sides have ended, or one is gone, or TLS is for another name."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._upwards(early))
                tasks.create_task(self._downwards())
        except* (OSError, _WrongNameError, TimeoutError):
            pass
        finally:
            meter.note(self._host, self._port, self._outcome, self._sent, self._received)

    async def _upwards(self, early: bytes) -> None:
        reader, (_, writer) = self._client[0], self._server
        data = await self._checked(early or await reader.read(_CHUNK))
        while data:
            writer.write(data)
            self._sent += len(data)
            await writer.drain()
            data = await reader.read(_CHUNK)
        with suppress(OSError):
            writer.write_eof()

    async def _downwards(self) -> None:
        reader, (_, writer) = self._server[0], self._client
        while data := await reader.read(_CHUNK):
            writer.write(data)
            self._received += len(data)
            await writer.drain()
        with suppress(OSError):
            writer.write_eof()

    async def _checked(self, data: bytes) -> bytes:
        """The first bytes, once they may be passed on: of TLS so many that the name is known, and is the right one."""
        if not data or (data[0] < 0x80 and not is_tls(data)):
            return data
        async with asyncio.timeout(_HELLO_SECONDS):
            reader = self._client[0]
            while len(data) < 3 and (more := await reader.read(_CHUNK)):
                data += more
            if not is_tls(data):
                return data
            hello = Hello()
            try:
                is_known = hello.feed(data)
                while not is_known and len(data) < MOST and (more := await reader.read(_CHUNK)):
                    data += more
                    is_known = hello.feed(more)
            except ValueError as error:
                raise self._wrong(f"refused: {error}") from None
        if not is_known:
            raise self._wrong("refused: TLS whose greeting does not end")
        if hello.name is None:
            # RFC 6066 has names only: to a listed address none is right.
            if address_of(self._host) is None:
                raise self._wrong("refused: TLS that names no server")
        elif name_of(hello.name) is None or name_of(hello.name) != name_of(self._host):
            raise self._wrong(f"refused: TLS for another name, {name_of(hello.name) or ascii(hello.name)[:253]}")
        return data

    def _wrong(self, outcome: str) -> _WrongNameError:
        self._outcome = outcome
        with suppress(OSError):
            self._client[1].write(ALERT)
        return _WrongNameError(outcome)


class _WrongNameError(Exception):
    """TLS is not for the server that was asked for."""
