"""Errors of MCP servers that are mounted as sections."""

from wink.errors._core import WinkError

__all__ = ["McpServerFailed"]


class McpServerFailed(WinkError):
    """A mounted MCP server cannot be used, or did not answer as it should; `reason` says what happened.

    After a request was `sent`, the server may have acted on it.
    """

    says = "the MCP server {server!r} failed: {reason}"

    def __init__(self, server: str, reason: str, sent: bool = False) -> None:
        self.server, self.reason, self.sent = server, reason, sent
        super().__init__(server, reason, sent)
