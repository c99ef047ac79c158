"""Prompts made of sections, each with its text, its tools and the rules about them."""

from typing import TYPE_CHECKING, Any

from wink.errors import (
    DeadlineExceededError,
    OutputParseError,
    PromptEvaluationError,
    PromptOverrideError,
    PromptOverrideWarning,
    PromptRenderError,
    PromptValidationError,
    ToolValidationError,
    VisibilityExpansionRequired,
)
from wink.policies import PolicyDecision, PolicyState, SequentialDependencyPolicy, ToolPolicy, policy_state
from wink.prompt._alone import RenderedSection, SectionOutline
from wink.prompt._enablement import Enabled
from wink.prompt._expansion import (
    ClearAllVisibilityOverrides,
    ClearVisibilityOverride,
    SetVisibilityOverride,
    VisibilityOverrides,
    apply_expansion,
)
from wink.prompt._params import param_descriptions
from wink.prompt._prompt import Prompt
from wink.prompt._rendered import RenderedPrompt
from wink.prompt._resources import PromptResources
from wink.prompt._section import Section, SectionOptions
from wink.prompt._template import PromptTemplate
from wink.prompt._visibility import SectionVisibility, Visibility
from wink.prompt.examples import TaskExample, TaskExamplesSection, TaskStep
from wink.prompt.guardrails import (
    CompositeChecker,
    DeadlineFeedback,
    Feedback,
    FeedbackContext,
    FeedbackProvider,
    FeedbackProviderConfig,
    FeedbackTrigger,
    FileCreatedTrigger,
    FileOutputChecker,
    StaticFeedbackProvider,
    TaskCompletionChecker,
    TaskCompletionContext,
    TaskCompletionResult,
    check_completion,
    collect_feedback,
    watch_feedback,
)
from wink.prompt.output import parse_structured_output
from wink.prompt.sections import MarkdownSection, TextSection, ToolsSection
from wink.tools import Tool, ToolContext, ToolExample, ToolHandler, ToolRenderableResult, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from wink.prompt.overrides import (
        PromptDescriptor,
        PromptOverridesStore,
        SectionDescriptor,
        TaskExampleDescriptor,
        ToolDescriptor,
    )
    from wink_files import WorkspaceSection
    from wink_overrides import (
        LocalPromptOverridesStore,
        PromptOverride,
        SectionOverride,
        TaskExampleOverride,
        ToolExampleOverride,
        ToolOverride,
    )

    ReadBeforeWritePolicy: Callable[..., ToolPolicy]

__all__ = [
    "ClearAllVisibilityOverrides",
    "ClearVisibilityOverride",
    "CompositeChecker",
    "DeadlineExceededError",
    "DeadlineFeedback",
    "Enabled",
    "Feedback",
    "FeedbackContext",
    "FeedbackProvider",
    "FeedbackProviderConfig",
    "FeedbackTrigger",
    "FileCreatedTrigger",
    "FileOutputChecker",
    "LocalPromptOverridesStore",
    "MarkdownSection",
    "OutputParseError",
    "PolicyDecision",
    "PolicyState",
    "Prompt",
    "PromptDescriptor",
    "PromptEvaluationError",
    "PromptOverride",
    "PromptOverrideError",
    "PromptOverrideWarning",
    "PromptOverridesStore",
    "PromptRenderError",
    "PromptResources",
    "PromptTemplate",
    "PromptValidationError",
    "RenderedPrompt",
    "RenderedSection",
    "Section",
    "SectionDescriptor",
    "SectionOptions",
    "SectionOutline",
    "SectionOverride",
    "SectionVisibility",
    "SequentialDependencyPolicy",
    "SetVisibilityOverride",
    "StaticFeedbackProvider",
    "TaskCompletionChecker",
    "TaskCompletionContext",
    "TaskCompletionResult",
    "TaskExample",
    "TaskExamplesSection",
    "TaskStep",
    "TaskExampleDescriptor",
    "TaskExampleOverride",
    "TextSection",
    "Tool",
    "ToolContext",
    "ToolDescriptor",
    "ToolExample",
    "ToolExampleOverride",
    "ToolHandler",
    "ToolOverride",
    "ToolPolicy",
    "ToolRenderableResult",
    "ToolResult",
    "ToolValidationError",
    "ToolsSection",
    "Visibility",
    "VisibilityExpansionRequired",
    "VisibilityOverrides",
    "WorkspaceSection",
    "apply_expansion",
    "check_completion",
    "collect_feedback",
    "param_descriptions",
    "parse_structured_output",
    "policy_state",
    "watch_feedback",
]

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """What few programs need, and names of the specification that plugins bring, imported when they are asked for."""
        from wink.spellings import FORWARDED, forwarded

        if name in __all__ and name not in FORWARDED:
            from wink.prompt import overrides

            return getattr(overrides, name)
        return forwarded(name, __name__)
