"""Other words for a prompt's texts, tools and examples, bound by hashes to what the code says.

Where they are kept is a store's affair (`PromptOverridesStore`), which a prompt is given; a plugin offers one to the option
`--overrides` of the commands with an entry point in `wink.overrides`: a callable that takes `root_path`, the workspace's
directory, and gives a `TaggedOverridesStore`. The plugin `overrides` keeps them in files, and lays what any store holds over a
template (`wink_overrides`); its names are here too. What it is made of is the plan of a template, `PromptTemplate.plan`.
"""

from typing import TYPE_CHECKING, Any

from wink.errors import PromptOverrideError, PromptOverrideWarning
from wink.prompt._body import Body
from wink.prompt._plan import Node, Plan
from wink.prompt._text import Text
from wink.prompt.overrides._descriptor import (
    PromptDescriptor,
    SectionDescriptor,
    TaskExampleDescriptor,
    ToolDescriptor,
    described,
    examples_json,
    template_of,
    tools_now,
)
from wink.prompt.overrides._hashing import content_hash, value_hash
from wink.prompt.overrides._store import PromptOverridesStore, TaggedOverridesStore

if TYPE_CHECKING:
    from wink_overrides import (
        Misfit,
        OverriddenPlan,
        PromptOverride,
        Reports,
        SectionOverride,
        TaskExampleOverride,
        ToolExampleOverride,
        ToolOverride,
        fit,
        place_of,
        present,
        section_path,
        unusable,
    )

__all__ = [
    "Body",
    "Misfit",
    "Node",
    "OverriddenPlan",
    "Plan",
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
    "Text",
    "ToolDescriptor",
    "ToolExampleOverride",
    "ToolOverride",
    "content_hash",
    "described",
    "examples_json",
    "fit",
    "place_of",
    "present",
    "section_path",
    "template_of",
    "tools_now",
    "unusable",
    "value_hash",
]

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """A name that a plugin brings."""
        from wink.spellings import forwarded

        return forwarded(name, __name__)
