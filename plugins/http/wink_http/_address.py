"""Where a server listens."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final, NamedTuple

from wink_http._errors import AddressRefused

LOOPBACK: Final = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}
"""The hosts that mean this machine, and the address that each stands for."""


class Address(NamedTuple):
    """An IP address and a port of this machine; port 0 stands for any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine's own users can reach it."""
        return self.host in LOOPBACK.values()

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for all addresses that the machine has."""
        return ipaddress.ip_address(self.host).is_unspecified

    def bind(self) -> socket.socket:
        """A socket that listens there; raises `AddressRefused` when it cannot."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # The protocol by its number: asyncio sends small pieces at once (TCP_NODELAY) only where it finds it there.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(tuple(self))
            listening.listen(128)
        except OSError as error:
            listening.close()
            raise AddressRefused(str(self), f"{error.strerror}; take another port, or 0") from error
        return listening


def address_of(text: str) -> Address:
    """Read `HOST:PORT`, `:PORT` or `PORT`; raises `AddressRefused`.

    >>> address_of("localhost:8000"), address_of("[::1]:0")
    (Address(host='127.0.0.1', port=8000), Address(host='::1', port=0))
    >>> address_of("example.com:8000")
    Traceback (most recent call last):
    ...
    wink_http._errors.AddressRefused: cannot serve at 'example.com:8000': its host is no address; use 127.0.0.1, localhost, [::1], or an IP address of this machine
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else ""
    if not (port.isascii() and port.isdigit() and int(port[:6]) <= 65535):
        raise AddressRefused(
            text, "its port is no number up to 65535; write 127.0.0.1:PORT, with 0 for any that is free"
        )
    known = LOOPBACK.get(host.lower() or "localhost")
    try:
        return Address(known or str(ipaddress.ip_address(host)), int(port))
    except ValueError:
        raise AddressRefused(
            text, "its host is no address; use 127.0.0.1, localhost, [::1], or an IP address of this machine"
        ) from None


def bracketed(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def host_name(header: str) -> str | None:
    """The host of a `Host` header, or of what follows `http://` in an `Origin`, without its port; None where it is none.

    >>> [host_name(header) for header in ("LOCALHOST:80", "[::1]", "[::1]:80", "a.example:x", "user@a.example:80")]
    ['localhost', '::1', '::1', None, 'user@a.example']
    """
    name, port = header, ""
    if header.startswith("["):
        name, bracket, port = header[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            return None
        port = port.removeprefix(":")
    elif ":" in header:
        name, _, port = header.partition(":")
    return name.lower() if not port or (port.isascii() and port.isdigit()) else None
