"""Errors of serving MCP clients."""

from wink.errors._core import WinkError

__all__ = ["ExtraMissing", "TooManySessions"]


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
