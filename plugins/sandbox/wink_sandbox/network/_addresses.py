"""Say of an address whether it is one of the public internet's, whatever way it is written."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address

# The registries of special-purpose addresses, https://www.iana.org/assignments/iana-ipv4-special-registry and -ipv6-, and
# what is for multicast or not given out. Written out, since `is_global` differs between versions of Python.
_NOT_PUBLIC: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
            "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
            "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        ),
    )
)  # fmt: skip
_PUBLIC_6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"))
)
_NAT64: Final = IPv6Network("64:ff9b::/96")


def address_of(text: str) -> Address | None:
    """The address that a host is written as, without brackets; None for what is none, or has a zone.

    >>> address_of("[::ffff:127.0.0.1]")
    IPv4Address('127.0.0.1')
    >>> address_of("0177.0.0.1"), address_of("2130706433"), address_of("fe80::1%eth0")
    (None, None, None)
    """
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if isinstance(found, IPv6Address):
        return None if found.scope_id else plain(found)
    return found


def plain(address: Address) -> Address:
    """The IPv4 address that an IPv6 address only wraps, as the kernel connects to it."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def is_public(address: Address) -> bool:
    """Whether it is one of the public internet's; that of a gateway (NAT64) where the address behind it is.

    >>> [is_public(ip_address(one)) for one in ("1.1.1.1", "169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::101:101")]
    [True, False, False, True]
    """
    address = plain(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _PUBLIC_6 and not any(address in network for network in _NOT_PUBLIC_6)
