"""Errors of serving MCP clients."""

from wink.errors._core import WinkError

__all__ = ["AddressRefused", "ClientSettingRefused", "ExtraMissing", "TokenUnusable", "TooManySessions"]


class AddressRefused(WinkError, ValueError):
    """A server cannot listen at an address, or must not; `reason` says why, and what to take instead."""

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(address, reason)

    def __str__(self) -> str:
        return f"cannot serve at {self.address!r}: {self.reason}"


class TokenUnusable(WinkError, ValueError):
    """The token that a server is to ask for cannot be kept, or is none; the error does not hold it."""

    def __init__(self, source: str, problem: str) -> None:
        self.source, self.problem = source, problem
        super().__init__(source, problem)

    def __str__(self) -> str:
        return (
            f"{self.source} holds no token that can be used: {self.problem}; give a file that has one, from "
            f"`openssl rand -hex 32`, with --token-file"
        )


class ClientSettingRefused(WinkError):
    """A value cannot be written into the configuration of an MCP client so that the client takes it as it stands."""

    def __init__(self, client: str, value: str, problem: str) -> None:
        self.client, self.value, self.problem = client, value, problem
        super().__init__(client, value, problem)

    def __str__(self) -> str:
        return f"{self.value!r} cannot be put into the configuration of {self.client}: {self.problem}; use another path"


class ExtraMissing(WinkError, ImportError):
    """A part of wink was asked for whose packages are not installed; `extra` is what to install."""

    def __init__(self, feature: str, extra: str, package: str) -> None:
        self.feature, self.extra, self.package = feature, extra, package
        super().__init__(feature, extra, package)

    def __str__(self) -> str:
        return f"{self.feature} needs the package {self.package!r}; install wink[{self.extra}]"


class TooManySessions(WinkError):
    """Clients of one server have named more sessions than it keeps."""

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        super().__init__(name, most)

    def __str__(self) -> str:
        return f"this server has {self.most} sessions already, and opens no {self.name!r}; use one of those, or start it again"
