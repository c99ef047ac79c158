"""Tools for agents that cannot leave a mess: every call commits, or it never happened.

The names that programs use most are here; each is imported from its package when it is first asked for, so that
`import wink` costs next to nothing.
"""

__version__ = "0.1.0"

# `python -m wink` gets here while the current directory is on the path: whatever is imported, a file there could be it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from wink.adapters import PromptResponse, ProviderAdapter, ScriptedAdapter
    from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
    from wink.limits import Budget, BudgetTracker, Deadline, Heartbeat, RunContext, TokenUsage
    from wink.plugins import Catalog, Settings
    from wink.policies import PolicyDecision, PolicyState, SequentialDependencyPolicy, ToolPolicy
    from wink.prompt import MarkdownSection, Prompt, PromptTemplate, RenderedPrompt, Section, TextSection, ToolsSection
    from wink.resources import Binding, ResourceRegistry, Scope
    from wink.runtime import ToolCall, ToolExecutor, ToolInvoked, ToolReply
    from wink.session import Session
    from wink.tools import (
        DeadlineExceededError,
        PromptValidationError,
        Tool,
        ToolContext,
        ToolExample,
        ToolHandler,
        ToolRenderableResult,
        ToolResult,
        ToolValidationError,
        tool,
    )
    from wink.workspace import Workspace

_HOMES = {
    "adapters": "PromptResponse ProviderAdapter ScriptedAdapter",
    "filesystem": "Filesystem HostFilesystem InMemoryFilesystem",
    "limits": "Budget BudgetTracker Deadline Heartbeat RunContext TokenUsage",
    "plugins": "Catalog Settings",
    "policies": "PolicyDecision PolicyState SequentialDependencyPolicy ToolPolicy",
    "prompt": "MarkdownSection Prompt PromptTemplate RenderedPrompt Section TextSection ToolsSection",
    "resources": "Binding ResourceRegistry Scope",
    "runtime": "ToolCall ToolExecutor ToolInvoked ToolReply",
    "session": "Session",
    "tools": "DeadlineExceededError PromptValidationError Tool ToolContext ToolExample ToolHandler ToolRenderableResult ToolResult ToolValidationError tool",
    "workspace": "Workspace",
}
_HOME_OF = {name: package for package, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Binding",
    "Budget",
    "BudgetTracker",
    "Catalog",
    "Deadline",
    "DeadlineExceededError",
    "Filesystem",
    "Heartbeat",
    "HostFilesystem",
    "InMemoryFilesystem",
    "MarkdownSection",
    "PolicyDecision",
    "PolicyState",
    "Prompt",
    "PromptResponse",
    "PromptTemplate",
    "PromptValidationError",
    "ProviderAdapter",
    "RenderedPrompt",
    "ResourceRegistry",
    "RunContext",
    "Scope",
    "ScriptedAdapter",
    "Section",
    "SequentialDependencyPolicy",
    "Session",
    "Settings",
    "TextSection",
    "TokenUsage",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolExample",
    "ToolExecutor",
    "ToolHandler",
    "ToolInvoked",
    "ToolPolicy",
    "ToolRenderableResult",
    "ToolReply",
    "ToolResult",
    "ToolValidationError",
    "ToolsSection",
    "Workspace",
    "tool",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOME_OF:
        raise AttributeError(f"module 'wink' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"wink.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
