"""Use the tools of MCP servers: one connection to each, which starts again when it ends, and each tool's arguments held against its schema.

What a server says (names, texts, schemas, sizes) is a stranger's. Settings are read without the SDK.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink_mcp.mount._arguments import McpArguments
    from wink_mcp.mount._section import McpSection

__all__ = ["McpArguments", "McpSection"]

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, {"McpArguments": "_arguments", "McpSection": "_section"})
