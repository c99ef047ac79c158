"""Errors of MCP servers that are mounted as sections."""

from wink.errors._core import WinkError

__all__ = ["McpServerFailed"]


class McpServerFailed(WinkError):
    """A mounted MCP server cannot be used, or did not answer as it should; `reason` says what happened."""

    def __init__(self, server: str, reason: str) -> None:
        self.server, self.reason = server, reason
        super().__init__(server, reason)

    def __str__(self) -> str:
        return f"the MCP server {self.server!r} failed: {self.reason}"
