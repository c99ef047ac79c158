"""Serve tools to MCP clients, and use the tools of MCP servers; needs the official SDK, the extra `wink[mcp]`."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from wink.errors import ExtraMissing

if TYPE_CHECKING:
    from wink.mcp._http import serve_http
    from wink.mcp._section import McpSection
    from wink.mcp._serving import Serving
    from wink.mcp._stdio import serve_stdio

__all__ = ["McpSection", "Serving", "serve_http", "serve_stdio"]

_PLACES: Final = {
    "McpSection": "wink.mcp._section",
    "Serving": "wink.mcp._serving",
    "serve_http": "wink.mcp._http",
    "serve_stdio": "wink.mcp._stdio",
}

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """Each part is imported when it is asked for: the SDK takes most of a second."""
        from importlib import import_module

        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if find_spec("mcp_types") is None:  # the SDK has it since version 2
            # Not when the package is imported: a catalog reads the settings of servers without the SDK too.
            raise ExtraMissing("MCP", "mcp", "mcp>=2.3")
        return getattr(import_module(_PLACES[name]), name)
