"""Read the hosts that a program may reach, and say of one whether it is among them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final, NamedTuple

from wink_sandbox.network._addresses import Address, address_of, is_public, plain

_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_USUAL: Final = frozenset((80, 443))
_LONGEST: Final = 253
_LAST_PORT: Final = 65535


class Entry(NamedTuple):
    """One entry: a `name`, which may begin with `*.` or be `*`, or a `block` of addresses; `ports` is None for all."""

    name: str
    block: IPv4Network | IPv6Network | None
    ports: frozenset[int] | None

    def has(self, port: int) -> bool:
        """Whether the port is one of its."""
        return self.ports is None or port in self.ports

    def fits(self, name: str) -> bool:
        """Whether it is for this name."""
        if self.name.startswith("*."):
            return name.endswith(self.name[1:])
        return self.name in {"*", name}


def name_of(host: str) -> str | None:
    """A host's name as it is compared, in lower case and without the last dot; None for what is none.

    What ends in a number is none: `getaddrinfo` takes 127.1, 0x7f.1 and 2130706433 for addresses.

    >>> name_of("Example.ORG."), name_of("127.1"), name_of("0x7f000001"), name_of("a b.org")
    ('example.org', None, None, None)
    """
    name = host.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _LONGEST or not all(map(_LABEL.fullmatch, labels)) or _NUMBER.fullmatch(labels[-1]):
        return None
    return name


def entry(text: str) -> Entry:
    """Read `HOST`, `HOST:PORT` or `HOST:*`; raises ValueError with what is wrong, without the text.

    Without a port it is for 80 and 443. HOST is a name, `*.` and a name, for what is below that, `*`, for every name, an address, or a block
    of them; IPv6 is in brackets.

    >>> entry("*.GitHub.com:443")
    Entry(name='*.github.com', block=None, ports=frozenset({443}))
    >>> entry("[::1]:*").block
    IPv6Network('::1/128')
    """
    host, ports = _split(text.strip())
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if address_of(bare.partition("/")[0]) is not None:
        try:
            block = ip_network(bare)
        except ValueError:
            raise ValueError("is no address or block of addresses; write 10.0.0.0/8, whose last bits are 0") from None
        mapped = block.network_address.ipv4_mapped if isinstance(block, IPv6Network) else None
        if mapped is not None:
            raise ValueError(f"is another spelling of an IPv4 address; write {mapped}")
        return Entry("", block, ports)
    if host == "*":
        return Entry(host, None, ports)
    stem = host.removeprefix("*.")
    try:
        name = name_of(stem if stem.isascii() else stem.encode("idna").decode("ascii"))
    except UnicodeError:
        name = None
    if name is None:
        raise ValueError(
            "is no host; write example.org, *.example.org:443, 10.1.2.3:8080 or [::1]:*, without a scheme or a path"
        )
    return Entry(f"{host[: len(host) - len(stem)]}{name}", None, ports)


def _split(text: str) -> tuple[str, frozenset[int] | None]:
    host, colon, port = text.rpartition(":")
    if not colon or (host.count(":") and not host.endswith("]")) or "]" in port:
        return text, _USUAL
    if port == "*":
        return host, None
    if not (port.isascii() and port.isdecimal() and 1 <= int(port[:6]) <= _LAST_PORT):
        raise ValueError(f"has no port after the colon; write one from 1 to {_LAST_PORT}, or *")
    return host, frozenset((int(port),))


class Listed:
    """What a program may reach. Raises ValueError for an entry that cannot be read, with all of them in it."""

    def __init__(self, entries: Iterable[str]) -> None:
        found, problems = list[Entry](), list[str]()
        for text in entries:
            try:
                found.append(entry(text))
            except ValueError as error:
                problems.append(f"{text!r} {error}")
        if problems:
            raise ValueError("; ".join(problems))
        self._names = tuple(one for one in found if one.block is None)
        self._blocks = tuple(one for one in found if one.block is not None)

    def plus(self, host: str | Address, port: int) -> Listed:
        """The same with one more host: a name as `name_of` gives it, or an address."""
        more = Listed(())
        is_name = isinstance(host, str)
        one = Entry(host if is_name else "", None if is_name else ip_network(host), frozenset((port,)))
        more._names = (*self._names, *((one,) if is_name else ()))
        more._blocks = (*self._blocks, *(() if is_name else (one,)))
        return more

    def has(self, host: str | Address, port: int) -> bool:
        """Whether a host is listed: a name as `name_of` gives it by its name, an address as an address only."""
        if isinstance(host, str):
            return any(one.fits(host) and one.has(port) for one in self._names)
        return any(one.block is not None and host in one.block and one.has(port) for one in self._blocks)

    def may_be_at(self, name: str, address: Address, port: int) -> bool:
        """Whether a listed name may lead to this address: a public one, or one that is listed as an address too.

        The name `localhost` says itself that it is not public: listed by it, the host's own loopback is meant.
        """
        address = plain(address)
        if is_public(address) or self.has(address, port):
            return True
        is_local = name == "localhost" or name.endswith(".localhost")
        return is_local and address.is_loopback and any(one.name == name and one.has(port) for one in self._names)

    @property
    def loopback(self) -> frozenset[str]:
        """Which of the usual names of loopback are listed, so that they are asked of the proxy and not of the program's own."""
        wanted = {"localhost": any(one.name == "localhost" for one in self._names)}
        for text in ("127.0.0.1", "::1"):
            address = address_of(text)
            wanted[text] = address is not None and any(
                one.block is not None and address in one.block for one in self._blocks
            )
        return frozenset(text for text, is_listed in wanted.items() if is_listed)
