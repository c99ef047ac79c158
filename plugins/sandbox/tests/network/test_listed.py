"""What an entry means, and which addresses are the public internet's."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink_sandbox.network import Listed, entry, variables
from wink_sandbox.network._addresses import is_public
from wink_sandbox.network._traffic import MOST, Meter

ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


@pytest.mark.parametrize(
    ("text", "host", "port", "expected"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org", "www.example.org", 443, False),
        ("Example.ORG.:22", "example.org", 22, True),
        ("example.org:*", "example.org", 5432, True),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("*", "anything.test", 443, True),
        ("*", ip_address("1.1.1.1"), 443, False),
        ("bücher.example", "xn--bcher-kva.example", 443, True),
        ("10.0.0.0/8:8080", ip_address("10.1.2.3"), 8080, True),
        ("10.0.0.0/8:8080", ip_address("11.1.2.3"), 8080, False),
        ("::1", ip_address("::1"), 80, True),
        ("[::1]:9", ip_address("::1"), 9, True),
        ("[fd00::/8]:*", ip_address("fd12::1"), 9, True),
        ("127.0.0.1", "localhost", 80, False),
    ],
)
def test_an_entry_is_for_a_host_and_ports(text: str, host: str | IPv4Address, port: int, expected: bool) -> None:
    assert Listed((text,)).has(host, port) is expected


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "https://example.org", "example.org/path", "example.org:", "example.org:0", "example.org:65536", "example.org:http",
        "a b", "user@example.org", "ex*mple.org", "*.", "**.org", "a..b", "-a.org", "127.1", "0x7f000001", "2130706433", "10.0.0.1/8", "[::1",
        "::ffff:127.0.0.1", "fe80::1%eth0", "a" * 64, "a\nb", "\uff11.\uff12.\uff13.\uff14", "a.org:\uff14\uff14\uff13",
    ],
)  # fmt: skip
def test_what_is_no_entry_is_refused(text: str) -> None:
    """What somebody misspells must not be taken for something wider."""
    with pytest.raises(ValueError, match=r"^(is|has) "):
        entry(text)


def test_all_entries_that_are_wrong_are_named() -> None:
    with pytest.raises(ValueError, match=r"^'a b' is no host.*; 'c:0' has no port"):
        Listed(("a b", "example.org", "c:0"))


@pytest.mark.parametrize(
    ("entries", "name", "address", "expected"),
    [
        (("a.org",), "a.org", "1.1.1.1", True),
        (("a.org",), "a.org", "10.0.0.1", False),
        (("a.org", "10.0.0.1"), "a.org", "10.0.0.1", True),
        (("a.org", "10.0.0.1:8080"), "a.org", "10.0.0.1", False),
        (("a.org", "127.0.0.1"), "a.org", "::ffff:127.0.0.1", True),
        (("localhost",), "localhost", "127.0.0.1", True),
        (("localhost",), "localhost", "::1", True),
        (("localhost",), "localhost", "10.0.0.1", False),
        (("*",), "localhost", "127.0.0.1", False),
        (("app.localhost",), "app.localhost", "127.0.0.1", True),
        (("*.localhost",), "app.localhost", "127.0.0.1", False),
    ],
)
def test_a_name_leads_to_public_addresses_and_to_listed_ones(
    entries: tuple[str, ...], name: str, address: str, expected: bool
) -> None:
    assert Listed(entries).may_be_at(name, ip_address(address), 80) is expected


@given(ADDRESSES)
def test_no_more_is_public_than_the_standard_library_says(address: IPv4Address | IPv6Address) -> None:
    if is_public(address) and not (isinstance(address, IPv6Address) and address in entry("[64:ff9b::/96]").block):  # type: ignore[operator]
        plain = getattr(address, "ipv4_mapped", None) or address
        assert plain.is_global
        assert not plain.is_multicast


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_makes_it_no_more_public(address: IPv4Address) -> None:
    assert is_public(IPv6Address(f"::ffff:{address}")) == is_public(address)
    assert is_public(IPv6Address(int(IPv6Address("64:ff9b::")) + int(address))) == is_public(address)
    assert not is_public(IPv6Address((0x2002 << 112) + (int(address) << 80)))
    assert not is_public(IPv6Address(int(address)))


def test_the_programs_own_loopback_is_asked_for_directly_unless_it_is_listed() -> None:
    assert variables(("example.org",))["NO_PROXY"] == "localhost,127.0.0.1,::1"
    assert variables(("localhost:80", "127.0.0.0/8:81"))["no_proxy"] == "::1"
    assert variables(None) == {}


def test_what_is_told_is_bounded() -> None:
    meter = Meter()
    for number in range(MOST + 50):
        meter.note(f"h{number}.test", 443, "refused: not listed")
        meter.note("a.org", 443, "allowed", 1, 2)
    meter.note("\x1b[2J" * 1000, 1, "refused: not listed")
    traffic = meter.traffic()

    assert (len(traffic.contacts), traffic.more) == (MOST, 52)
    (kept,) = (one for one in traffic.contacts if one.host == "a.org")
    assert (kept.times, kept.sent, kept.received) == (150, 150, 300)
    odd = Meter()
    odd.note("\x1b[2J" * 1000, 1, "refused: not listed")
    assert len(odd.traffic().contacts[0].host) <= 253
    assert odd.traffic().contacts[0].host.isprintable()
