"""What a rendering gives: the text for the model, and the tools and rules that go with it."""

from collections.abc import Mapping
from types import GenericAlias, MappingProxyType
from typing import TYPE_CHECKING, Any, Generic

from wink.dataclass import dataclass, field
from wink.policies import ToolPolicy
from wink.prompt._answer import Container, Out_co
from wink.prompt._params import param_descriptions
from wink.tools import Attachment, Tool

if TYPE_CHECKING:
    from wink.limits import Deadline
    from wink.prompt._disclosure import Disclosure
    from wink.prompt._template import PromptTemplate
    from wink.prompt.overrides import PromptDescriptor

__all__ = ["RenderedPrompt"]


@dataclass(frozen=True, slots=True, eq=False)
class RenderedPrompt(Generic[Out_co]):
    """One rendering of a prompt; it does not change when the session or the prompt's parameters do.

    `str()` of it is its text.
    """

    prompt_name: str
    text: str
    """Markdown: a numbered heading for each enabled section, its body, and the examples of its tools."""
    tools: tuple[Tool[Any, Any], ...]
    """The tools of the enabled sections, in the order of their declaration."""
    policies: tuple[ToolPolicy, ...] = ()
    """The policies of the enabled sections and of the prompt."""
    governing: Mapping[str, tuple[ToolPolicy, ...]] = field(default_factory=dict[str, tuple[ToolPolicy, ...]])
    """For each tool's name the policies that are asked about its calls, and told of those that succeeded."""
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    """For the name of each tool that a plugin offers: the plugin, its distribution and version, with spaces between."""
    deadline: "Deadline | None" = None
    """When the evaluation that this rendering was made for has to end."""
    output_type: type[Any] | None = None
    """The dataclass of the answer, or of an array's items; `None` when the answer is plain text."""
    container: Container | None = None
    """Whether the answer is one `object` or an `array` of them; `None` when it is plain text."""
    allow_extra_keys: bool = False
    """Whether the answer may have keys that `output_type` does not."""
    output: Any = None
    """The output as the template declares it, such as `list[Finding]`; the same as `output_type` for one object."""
    template: "PromptTemplate[Any] | None" = field(default=None, repr=False)
    """The template that was rendered."""
    disclosure: "Disclosure | None" = field(default=None, repr=False)
    """The sections of which only a summary is shown, for the tools that open them; `None` when all is shown."""
    attachments: tuple[Attachment, ...] = ()
    """What the sections show besides their text, in their order: images, sounds, and resources that are no text."""
    _by_name: dict[str, Tool[Any, Any]] = field(init=False, repr=False)

    if not TYPE_CHECKING:  # annotations of programs name the type of its output
        __class_getitem__ = classmethod(GenericAlias)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {tool.name: tool for tool in self.tools})

    @property
    def descriptor(self) -> "PromptDescriptor | None":
        """What of the prompt can be overridden, with a hash of each part; worked out when it is first asked for."""
        from wink.prompt.overrides import PromptDescriptor

        return None if self.template is None else PromptDescriptor.from_prompt(self.template)

    @property
    def tool_param_descriptions(self) -> Mapping[str, Mapping[str, str]]:
        """For each tool's name the descriptions of its parameters, of those that have one."""
        return MappingProxyType({tool.name: MappingProxyType(param_descriptions(tool)) for tool in self.tools})

    @property
    def summarised(self) -> tuple[str, ...]:
        """The keys of the sections of which only a summary is shown, such as `rules.style`."""
        return () if self.disclosure is None else self.disclosure.keys

    def tool(self, name: str) -> Tool[Any, Any] | None:
        """The tool called `name`, or `None` when no enabled section brings one."""
        return self._by_name.get(name)

    def policies_for_tool(self, name: str) -> tuple[ToolPolicy, ...]:
        """The policies that govern a tool: its section's, those of the sections around it, then the prompt's.

        All policies for a tool that this rendering does not have: what is in doubt is asked about.
        """
        return self.governing.get(name, self.policies)

    def __str__(self) -> str:
        return self.text
