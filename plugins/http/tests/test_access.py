"""Where a server may listen, and the names that it answers to."""

from __future__ import annotations

import ssl

import pytest

from wink_http import Access, Address, AddressRefused, address_of, bearer_problem, names_in

TOKEN = "0123456789abcdef"
TLS = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
LOCAL = ("127.0.0.1", "::1")
WIDE = ("0.0.0.0", "::", "192.0.2.1", "127.0.0.2", "::ffff:127.0.0.1")


@pytest.mark.parametrize("text", ["example.com:80", ":", "x", "127.0.0.1:", "127.0.0.1:65536", "-1", "1.2.3:80"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """A name may lead anywhere, now or later."""
    with pytest.raises(AddressRefused):
        address_of(text)


@pytest.mark.parametrize("host", WIDE)
@pytest.mark.parametrize(
    "access",
    [
        Access(TOKEN),
        Access(TOKEN, ("a.example",)),
        Access(None, ("a.example",), TLS),
        Access(None, ("a.example",), None, True),
        Access(TOKEN, (), None, True),
    ],
)
def test_others_reach_it_only_with_a_token_and_tls(host: str, access: Access) -> None:
    """Whoever can reach the server could change files, and whoever listens could learn how."""
    with pytest.raises(AddressRefused):
        access.check(Address(host, 80))


@pytest.mark.parametrize("access", [Access(TOKEN, ("a.example",), TLS), Access(TOKEN, ("a.example",), None, True)])
def test_with_both_any_address_will_do(access: Access) -> None:
    """In the server, or in a proxy before it."""
    for host in (*LOCAL, *WIDE):
        access.check(Address(host, 80))


def test_a_wildcard_is_no_name_of_a_server() -> None:
    """Some browsers lead from it to this machine."""
    access = Access(TOKEN, ("A.example",), TLS)
    assert access.names(Address("0.0.0.0", 80)) == {"127.0.0.1", "localhost", "::1", "a.example"}
    assert "192.0.2.1" in access.names(Address("192.0.2.1", 80))


@pytest.mark.parametrize(
    "headers", [[], [b"a.example", b"a.example"], [b""], [b"a.example:x"], [b"a.example."], [b"[::1"]]
)
def test_a_request_names_one_host_that_is_meant(headers: list[bytes]) -> None:
    """None, two, and what only looks like it are refused."""
    assert names_in([(b"host", host) for host in headers], frozenset({"a.example", "::1"})) is not None


def test_two_tokens_are_none() -> None:
    """Something in between may have looked at the other one."""
    right = (b"authorization", f"Bearer {TOKEN}".encode())
    assert bearer_problem([right], TOKEN) is None
    assert bearer_problem([right, right], TOKEN) is not None
