"""Who may talk to a server: the names that it answers to, the token that it asks for, and whether others can listen."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from wink_http._address import LOOPBACK, Address, bracketed, host_name
from wink_http._errors import AddressRefused

if TYPE_CHECKING:
    import ssl

_PLAIN: Final = (
    "without TLS whoever is on the way could read the token and the files; give --tls-cert and --tls-key, or "
    "--behind-proxy where a proxy does that, or use 127.0.0.1, localhost or [::1]"
)
_OPEN: Final = "whoever can reach it could change files; leave --no-token away"
_NAMELESS: Final = "it has to know the name that clients call it by; give it with --allow-host"

Headers = Iterable[tuple[bytes, bytes]]
"""The headers of a request as ASGI has them: names in lower case."""


class Access(NamedTuple):
    """What a server asks of those who come to it; `token` None asks for none, which is for this machine's own address."""

    token: str | None
    hosts: tuple[str, ...] = ()
    """Names that lead to the server besides its own address, without ports."""
    tls: ssl.SSLContext | None = None
    is_behind_proxy: bool = False
    """Whether a proxy stands before it that does TLS; then it may listen without it where others can reach it."""

    def check(self, address: Address) -> None:
        """Raise `AddressRefused` for an address that must not be served so."""
        is_elsewhere = not address.is_loopback or self.is_behind_proxy or bool(self.hosts)
        if is_elsewhere and self.token is None:
            raise AddressRefused(str(address), _OPEN)
        if not address.is_loopback and self.tls is None and not self.is_behind_proxy:
            raise AddressRefused(str(address), _PLAIN)
        if (address.is_wildcard or self.is_behind_proxy) and not self.hosts:
            raise AddressRefused(str(address), _NAMELESS)

    def url(self, address: Address) -> str:
        """How clients reach a server at an address, without a path; a proxy is taken to be at the usual port.

        >>> Access("t", ("wink.example",), is_behind_proxy=True).url(Address("10.0.0.1", 8000))
        'https://wink.example'
        >>> Access(None).url(Address("::1", 8000))
        'http://[::1]:8000'
        """
        host = bracketed(self.hosts[0]) if self.hosts else bracketed(address.host)
        if self.is_behind_proxy:
            return f"https://{host}"
        return f"{'http' if self.tls is None else 'https'}://{host}:{address.port}"

    def names(self, address: Address) -> frozenset[str]:
        """The hosts under which it may be asked."""
        own = () if address.is_wildcard else (address.host,)
        return frozenset((*LOOPBACK, *own, *(host.lower() for host in self.hosts)))


def names_in(headers: Headers, names: frozenset[str]) -> tuple[int, str] | None:
    """The status and the text that answer a request under a name that is none of `names`; None where it may go on.

    A page on the web can have its own name resolve to this machine's address; the browser then sends that name.

    >>> [names_in([(b"host", host)], frozenset({"localhost"})) is None for host in (b"localhost:80", b"evil.example")]
    [True, False]
    """
    hosts = _values(headers, b"host")
    if len(hosts) != 1 or host_name(hosts[0]) not in names:
        return 421, f"wink: this server answers only to {', '.join(sorted(map(bracketed, names)))}"
    for origin in _values(headers, b"origin"):
        scheme, separator, host = origin.partition("://")
        if not separator or scheme not in ("http", "https") or host_name(host) not in names:
            return 403, "wink: this server does not answer to pages of the web"
    return None


def bearer_problem(headers: Headers, token: str) -> str | None:
    """The `WWW-Authenticate` that answers a request which does not show the token (RFC 6750); None for one that does.

    >>> bearer_problem([(b"authorization", b"Bearer 0123456789abcdef")], "0123456789abcdef")
    >>> bearer_problem([], "0123456789abcdef")
    'Bearer realm="wink"'
    """
    given: Sequence[str] = _values(headers, b"authorization")
    if not given:
        return 'Bearer realm="wink"'
    scheme, _, shown = given[0].partition(" ")
    # In one time whatever was shown: an answer that comes later would tell how much of it is right.
    is_right = hmac.compare_digest(shown.strip().encode(), token.encode())
    if len(given) == 1 and scheme.lower() == "bearer" and is_right:
        return None
    return 'Bearer realm="wink", error="invalid_token"'


def _values(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]
