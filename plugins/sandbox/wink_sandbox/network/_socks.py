"""SOCKS5, RFC 1928: one client without a password that wants a connection. A server without input or output of its own."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

VERSION: Final = 5
DONE, NOT_ALLOWED, UNREACHABLE, NO_SUCH_COMMAND = 0, 2, 4, 7
_CONNECT: Final = 1
_LENGTHS: Final = {1: 4, 4: 16}
_NAME: Final = 3


class Wanted(NamedTuple):
    """What a client wants: host and port, or the code with which it is refused."""

    host: str
    port: int
    refusal: int = DONE


def greeting(data: bytes) -> int:
    """How many bytes the greeting is long that begins with `data`; 0 while more must come. ValueError: not SOCKS5 without a password."""
    if len(data) < 2 or len(data) < 2 + data[1]:
        return 0
    if data[0] != VERSION or 0 not in data[2 : 2 + data[1]]:
        raise ValueError("SOCKS5 without a password is all that is spoken")
    return 2 + data[1]


GREETED: Final = bytes((VERSION, 0))
NO_METHOD: Final = bytes((VERSION, 0xFF))


def request(data: bytes) -> tuple[Wanted, int] | None:
    """What is wanted, and how many bytes said so; None while more must come. Raises ValueError for what is no request.

    >>> request(bytes((5, 1, 0, 3, 3)) + b"a.b" + bytes((0, 80)))
    (Wanted(host='a.b', port=80, refusal=0), 10)
    """
    if len(data) < 5:
        return None
    version, command, _, kind, first = data[:5]
    if version != VERSION or kind not in (*_LENGTHS, _NAME):
        raise ValueError("no SOCKS5 request")
    start = 5 if kind == _NAME else 4
    end = start + (first if kind == _NAME else _LENGTHS[kind])
    if len(data) < end + 2:
        return None
    raw = data[start:end]
    host = raw.decode("latin-1") if kind == _NAME else str(IPv4Address(raw) if kind == 1 else IPv6Address(raw))
    port = int.from_bytes(data[end : end + 2], "big")
    return Wanted(host, port, DONE if command == _CONNECT else NO_SUCH_COMMAND), end + 2


def reply(code: int) -> bytes:
    """The answer to a request, which tells nothing of addresses."""
    return bytes((VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0))
