"""The sections that prompts are usually made of: templates in Markdown, and tools with a line of guidance."""

from wink.prompt.sections._markdown import MarkdownSection
from wink.prompt.sections._text import TextSection
from wink.prompt.sections._tools import ToolsSection

__all__ = ["MarkdownSection", "TextSection", "ToolsSection"]
