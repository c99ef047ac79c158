"""Other words for a prompt's texts, tools and examples, bound by hashes to what the code says.

Where they are kept is a store's affair (`PromptOverridesStore`), which a prompt is given; a plugin offers one to the option
`--overrides` of the commands with an entry point in `wink.overrides`: a callable that takes `root_path`, the workspace's
directory, and gives a `TaggedOverridesStore`. The plugin `overrides` keeps them in files (`wink_overrides`).
"""

from typing import TYPE_CHECKING, Any

from wink.errors import PromptOverrideError, PromptOverrideWarning
from wink.prompt.overrides._descriptor import PromptDescriptor, SectionDescriptor, TaskExampleDescriptor, ToolDescriptor
from wink.prompt.overrides._examples import examples_json
from wink.prompt.overrides._fit import Misfit, fit
from wink.prompt.overrides._overlay import OverriddenPlan, unusable
from wink.prompt.overrides._present import present
from wink.prompt.overrides._reports import Reports, place_of
from wink.prompt.overrides._store import PromptOverridesStore, TaggedOverridesStore
from wink.prompt.overrides._values import (
    PromptOverride,
    SectionOverride,
    TaskExampleOverride,
    ToolExampleOverride,
    ToolOverride,
    section_path,
)

__all__ = [
    "Misfit",
    "OverriddenPlan",
    "PromptDescriptor",
    "PromptOverride",
    "PromptOverrideError",
    "PromptOverrideWarning",
    "PromptOverridesStore",
    "Reports",
    "SectionDescriptor",
    "SectionOverride",
    "TaggedOverridesStore",
    "TaskExampleDescriptor",
    "TaskExampleOverride",
    "ToolDescriptor",
    "ToolExampleOverride",
    "ToolOverride",
    "examples_json",
    "fit",
    "place_of",
    "present",
    "section_path",
    "unusable",
]

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """A name of the specification that a plugin brings."""
        from wink.spellings import forwarded

        return forwarded(name, __name__)
