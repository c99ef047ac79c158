"""What of a template can be overridden, with a hash of each part as it stands in the code."""

from typing import TYPE_CHECKING, Any, cast

from wink.dataclass import dataclass
from wink.errors import PromptOverrideError, PromptValidationError, SerdeError
from wink.prompt._params import names_in
from wink.prompt.examples import TaskExamplesSection
from wink.prompt.overrides._hashing import content_hash, contract_hash, example_hash, value_hash

if TYPE_CHECKING:
    from wink.prompt._plan import Node, Plan
    from wink.prompt._prompt import Prompt
    from wink.prompt._template import PromptTemplate
    from wink.tools import Tool

__all__ = [
    "PromptDescriptor",
    "SectionDescriptor",
    "TaskExampleDescriptor",
    "ToolDescriptor",
    "described",
    "examples_json",
    "template_of",
    "tools_now",
]


@dataclass(frozen=True, slots=True)
class SectionDescriptor:
    """A section whose text can be replaced."""

    path: tuple[str, ...]
    content_hash: str
    """SHA-256 of the text as its author wrote it, in hexadecimal; of text and summary when there is a summary."""
    number: str
    """Its number when every section takes part, such as `2.1`."""
    params: tuple[str, ...] = ()
    """The placeholders that a text may use."""
    has_summary: bool = False
    """Whether it has a summary, which can be replaced too."""


@dataclass(frozen=True, slots=True)
class ToolDescriptor:
    """A tool whose description, descriptions of parameters, and examples can be replaced."""

    path: tuple[str, ...]
    """The section that brings it."""
    name: str
    contract_hash: str
    """SHA-256 of the description and the JSON Schema of the parameters."""
    params: tuple[str, ...] = ()
    """The parameters that can be described."""
    examples: tuple[str, ...] = ()
    """SHA-256 of each example, in order."""


@dataclass(frozen=True, slots=True)
class TaskExampleDescriptor:
    """A task example that can be replaced or removed."""

    path: tuple[str, ...]
    """The section that it stands in."""
    index: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class PromptDescriptor:
    """What of a template can be overridden, whether its sections take part now or not.

    Sections and tools that accept no overrides are not in it; a section that accepts none closes its own tools too, not
    those of the sections below it. The hashes are the code's own, whatever overrides are in force.
    """

    ns: str
    key: str
    sections: tuple[SectionDescriptor, ...]
    tools: tuple[ToolDescriptor, ...]
    task_examples: tuple[TaskExampleDescriptor, ...] = ()
    example_sections: tuple[tuple[str, ...], ...] = ()
    """The paths of the sections whose task examples can be replaced, removed and added to."""

    @classmethod
    def from_prompt(cls, prompt: "Prompt[Any] | PromptTemplate[Any]") -> "PromptDescriptor":
        """Describe a prompt, or a template; worked out once for each template."""
        template = template_of(prompt)
        return described(template.ns, template.key, template.plan)

    def section(self, path: tuple[str, ...]) -> SectionDescriptor | None:
        """The section at a path."""
        return next((section for section in self.sections if section.path == path), None)

    def tools_named(self, name: str) -> tuple[ToolDescriptor, ...]:
        """The tools with a name: several when sections that exclude each other bring one each."""
        return tuple(tool for tool in self.tools if tool.name == name)

    def task_examples_of(self, path: tuple[str, ...]) -> tuple[TaskExampleDescriptor, ...]:
        """The examples of the section at a path, in order."""
        return tuple(example for example in self.task_examples if example.path == path)


def template_of(prompt: "Prompt[Any] | PromptTemplate[Any]") -> "PromptTemplate[Any]":
    """The template of a prompt, or the template itself."""
    from wink.prompt._template import PromptTemplate

    template: Any = prompt if isinstance(prompt, PromptTemplate) else getattr(prompt, "template", None)
    if not isinstance(template, PromptTemplate):
        raise PromptOverrideError(f"{prompt!r} is neither a prompt nor a template")
    return cast("PromptTemplate[Any]", template)


def described(ns: str, key: str, plan: "Plan") -> PromptDescriptor:
    """Describe a plan: once, unless it has tools that come and go."""
    if plan.descriptor is not None:
        return plan.descriptor
    descriptor = _describe(ns, key, plan)
    if plan.knows_all_tools:
        plan.descriptor = descriptor
    return descriptor


def tools_now(node: "Node") -> "tuple[Tool[Any, Any], ...]":
    """A section's tools at the moment; those that it began with when it cannot tell."""
    if node.has_passing_tools:
        try:
            return node.now().tools
        except Exception:  # foreign code, whose failure the rendering reports
            return ()
    return node.tools


def examples_json(section: TaskExamplesSection[Any]) -> list[Any]:
    """The task examples of a section as JSON values; raises `SerdeError` for what JSON cannot hold."""
    from wink.serde import dump

    return [dump(example) for example in section.examples]


def _describe(ns: str, key: str, plan: "Plan") -> PromptDescriptor:
    sections: list[SectionDescriptor] = []
    tools: list[ToolDescriptor] = []
    examples: list[TaskExampleDescriptor] = []
    with_examples: list[tuple[str, ...]] = []

    def visit(nodes: "tuple[Node, ...]", prefix: str) -> None:
        for count, node in enumerate(nodes, 1):
            number = f"{prefix}{count}"
            if node.section.accepts_overrides:
                sections.extend(_section(node, number))
                tools.extend(_tools(node))
                found = _task_examples(node)
                if found is not None:
                    with_examples.append(node.path)
                    examples.extend(found)
            visit(node.children, f"{number}.")

    visit(plan.roots, "")
    return PromptDescriptor(ns, key, tuple(sections), tuple(tools), tuple(examples), tuple(with_examples))


def _section(node: "Node", number: str) -> list[SectionDescriptor]:
    text = node.section.template_text()
    if text is None:
        return []
    params = () if node.params_type is None else tuple(sorted(names_in(node.params_type)))
    summary = node.section.summary
    return [SectionDescriptor(node.path, content_hash(text, summary), number, params, summary is not None)]


def _tools(node: "Node") -> list[ToolDescriptor]:
    found: list[ToolDescriptor] = []
    for tool in tools_now(node):
        if not tool.accepts_overrides:
            continue
        try:
            contract = contract_hash(tool)
            examples = tuple(example_hash(example) for example in tool.examples)
        except (PromptValidationError, ValueError):
            continue  # its schema or its examples are wrong; the rendering says so, and nothing can be said instead
        found.append(ToolDescriptor(node.path, tool.name, contract, _describable(tool), examples))
    return found


def _describable(tool: Any) -> tuple[str, ...]:
    from dataclasses import fields

    return () if tool.params_type is None else tuple(field.name for field in fields(tool.params_type) if field.init)


def _task_examples(node: "Node") -> list[TaskExampleDescriptor] | None:
    """The examples of a section of task examples; `None` for other sections."""
    if not isinstance(node.section, TaskExamplesSection):
        return None
    try:
        examples = examples_json(node.section)
    except SerdeError:
        return None
    return [TaskExampleDescriptor(node.path, index, value_hash(one)) for index, one in enumerate(examples)]
