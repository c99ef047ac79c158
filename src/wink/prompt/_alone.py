"""One section by itself, for a person who asks for it by name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wink.dataclass import dataclass, field
from wink.errors import PromptRenderError, SectionNotFound
from wink.prompt._plan import Node, Plan
from wink.prompt._render import text_of
from wink.prompt._selection import APART, ATTACHED, BARE, is_enabled, missing_params, needs_params, params_of, selected
from wink.prompt._visibility import SectionVisibility
from wink.tools import Attachment

if TYPE_CHECKING:
    from wink.prompt._resources import PromptResources
    from wink.session import Session

__all__ = ["RenderedSection", "SectionOutline", "outlines", "render_alone"]


@dataclass(frozen=True, slots=True)
class SectionOutline:
    """A section that can be rendered by itself."""

    name: str
    """Its keys from the root section down with dots between them, or slashes where that is not clear."""
    path: tuple[str, ...]
    title: str
    summary: str | None
    params: Mapping[type[Any], Any] = field(default_factory=dict[type[Any], Any])
    """The dataclasses that it and the sections below take, each with what is used when it is given none, or `None`."""


@dataclass(frozen=True, slots=True)
class RenderedSection:
    """The text of a section without its heading, with all that is below it, and what they attach."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    """Resources that are text too: the text only names them."""


def outlines(plan: Plan, bound: Mapping[type, object], session: "Session | None") -> tuple[SectionOutline, ...]:
    """The sections that are enabled, in their order; those too whose parameters are missing."""
    found: list[SectionOutline] = []

    def visit(nodes: tuple[Node, ...]) -> dict[type[Any], Any]:
        taken: dict[type[Any], Any] = {}
        for node in nodes:
            params = params_of(node, bound)
            lacks_params = params is None and node.params_type is not None
            decides = node.decides and not (lacks_params and needs_params(node))
            if decides and not is_enabled(node, params, session):
                continue
            place = len(found)
            below = visit(node.children)
            mine = below if node.params_type is None else {node.params_type: params, **below}
            found.insert(place, SectionOutline(node.key, node.path, node.section.title, node.section.summary, mine))
            taken |= mine
        return taken

    visit(plan.roots)
    return tuple(found)


def render_alone(
    plan: Plan,
    path: tuple[str, ...],
    bound: Mapping[type, object],
    session: "Session | None",
    resources: "PromptResources",
) -> RenderedSection:
    """The section at `path`, whole, whatever is summarised.

    Raises `SectionNotFound`, and `PromptRenderError` for one that is not enabled or lacks parameters.
    """
    nodes = [node for node in plan.nodes if node.path[: len(path)] == path]
    if not path or not nodes:
        raise SectionNotFound(path, [])
    whole = dict.fromkeys((node.path for node in plan.nodes), SectionVisibility.FULL)
    parts = selected(plan, bound, session, whole, partial=True)
    mine = [part for part in parts if part[0].path[: len(path)] == path]
    if not mine:
        lacking = [node for node in nodes if node.params_type is not None and params_of(node, bound) is None]
        raise missing_params(lacking) if lacking else PromptRenderError("the section is not enabled now", path)
    attached: list[Attachment] = []
    tools = {tool.name for node, *_ in parts for tool in node.tools}
    known = {"session": session, "tools": tools, "resources": resources, ATTACHED: attached, APART: True, BARE: path}
    return RenderedSection(text_of(mine, known), tuple(attached))
