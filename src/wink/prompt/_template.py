"""The part of a prompt that is written once: its sections, its rules and what they need."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from wink.errors import PromptValidationError
from wink.policies import ToolPolicy
from wink.prompt._checks import KEY, all_of
from wink.prompt._plan import Plan
from wink.prompt._section import Section

if TYPE_CHECKING:
    from wink.resources import ResourceRegistry

__all__ = ["PromptTemplate"]

_NAMESPACE: Final = re.compile(rf"{KEY.pattern}(/{KEY.pattern})*")


@dataclass(frozen=True, slots=True, eq=False)
class PromptTemplate:
    """A tree of sections with policies and resources, ready to be rendered by any number of prompts.

    `ns` (such as `repo` or `examples/tools`) and `key` name the template; `name` is what events and responses call it,
    by default its key. `policies` govern every tool. `resources` are a registry, or objects and bindings by their type;
    sections may replace them, and `Prompt.bind` may replace both.

    Building it checks everything that does not depend on a session: keys, placeholders against the dataclasses of the
    parameters, and names of tools, except between sections that decide for themselves if they are enabled. Raises
    `PromptValidationError`, which says where.
    """

    ns: str
    key: str
    name: str = ""
    sections: Sequence[Section[Any]] = ()
    policies: Sequence[ToolPolicy] = ()
    resources: "ResourceRegistry | Mapping[type, object] | None" = None
    plan: Plan = field(init=False, repr=False)
    """The sections laid out; for `Prompt`."""

    def __post_init__(self) -> None:
        if not _NAMESPACE.fullmatch(self.ns):
            raise PromptValidationError(f"{self.ns!r} cannot be a namespace; use keys with '/' between them")
        if not KEY.fullmatch(self.key):
            raise PromptValidationError(
                f"{self.key!r} cannot be a template's key; use lower-case letters, digits, '.', '_', '-'"
            )
        # The documented way to normalise the fields of a frozen dataclass.
        object.__setattr__(self, "name", self.name or self.key)
        object.__setattr__(self, "sections", all_of(Section, self.sections, "sections", ()))
        object.__setattr__(self, "policies", all_of(ToolPolicy, self.policies, "policies", ()))
        object.__setattr__(self, "plan", Plan.of(self.sections, self.policies))
