"""Turn a plan and its parameters into the text and tools of one rendering."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from wink.errors import PromptRenderError, PromptValidationError
from wink.policies import ToolPolicy
from wink.prompt._answer import Answer
from wink.prompt._checks import checked_attachments
from wink.prompt._disclosure import Disclosure, disclosing_tools, how_to_open
from wink.prompt._plan import Node, Plan, distinct, refuse_reserved_names, tools_by_name
from wink.prompt._rendered import RenderedPrompt
from wink.prompt._selection import APART, ATTACHED, BARE, Part, raised, selected
from wink.prompt._visibility import SectionVisibility
from wink.prompt.examples import TaskExamplesSection, examples_block
from wink.prompt.output import response_format
from wink.tools import Attachment, Tool

if TYPE_CHECKING:
    from wink.prompt._resources import PromptResources
    from wink.prompt._template import PromptTemplate
    from wink.session import Session

__all__ = ["offered_tools", "render"]

FULL, SUMMARY = SectionVisibility.FULL, SectionVisibility.SUMMARY

_DEEPEST_HEADING: Final = 6
"""Markdown has no heading below this; deeper sections keep their number and share its level."""


def render(
    plan: Plan,
    *,
    template: "PromptTemplate[Any]",
    bound: Mapping[type, object],
    resources: "PromptResources",
    session: "Session | None",
    visibilities: Mapping[tuple[str, ...], SectionVisibility],
    check: bool,
    partial: bool = False,
) -> RenderedPrompt[Any]:
    """Render the sections of `plan` that are enabled now: the plan of `template`, or what overrides made of it."""
    parts = selected(plan, bound, session, visibilities, partial=partial)
    by_name = tools_by_name(node for node, _, _, shown in parts if shown is FULL)
    for node, _, _, _ in parts:
        if check and not node.checked:
            _check(node, plan)
    tools = tuple(tool for tool, _ in by_name.values())
    governing: dict[str, tuple[ToolPolicy, ...]] = {name: node.governing for name, (_, node) in by_name.items()}
    disclosure = _disclosure(plan, parts)
    if disclosure is not None:
        own = disclosing_tools(disclosure.keys)
        refuse_reserved_names(node for _, node in by_name.values())
        tools += own
        governing.update((tool.name, plan.prompt_policies) for tool in own)
    attached: list[Attachment] = []
    known = {"session": session, "tools": governing, "resources": resources, ATTACHED: attached}
    text = text_of(parts, known)
    if template.container is not None:
        text = _with_response_format(text, parts, template.answer)
    return RenderedPrompt(
        prompt_name=template.name,
        text=text,
        tools=tools,
        policies=distinct((*(policy for part in parts for policy in part[0].policies), *plan.prompt_policies)),
        governing=governing,
        origins={name: node.offered_by for name, (_, node) in by_name.items() if node.offered_by},
        output_type=template.output_type,
        container=template.container,
        allow_extra_keys=template.allow_extra_keys,
        output=template.answer.annotation,
        template=template,
        disclosure=disclosure,
        attachments=tuple(attached),
    )


def offered_tools(plan: Plan, parts: Sequence[Part]) -> tuple[Tool[Any, Any], ...]:
    """The tools of the sections that are shown in full, and those that open the others."""
    tools = tuple(tool for node, _, _, shown in parts if shown is FULL for tool in node.tools)
    disclosure = _disclosure(plan, parts)
    return tools if disclosure is None else tools + disclosing_tools(disclosure.keys)


def text_of(parts: Sequence[Part], known: Mapping[str, Any]) -> str:
    """The text of the sections that are shown; `known` is what they may ask about the rendering, see `Body`.

    What they attach goes into the list `known[ATTACHED]`, except for resources that are text: they are in the text.
    """
    return "\n\n".join(_section_text(*part, known) for part in parts if part[3] is not None)


def _with_response_format(text: str, parts: Sequence[Part], answer: Answer) -> str:
    """The text with one more section at its end, about the last answer."""
    number = sum(len(node.path) == 1 for node, _, _, _ in parts) + 1
    section = f"## {number}. Response format\n\n{response_format(answer)}"
    return f"{text}\n\n{section}" if text else section


def _disclosure(plan: Plan, parts: Sequence[Part]) -> Disclosure | None:
    if plan.can_summarise and any(part[3] is SUMMARY for part in parts):
        return Disclosure(plan, parts, text_of)
    return None


def _section_text(
    node: Node, number: str, params: Any, shown: SectionVisibility | None, known: Mapping[str, Any]
) -> str:
    summarised = node.summary is not None and shown is SUMMARY
    try:
        body = node.summary(params) if node.summary is not None and summarised else node.body(params, known)
    except Exception as error:  # foreign code: sections of plugins, `__str__` of parameters
        raise PromptRenderError(raised("rendering", error), node.path, dataclass=node.params_type) from error
    heading = f"{'#' * min(len(node.path) + 1, _DEEPEST_HEADING)} {number} {node.section.title}"
    if summarised:
        return f"{heading}\n\n{body}\n\n{how_to_open(node)}"
    if node.examples is None:
        node.examples = _examples_text(node)
    if known.get(BARE) == node.path:
        heading = ""
    return "\n\n".join(part for part in (heading, body, *_attached(node, params, known), node.examples) if part)


def _attached(node: Node, params: Any, known: Mapping[str, Any]) -> list[str]:
    """What the text says of a section's attachments; those that it does not hold are added to what is attached."""
    try:
        attachments = checked_attachments(node.section.attachments(params), node.path)
    except PromptValidationError:
        raise
    except Exception as error:  # foreign code
        raise PromptRenderError(raised("attachments", error), node.path, dataclass=node.params_type) from error
    is_apart = known.get(APART, False)
    collected: list[Attachment] = known.get(ATTACHED, [])
    collected += (one for one in attachments if is_apart or not one.text)
    return [f"[{one.described}]" if is_apart or not one.text else one.text for one in attachments]


def _examples_text(node: Node) -> str:
    """The tools' examples; they have been checked, so what fails now is a `render` of the author's."""
    try:
        return examples_block(node.tools)
    except Exception as error:  # foreign code
        raise PromptRenderError(raised("rendering the examples of its tools", error), node.path) from error


def _check(node: Node, plan: Plan) -> None:
    """Check schemas and examples: dear enough to wait for a rendering, and the same at every one."""
    for tool in node.tools:
        try:
            tool.check()
        except PromptValidationError as error:
            raise PromptValidationError(error.message, node.path, tool.name, error.dataclass) from error
    if isinstance(node.section, TaskExamplesSection):
        node.section.check_steps(plan.tools, node.path, complete=plan.knows_all_tools, types=False)
    node.checked = True
