"""Serve tools to MCP clients, and use the tools of MCP servers; needs the official SDK, the extra `wink[mcp]`."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from wink.errors import ExtraMissing
from wink.spellings import lazily

if TYPE_CHECKING:
    from wink_mcp._errors import ClientSettingRefused, McpServerFailed, TooManySessions
    from wink_mcp._http import serve_http
    from wink_mcp._lines import Lines, TooLong
    from wink_mcp._serving import Serving
    from wink_mcp._standard import standard_streams
    from wink_mcp._stdio import serve_stdio
    from wink_mcp.mount import McpArguments, McpSection

__all__ = [
    "ClientSettingRefused",
    "Lines",
    "McpArguments",
    "McpSection",
    "McpServerFailed",
    "Serving",
    "TooLong",
    "TooManySessions",
    "serve_http",
    "serve_stdio",
    "standard_streams",
]

_PLACES: Final = {
    "McpArguments McpSection": "mount",
    "Serving": "_serving",
    "serve_http": "_http",
    "serve_stdio": "_stdio",
}
_WITHOUT_SDK: Final = {
    "ClientSettingRefused McpServerFailed TooManySessions": "_errors",
    "Lines TooLong": "_lines",
    "standard_streams": "_standard",
}

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted
    _find = lazily(__name__, {**_PLACES, **_WITHOUT_SDK})

    def __getattr__(name: str) -> object:
        """Each part is imported when it is asked for: the SDK takes most of a second."""
        if name in " ".join(_PLACES).split() and find_spec("mcp_types") is None:  # the SDK has it since version 2
            # Not when the package is imported: a catalog reads the settings of servers without the SDK too.
            raise ExtraMissing("MCP", "mcp", "mcp>=2.3")
        return _find(name)
