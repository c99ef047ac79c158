"""Describe wink's tools the way that MCP clients read them."""

from __future__ import annotations

from typing import Any, Final

import mcp_types as types

from wink.tools import Tool

_HINTS: Final[dict[str, dict[str, bool]]] = {
    # destructive means that something is lost for good: what tools do to the workspace's files can be undone
    "read": {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False},
    "workspace": {"read_only_hint": False, "destructive_hint": False, "open_world_hint": False},
    "process": {"read_only_hint": False, "destructive_hint": True, "open_world_hint": True},
    "external": {"read_only_hint": False, "destructive_hint": True, "open_world_hint": True},
}


def described(tool: Tool[Any, Any], *, result_limit: int | None = None) -> types.Tool:
    """The tool as `tools/list` shows it; raises `PromptValidationError` when it has no schema."""
    # Without the first, clients with many tools hide these until they are searched for; the second keeps a client from
    # shortening what is already short enough.
    meta: dict[str, Any] = {"anthropic/alwaysLoad": True, "wink/effects": tool.effects}
    if result_limit is not None:
        meta["anthropic/maxResultSizeChars"] = result_limit
    title = _title(tool.name)
    return types.Tool(
        name=tool.name,
        title=title,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=types.ToolAnnotations(title=title, **_HINTS[tool.effects]),
        _meta=meta,
    )


def _title(name: str) -> str:
    words = name.replace("-", "_").replace(".", "_").split("_")
    text = " ".join(word for word in words if word)
    return text[:1].upper() + text[1:]
