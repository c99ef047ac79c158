"""What went through the proxy of one program, and what it refused: bounded, whatever the program asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wink.dataclass import dataclass, replace

MOST: Final = 100
"""So many different hosts, ports and outcomes are told apart for one program."""

ALLOWED: Final = "allowed"
_LONGEST: Final = 253


@dataclass(frozen=True, slots=True)
class Contact:
    """A host and port that a program asked for, `times` times; `sent` and `received` are bytes, as the program sees them.

    `outcome` is `allowed`, or begins with `refused:` or `failed:` and says why. `asked` is the request that a person was asked
    by, such as `a3`; empty where nobody was.
    """

    host: str
    port: int
    outcome: str
    times: int = 1
    sent: int = 0
    received: int = 0
    asked: str = ""

    @property
    def place(self) -> str:
        """Host and port as they are written."""
        return place_of(self.host, self.port)


@dataclass(frozen=True, slots=True)
class Traffic:
    """All of it: the first hundred contacts that differ, how many requests were to others, and how often something found no route.

    `unrouted` counts connections and look-ups that went past the proxy, as the kernel does: one attempt can be several.
    """

    contacts: tuple[Contact, ...] = ()
    more: int = 0
    unrouted: int = 0

    def lines(self) -> Iterator[str]:
        r"""What there is to tell, a line each: what was refused or failed first.

        >>> seen = (Contact("example.org", 443, "allowed", 1, 90, 512), Contact("evil.example", 443, "refused: not listed"))
        >>> print(*Traffic(seen, unrouted=2).lines(), sep="\n")
        evil.example:443 refused: not listed
        example.org:443 allowed, 90 bytes sent, 512 bytes received
        2 attempts to go past the proxy found no route; programs have to heed HTTP_PROXY and HTTPS_PROXY
        """
        for one in sorted(self.contacts, key=lambda one: one.outcome == ALLOWED):
            amount = f", {one.sent} bytes sent, {one.received} bytes received" if one.outcome == ALLOWED else ""
            times = f" ({one.times} times)" if one.times > 1 else ""
            approved = f", as {one.asked} was approved" if one.asked and one.outcome == ALLOWED else ""
            yield f"{one.place} {one.outcome}{approved}{amount}{times}"
        if self.more:
            yield f"{self.more} more to other hosts, or with other outcomes"
        if self.unrouted:
            attempts = "1 attempt" if self.unrouted == 1 else f"{self.unrouted} attempts"
            yield f"{attempts} to go past the proxy found no route; programs have to heed HTTP_PROXY and HTTPS_PROXY"


def place_of(host: str, port: int) -> str:
    """Host and port as they are written.

    >>> place_of("example.org", 443), place_of("::1", 80)
    ('example.org:443', '[::1]:80')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Meter:
    """Adds up what becomes `Traffic`."""

    def __init__(self) -> None:
        self._contacts: dict[tuple[str, int, str], Contact] = {}
        self._more = 0
        self.unrouted = 0
        self.asked: Final[dict[tuple[str, int], str]] = {}
        """By which request a person was last asked about a host and port, as the program wrote them."""

    def note(self, host: str, port: int, outcome: str, sent: int = 0, received: int = 0) -> None:
        """Count a request, and what went each way."""
        shown = host if len(host) <= _LONGEST and host.isascii() and host.isprintable() else ascii(host)[:_LONGEST]
        key = shown, port, outcome
        if key not in self._contacts and len(self._contacts) >= MOST:
            self._more += 1
            return
        one = self._contacts.get(key) or Contact(*key, times=0)
        sums = {"times": one.times + 1, "sent": one.sent + sent, "received": one.received + received}
        self._contacts[key] = replace(one, **sums, asked=self.asked.get((host, port), one.asked))

    def traffic(self) -> Traffic:
        """What was counted so far."""
        return Traffic(tuple(self._contacts.values()), self._more, self.unrouted)
