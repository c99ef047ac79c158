"""Errors of serving MCP clients, and of MCP servers that are mounted."""

from __future__ import annotations

from wink.errors import WinkError


class ClientSettingRefused(WinkError):
    """A value cannot be written into the configuration of an MCP client so that the client takes it as it stands."""

    says = "{value!r} cannot be put into the configuration of {client}: {problem}; use another path"

    def __init__(self, client: str, value: str, problem: str) -> None:
        self.client, self.value, self.problem = client, value, problem
        super().__init__(client, value, problem)


class TooManySessions(WinkError):
    """Clients of one server have named more sessions than it keeps."""

    says = "this server has {most} sessions already, and opens no {name!r}; use one of those, or start it again"

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        super().__init__(name, most)


class McpServerFailed(WinkError):
    """A mounted MCP server cannot be used, or did not answer as it should; `reason` says what happened.

    After a request was `sent`, the server may have acted on it.
    """

    says = "the MCP server {server!r} failed: {reason}"

    def __init__(self, server: str, reason: str, sent: bool = False) -> None:
        self.server, self.reason, self.sent = server, reason, sent
        super().__init__(server, reason, sent)
