"""What a model can call: tools, their results, and what a handler is given."""

from wink.errors import DeadlineExceededError, PromptValidationError, ToolValidationError
from wink.tools._attachments import Attachment, Audio, EmbeddedResource, Image
from wink.tools._checks import Effects, checked_description
from wink.tools._context import AdapterLike, PromptLike, RenderedPromptLike, ResourcesLike, ToolContext
from wink.tools._example import ToolExample
from wink.tools._function_tool import FunctionTool, tool
from wink.tools._handler import ToolHandler
from wink.tools._isolated import SOURCE, IsolatedEnd, Isolation, isolation_of
from wink.tools._isolated_worker import run_isolated
from wink.tools._result import ToolRenderableResult, ToolResult, render_value
from wink.tools._tool import Tool

__all__ = [
    "SOURCE",
    "AdapterLike",
    "Attachment",
    "Audio",
    "DeadlineExceededError",
    "Effects",
    "EmbeddedResource",
    "FunctionTool",
    "Image",
    "IsolatedEnd",
    "Isolation",
    "PromptLike",
    "PromptValidationError",
    "RenderedPromptLike",
    "ResourcesLike",
    "Tool",
    "ToolContext",
    "ToolExample",
    "ToolHandler",
    "ToolRenderableResult",
    "ToolResult",
    "ToolValidationError",
    "checked_description",
    "isolation_of",
    "render_value",
    "run_isolated",
    "tool",
]
