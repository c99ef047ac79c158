"""Say in the words of overrides what the code says."""

from typing import TYPE_CHECKING, Any

from wink.prompt import param_descriptions
from wink.prompt.overrides import PromptDescriptor, template_of, tools_now
from wink_overrides._values import PromptOverride, SectionOverride, ToolOverride

if TYPE_CHECKING:
    from wink.prompt import Prompt, PromptTemplate

__all__ = ["present"]


def present(prompt: "Prompt[Any] | PromptTemplate[Any]", tag: str = "latest") -> PromptOverride:
    """An override that repeats what the code says of everything that accepts overrides, as `seed` of a store keeps it."""
    template = template_of(prompt)
    descriptor = PromptDescriptor.from_prompt(template)
    nodes = {node.path: node for node in template.plan.nodes}
    sections: dict[tuple[str, ...], SectionOverride] = {}
    for one in descriptor.sections:
        section = nodes[one.path].section
        sections[one.path] = SectionOverride(one.content_hash, section.template_text() or "", section.summary)
    tools: dict[str, ToolOverride] = {}
    for told in descriptor.tools:
        tool = next(tool for tool in tools_now(nodes[told.path]) if tool.name == told.name)
        words = ToolOverride(tool.name, told.contract_hash, tool.description, param_descriptions(tool))
        tools.setdefault(tool.name, words)
    return PromptOverride(descriptor.ns, descriptor.key, tag, sections, tools)
