"""Other words for a prompt's texts, tools and examples, kept as files beside the code; `wink prompts` edits them.

What a store holds is laid over a template by `OverriddenPlan`, as far as it fits (`fit`); what does not is left out and said once.
"""

from wink_overrides._examples import overridden_task_examples
from wink_overrides._fit import Misfit, fit
from wink_overrides._local import LocalPromptOverridesStore
from wink_overrides._overlay import OverriddenPlan, unusable
from wink_overrides._present import present
from wink_overrides._reports import Reports, place_of
from wink_overrides._values import (
    PromptOverride,
    SectionOverride,
    TaskExampleOverride,
    ToolExampleOverride,
    ToolOverride,
    section_path,
)

__all__ = [
    "LocalPromptOverridesStore",
    "Misfit",
    "OverriddenPlan",
    "PromptOverride",
    "Reports",
    "SectionOverride",
    "TaskExampleOverride",
    "ToolExampleOverride",
    "ToolOverride",
    "fit",
    "overridden_task_examples",
    "place_of",
    "present",
    "section_path",
    "unusable",
]
