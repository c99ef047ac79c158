"""Lay what overrides say over a template's sections, for one prompt."""

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

from wink.errors import PromptOverrideWarning, WinkError
from wink.prompt import Section, TaskExamplesSection
from wink.prompt.overrides import Body, Node, Plan, PromptDescriptor, described, template_of, tools_now
from wink.tools import Tool
from wink_overrides._examples import overridden_task_examples, overridden_tool_examples
from wink_overrides._fit import Misfit, fit
from wink_overrides._reports import Reports, place_of
from wink_overrides._values import PromptOverride, ToolOverride

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wink.prompt import Prompt, PromptTemplate
    from wink.prompt.overrides import PromptOverridesStore

__all__ = ["OverriddenPlan", "overlay", "unusable"]


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
                plan, more = overlay(template, kept, descriptor)
                self._made = made = (found, descriptor, plan)
                self._reports.add(where, (*misfits, *more))
        except PromptOverrideWarning:
            raise  # somebody wants warnings to be errors
        except Exception as error:  # foreign code: the store, or what it gave
            self._reports.say(where, f"cannot be used, {type(error).__name__}: {error}")
            return template.plan
        return made[2]


def unusable(prompt: "Prompt[Any] | PromptTemplate[Any]", override: PromptOverride) -> tuple[Misfit, ...]:
    """What of an override no rendering would use now: what `fit` leaves out, and examples whose values are of wrong types."""
    template = template_of(prompt)
    descriptor = PromptDescriptor.from_prompt(template)
    kept, misfits = fit(override, descriptor)
    return (*misfits, *overlay(template, kept, descriptor)[1])


def overlay(
    template: "PromptTemplate[Any]", override: PromptOverride, descriptor: PromptDescriptor
) -> tuple[Plan, tuple[Misfit, ...]]:
    """The plan of `template` with what `override` says, which fits `descriptor`; and what turned out not to be usable.

    Sections, tools and their order, names, types, rules and conditions are those of the template.
    """
    plan, misfits = template.plan, list[Misfit]()
    roots = _overlaid(plan.roots, _Overriding(template, override, descriptor, misfits))
    if all(one is other for one, other in zip(roots, plan.roots, strict=True)):
        return plan, tuple(misfits)
    nodes = tuple(node for root in roots for node in (root, *root.below()))
    return dataclasses.replace(plan, roots=roots, nodes=nodes), tuple(misfits)


@dataclasses.dataclass(frozen=True, slots=True)
class _Overriding:
    """What is laid over which template, and what turned out to be wrong with it."""

    template: "PromptTemplate[Any]"
    override: PromptOverride
    descriptor: PromptDescriptor
    misfits: list[Misfit]


def _overlaid(nodes: tuple[Node, ...], by: _Overriding) -> tuple[Node, ...]:
    made: list[Node] = []
    for node in nodes:
        children = _overlaid(node.children, by)
        tools = tuple(_tool(node, by, tool) for tool in node.tools)
        changes = {**_texts(node, by), **_task_examples(node, by)}
        if node.has_passing_tools and by.override.tool_overrides:
            for tool in tools_now(node):  # for what is wrong with them, which a rendering does not tell
                _tool(node, by, tool)
            changes["told"] = partial(_tool, node, dataclasses.replace(by, misfits=[]))
        if any(one is not other for one, other in zip(tools, node.tools, strict=True)):
            changes |= {"tools": tools, "examples": None, "checked": False}
        if any(one is not other for one, other in zip(children, node.children, strict=True)):
            changes["children"] = children
        made.append(dataclasses.replace(node, **changes) if changes else node)
    return tuple(made)


def _texts(node: Node, by: _Overriding) -> dict[str, Any]:
    """What of a node has to change for a section to have other texts."""
    texts = by.override.sections.get(node.path)
    if texts is None:
        return {}
    try:
        changes: dict[str, Any] = {"body": _OtherBody(node, lambda: node.section.with_template_text(texts.body))}
        if texts.summary is not None:
            node.section.with_summary(texts.summary)
            changes["summary"] = partial(_summary, node.section, texts.summary)
    except Exception as error:  # foreign code: sections of plugins
        reason = f"cannot be given another text, {type(error).__name__}: {error}"
        by.misfits.append(Misfit("wrong", "section", "/".join(node.path), reason))
        return {}
    return changes


def _task_examples(node: Node, by: _Overriding) -> dict[str, Any]:
    """What of a node has to change for a section to have other task examples."""
    section, plan = node.section, by.template.plan
    overrides = [one for one in by.override.task_example_overrides if one.path == node.path]
    if not overrides or not isinstance(section, TaskExamplesSection):
        return {}
    try:
        examples = overridden_task_examples(section, overrides, by.template)
        twin = section.with_examples(examples)
        twin.check_steps(plan.tools, node.path, complete=plan.knows_all_tools, types=False)
        twin.check_outcomes(by.template.answer, node.path)
    except (WinkError, ValueError) as error:
        by.misfits.append(Misfit("wrong", "section", "/".join(node.path), getattr(error, "message", "") or str(error)))
        return {}
    return {"body": _OtherBody(node, lambda: section.with_examples(examples))}


class _OtherBody(Body):
    """The body of a section with another text; made anew when the section has changed, since its text is its own affair."""

    __slots__ = ("_made", "_make", "_section")

    def __init__(self, node: Node, make: "Callable[[], Section[Any]]") -> None:
        self._section, self._make, self._path = node.section, make, node.path
        self._made = self._other()

    def __call__(self, params: Any, known: "Mapping[str, Any]") -> str:
        made, now = self._made, vars(self._section)
        # Not `==`: what a section holds may be anything, and compare in its own ways.
        if made[0].keys() != now.keys() or any(now[name] is not value for name, value in made[0].items()):
            self._made = made = self._other()
        return made[1](params, known)

    def _other(self) -> tuple[dict[str, Any], Body]:
        return dict(vars(self._section)), Body(self._make(), self._path)


def _summary(section: Section[Any], text: str, params: Any) -> str:
    return section.with_summary(text).render_summary(params)


def _tool(node: Node, by: _Overriding, tool: Tool[Any, Any]) -> Tool[Any, Any]:
    told = by.override.tool_overrides.get(tool.name)
    known = [one for one in by.descriptor.tools_named(tool.name) if one.path == node.path]
    if told is None or not known or known[0].contract_hash != told.expected_contract_hash:
        return tool
    hashes = known[0].examples
    if any(
        one.index is not None and hashes[one.index : one.index + 1] != (one.expected_hash,) for one in told.examples
    ):
        # Of two tools that exclude each other, this is the one whose examples are not meant.
        told = dataclasses.replace(told, examples=())
    try:
        return _told(tool, told)
    except (WinkError, ValueError) as error:
        by.misfits.append(Misfit("wrong", "tool", tool.name, getattr(error, "message", "") or str(error)))
    return tool


def _told(tool: Tool[Any, Any], told: ToolOverride) -> Tool[Any, Any]:
    """The tool as an override describes it: the same handler and types, so that a call of it is the same call."""
    made = tool.replace(
        description=tool.description if told.description is None else told.description,
        param_descriptions={**tool.param_descriptions, **told.param_descriptions},
        examples=overridden_tool_examples(tool, told.examples),
    )
    if told.examples:
        made.check()
    return made
