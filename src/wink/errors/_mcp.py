"""Errors of serving MCP clients."""

from wink.errors._core import WinkError

__all__ = ["AddressRefused", "ClientSettingRefused", "ExtraMissing", "TokenUnusable", "TooManySessions"]


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


class ClientSettingRefused(WinkError):
    """A value cannot be written into the configuration of an MCP client so that the client takes it as it stands."""

    says = "{value!r} cannot be put into the configuration of {client}: {problem}; use another path"

    def __init__(self, client: str, value: str, problem: str) -> None:
        self.client, self.value, self.problem = client, value, problem
        super().__init__(client, value, problem)


class ExtraMissing(WinkError, ImportError):
    """A part of wink was asked for whose packages are not installed; `extra` is what to install."""

    says = "{feature} needs the package {package!r}; install wink[{extra}]"

    def __init__(self, feature: str, extra: str, package: str) -> None:
        self.feature, self.extra, self.package = feature, extra, package
        super().__init__(feature, extra, package)


class TooManySessions(WinkError):
    """Clients of one server have named more sessions than it keeps."""

    says = "this server has {most} sessions already, and opens no {name!r}; use one of those, or start it again"

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        super().__init__(name, most)
