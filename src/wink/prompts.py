"""`wink.prompt`, under the name that the first document of the specification imports it by."""

from wink.prompt import Prompt, TextSection, Tool, ToolResult, ToolsSection

__all__ = ["Prompt", "TextSection", "Tool", "ToolResult", "ToolsSection"]
