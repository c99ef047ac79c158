"""Where a server may listen: on this machine's own addresses, and nowhere else."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Final

from wink.errors import AddressRefused

LOOPBACK: Final = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}
"""The hosts that mean this machine, and the address that each stands for."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of this machine; port 0 stands for any that is free."""

    host: str
    port: int

    def bind(self) -> socket.socket:
        """A socket that listens there; raises `AddressRefused` when it cannot."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((self.host, self.port))
            listening.listen(128)
        except OSError as error:
            listening.close()
            raise AddressRefused(f"{self.host}:{self.port}", f"{error.strerror}; take another port, or 0") from error
        return listening


def address_of(text: str) -> Address:
    """Read `HOST:PORT`, `:PORT` or `PORT`; raises `AddressRefused`.

    >>> address_of("localhost:8000"), address_of("[::1]:0")
    (Address(host='127.0.0.1', port=8000), Address(host='::1', port=0))
    >>> address_of("0.0.0.0:8000")
    Traceback (most recent call last):
    ...
    wink.errors.AddressRefused: cannot serve at '0.0.0.0:8000': whoever can reach it could change files; use 127.0.0.1, localhost or [::1]
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else ""
    if not (port.isascii() and port.isdigit() and int(port[:6]) <= 65535):
        raise AddressRefused(
            text, "its port is no number up to 65535; write 127.0.0.1:PORT, with 0 for any that is free"
        )
    address = LOOPBACK.get(host.lower() or "localhost")
    if address is None:
        raise AddressRefused(text, "whoever can reach it could change files; use 127.0.0.1, localhost or [::1]")
    return Address(address, int(port))


def is_of_this_machine(host: str) -> bool:
    """Whether a `Host` header, or what follows `http://` in an `Origin`, names this machine itself.

    A page on the web can have its own name resolve to 127.0.0.1; the browser then sends that name.

    >>> [is_of_this_machine(host) for host in ("localhost:80", "[::1]", "evil.example:80", "localhost.evil.example")]
    [True, True, False, False]
    """
    name, port = host, ""
    if host.startswith("["):
        name, _, port = host[1:].partition("]")
        port = port.removeprefix(":")
    elif ":" in host:
        name, _, port = host.partition(":")
    return name.lower() in LOOPBACK and (not port or (port.isascii() and port.isdigit()))
