"""The sections that prompts are usually made of: templates in Markdown, tools with a line of guidance, files to work on."""

from wink.prompt.sections._markdown import MarkdownSection
from wink.prompt.sections._text import TextSection
from wink.prompt.sections._tools import ToolsSection
from wink.prompt.sections._workspace import WorkspaceSection

__all__ = ["MarkdownSection", "TextSection", "ToolsSection", "WorkspaceSection"]
