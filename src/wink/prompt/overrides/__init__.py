"""Other words for a prompt's texts, tools and examples, kept beside the code and bound to it by hashes."""

from wink.errors import PromptOverrideError, PromptOverrideWarning
from wink.prompt.overrides._descriptor import (
    PromptDescriptor,
    SectionDescriptor,
    TaskExampleDescriptor,
    ToolDescriptor,
)
from wink.prompt.overrides._fit import Misfit, fit
from wink.prompt.overrides._local import LocalPromptOverridesStore
from wink.prompt.overrides._store import PromptOverridesStore
from wink.prompt.overrides._values import (
    PromptOverride,
    SectionOverride,
    TaskExampleOverride,
    ToolExampleOverride,
    ToolOverride,
)

__all__ = [
    "LocalPromptOverridesStore",
    "Misfit",
    "PromptDescriptor",
    "PromptOverride",
    "PromptOverrideError",
    "PromptOverrideWarning",
    "PromptOverridesStore",
    "SectionDescriptor",
    "SectionOverride",
    "TaskExampleDescriptor",
    "TaskExampleOverride",
    "ToolDescriptor",
    "ToolExampleOverride",
    "ToolOverride",
    "fit",
]
