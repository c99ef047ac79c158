"""Lay what overrides say over a template's sections, for one prompt."""

import dataclasses
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wink.errors import PromptOverrideWarning, WinkError
from wink.prompt._body import Body
from wink.prompt._plan import Node, Plan
from wink.prompt._section import Section
from wink.prompt.overrides._descriptor import PromptDescriptor, described, has_passing_tools, tools_now
from wink.prompt.overrides._fit import Misfit, fit
from wink.prompt.overrides._reports import Reports, place_of
from wink.prompt.overrides._values import PromptOverride, SectionOverride, ToolExampleOverride, ToolOverride
from wink.tools import Tool, ToolExample

if TYPE_CHECKING:
    from wink.prompt._template import PromptTemplate
    from wink.prompt.overrides._store import PromptOverridesStore
    from wink.session import Session

__all__ = ["OverriddenPlan", "overlay"]


class OverriddenPlan:
    """A template's plan as a store's overrides want it now; never an error because of what the store holds."""

    __slots__ = ("_made", "_reports", "_store", "_tag", "_template")

    def __init__(self, template: "PromptTemplate[Any]", store: "PromptOverridesStore", tag: str) -> None:
        self._template, self._store, self._tag = template, store, tag
        self._made: tuple[PromptOverride, PromptDescriptor, Plan] | None = None
        self._reports = Reports()

    def now(self) -> Plan:
        """Ask the store, and lay over the template what it says; the last plan, when it says the same."""
        template = self._template
        where = place_of(template.ns, template.key, self._tag)
        descriptor = described(template.ns, template.key, template.plan)
        try:
            found = self._store.resolve(descriptor, self._tag)
            if found is None:
                return template.plan
            made = self._made
            if made is None or made[:2] != (found, descriptor):
                kept, misfits = fit(found, descriptor)
                plan, more = overlay(template.plan, kept, descriptor)
                self._made = made = (found, descriptor, plan)
                self._reports.add(where, (*misfits, *more))
        except PromptOverrideWarning:
            raise  # somebody wants warnings to be errors
        except Exception as error:  # foreign code: the store, or what it gave
            self._reports.say(where, f"cannot be used, {type(error).__name__}: {error}")
            return template.plan
        return made[2]


def overlay(plan: Plan, override: PromptOverride, descriptor: PromptDescriptor) -> tuple[Plan, tuple[Misfit, ...]]:
    """`plan` with what `override` says, which fits `descriptor`; and what turned out not to be usable.

    Sections, tools and their order, names, types, rules and conditions are those of `plan`.
    """
    misfits: list[Misfit] = []
    roots = _overlaid(plan.roots, override, descriptor, misfits)
    if all(one is other for one, other in zip(roots, plan.roots, strict=True)):
        return plan, tuple(misfits)
    nodes = tuple(node for root in roots for node in (root, *root.below()))
    return dataclasses.replace(plan, roots=roots, nodes=nodes), tuple(misfits)


def _overlaid(
    nodes: tuple[Node, ...], override: PromptOverride, descriptor: PromptDescriptor, misfits: list[Misfit]
) -> tuple[Node, ...]:
    made: list[Node] = []
    for node in nodes:
        children = _overlaid(node.children, override, descriptor, misfits)
        tools = tuple(_tool(node, tool, override, descriptor, misfits) for tool in node.tools)
        changes = _texts(node, override, misfits)
        if has_passing_tools(node) and override.tool_overrides:
            for tool in tools_now(node):  # for what is wrong with them, which a rendering does not tell
                _tool(node, tool, override, descriptor, misfits)
            changes["told"] = partial(_tool, node, override=override, descriptor=descriptor, misfits=[])
        if any(one is not other for one, other in zip(tools, node.tools, strict=True)):
            changes |= {"tools": tools, "examples": None, "checked": False}
        if any(one is not other for one, other in zip(children, node.children, strict=True)):
            changes["children"] = children
        made.append(dataclasses.replace(node, **changes) if changes else node)
    return tuple(made)


def _texts(node: Node, override: PromptOverride, misfits: list[Misfit]) -> dict[str, Any]:
    """What of a node has to change for a section to have other texts."""
    texts = override.sections.get(node.path)
    if texts is None:
        return {}
    try:
        changes: dict[str, Any] = {"body": _OtherBody(node, texts)}
        if texts.summary is not None:
            node.section.with_summary(texts.summary)
            changes["summary"] = partial(_summary, node.section, texts.summary)
    except Exception as error:  # foreign code: sections of plugins
        reason = f"cannot be given another text, {type(error).__name__}: {error}"
        misfits.append(Misfit("wrong", "section", "/".join(node.path), reason))
        return {}
    return changes


class _OtherBody(Body):
    """A section's body with another text, made of the section as it is at each rendering: it may have changed since."""

    __slots__ = ("_section", "_text")

    def __init__(self, node: Node, texts: SectionOverride) -> None:
        super().__init__(node.section.with_template_text(texts.body), node.path)
        self._section, self._text = node.section, texts.body

    def __call__(self, params: Any, session: "Session | None", tools: Collection[str] = ()) -> str:
        return Body(self._section.with_template_text(self._text), self._path)(params, session, tools)


def _summary(section: Section[Any], text: str, params: Any) -> str:
    return section.with_summary(text).render_summary(params)


def _tool(
    node: Node,
    tool: Tool[Any, Any],
    override: PromptOverride,
    descriptor: PromptDescriptor,
    misfits: list[Misfit],
) -> Tool[Any, Any]:
    told = override.tool_overrides.get(tool.name)
    known = [one for one in descriptor.tools_named(tool.name) if one.path == node.path]
    if told is None or not known or known[0].contract_hash != told.expected_contract_hash:
        return tool
    try:
        return _told(tool, told)
    except (WinkError, ValueError) as error:
        misfits.append(Misfit("wrong", "tool", tool.name, getattr(error, "message", None) or str(error)))
    return tool


def _told(tool: Tool[Any, Any], told: ToolOverride) -> Tool[Any, Any]:
    """The tool as an override describes it: the same handler and types, so that a call of it is the same call."""
    made = tool.replace(
        description=tool.description if told.description is None else told.description,
        param_descriptions={**tool.param_descriptions, **told.param_descriptions},
        examples=_examples(tool, told.examples),
    )
    if told.examples:
        made.check()
    return made


def _examples(tool: Tool[Any, Any], overrides: Sequence[ToolExampleOverride]) -> list[ToolExample[Any, Any]]:
    by_index = {one.index: one for one in overrides if one.index is not None}
    made: list[ToolExample[Any, Any]] = []
    for index, example in enumerate(tool.examples):
        other = by_index.get(index)
        if other is None:
            made.append(example)
        elif other.action == "replace":
            made.append(_example(tool, other))
    return made + [_example(tool, one) for one in overrides if one.action == "append"]


def _example(tool: Tool[Any, Any], override: ToolExampleOverride) -> ToolExample[Any, Any]:
    """An example of the tool's own types; raises `ParseError` when the values are of others."""
    from wink.serde import dumps, parse

    output: Any = None
    if tool.result_type is not None:
        kind: Any = tool.result_type
        output = parse(list[kind] if tool.result_container == "array" else kind, dumps(override.output))
    elif override.output is not None:
        output = override.output  # refused with the other examples' words when the tool is built
    given = "{}" if override.input is None else dumps(override.input)
    return ToolExample(override.description, tool.parse(given), output)
