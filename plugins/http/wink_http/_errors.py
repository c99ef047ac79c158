"""Errors of servers."""

from __future__ import annotations

from wink.errors import WinkError


class AddressRefused(WinkError, ValueError):
    """A server cannot listen at an address, or must not; `reason` says why, and what to take instead."""

    says = "cannot serve at {address!r}: {reason}"

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(address, reason)


class TokenUnusable(WinkError, ValueError):
    """The token that a server is to ask for cannot be kept, or is none; the error does not hold it."""

    says = (
        "{source} holds no token that can be used: {problem}; give a file that has one, from "
        "`openssl rand -hex 32`, with --token-file"
    )

    def __init__(self, source: str, problem: str) -> None:
        self.source, self.problem = source, problem
        super().__init__(source, problem)
