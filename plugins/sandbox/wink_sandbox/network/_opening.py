"""Judge what a program asks for, look the name up once, and connect to an address that was looked at."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from wink_sandbox.network._addresses import Address, address_of
from wink_sandbox.network._listed import Listed, name_of

if TYPE_CHECKING:
    from wink_sandbox.network._asking import Asking

Resolve = Callable[[str, int], Sequence[str]]
"""Gives the addresses of a name; raises OSError."""

_LOOK_UP_SECONDS: Final = 20.0
_CONNECT_SECONDS: Final = 20.0
NOT_LISTED: Final = "not listed"
_BUFFER: Final = 1 << 18


class NotOpenedError(Exception):
    """There is no connection, because of its `outcome`; `status` is HTTP's number for that."""

    def __init__(self, outcome: str, status: int) -> None:
        self.outcome, self.status = outcome, status
        super().__init__(outcome)


def resolved(name: str, port: int) -> Sequence[str]:
    """The addresses of a name, as this host knows them; raises OSError."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


async def opened(
    host: str, port: int, listed: Listed, resolve: Resolve, asking: Asking | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a host that is listed, or that a person lets be reached; raises `NotOpenedError`."""
    for address in await allowed(host, port, listed, resolve, asking):
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return await asyncio.open_connection(str(address), port, limit=_BUFFER)
        except (OSError, TimeoutError):
            continue
    raise NotOpenedError("failed: no connection", 502)


async def allowed(
    host: str, port: int, listed: Listed, resolve: Resolve, asking: Asking | None = None
) -> Sequence[Address]:
    """The addresses to try. Nothing is looked up for a name that is not listed: the question itself would get out."""
    address = address_of(host)
    if address is not None:
        await _extended(address, port, listed, asking, host)
        return (address,)
    name = name_of(host)
    if name is None:
        raise NotOpenedError("refused: neither a name nor an address", 403)
    listed = await _extended(name, port, listed, asking, host)
    found = await _looked_up(name, port, resolve)
    good = [one for one in found if listed.may_be_at(name, one, port)]
    if not good:
        shown = ", ".join(map(str, found[:3]))
        raise NotOpenedError(f"refused: it is at {shown}, which is not public, and not listed", 403)
    return good


async def _extended(host: str | Address, port: int, listed: Listed, asking: Asking | None, called: str) -> Listed:
    """What is listed, with this host in it, about which a person may be asked; raises `NotOpenedError`."""
    if listed.has(host, port):
        return listed
    refusal = NOT_LISTED if asking is None else await asking.refusal(host, port, called)
    if refusal:
        raise NotOpenedError(f"refused: {refusal}", 403)
    return listed.plus(host, port)


async def _looked_up(name: str, port: int, resolve: Resolve) -> list[Address]:
    """What the name leads to. In a thread of its own that nobody waits for: a resolver may take its time when all is over."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Address]] = loop.create_future()

    def give(found: list[Address]) -> None:
        if not answer.done():
            answer.set_result(found)

    def ask() -> None:
        try:
            addresses = [one for text in resolve(name, port) if (one := address_of(text)) is not None]
        except (OSError, UnicodeError):
            addresses = list[Address]()
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(give, addresses)
            except RuntimeError:  # it was closed meanwhile
                return

    threading.Thread(target=ask, daemon=True).start()
    try:
        async with asyncio.timeout(_LOOK_UP_SECONDS):
            found = await answer
    except TimeoutError:
        found = []
    if not found:
        raise NotOpenedError("failed: no such host", 502)
    return found
