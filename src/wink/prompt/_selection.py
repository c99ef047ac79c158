"""Which sections take part in a rendering, how much of each is shown, and with which parameters."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from wink.errors import PromptRenderError, PromptValidationError
from wink.prompt._expansion import VisibilityOverrides
from wink.prompt._params import required_fields
from wink.prompt._plan import Node, Plan
from wink.prompt._visibility import SectionVisibility

if TYPE_CHECKING:
    from wink.session import Session

__all__ = [
    "APART",
    "ATTACHED",
    "BARE",
    "Part",
    "chosen_visibilities",
    "is_enabled",
    "missing_params",
    "needs_params",
    "params_of",
    "raised",
    "selected",
]

FULL, SUMMARY = SectionVisibility.FULL, SectionVisibility.SUMMARY

ATTACHED: Final = "attached"
"""What is known of a rendering: the list that attachments are to go into."""
APART: Final = "apart"
"""Whether resources that are text stay out of the text, and go there as well."""
BARE: Final = "bare"
"""The path of a section whose heading is left out."""

Part = tuple[Node, str, Any, SectionVisibility | None]
"""A section that takes part, its number (`2.1.`), its parameters, and how much of it is shown.

That is `None` for sections below one that is summarised: nothing of them is shown, but their policies learn of calls, and
what they need must be there when somebody opens them.
"""


def selected(
    plan: Plan,
    bound: Mapping[type, object],
    session: "Session | None",
    visibilities: Mapping[tuple[str, ...], SectionVisibility],
    *,
    to_render: bool = True,
    partial: bool = False,
) -> list[Part]:
    """The sections that take part, in order; `visibilities` win over what sections decide themselves.

    Raises `PromptRenderError` for parameters that are missing, all of them at once. Those that only the text needs are
    not missed unless it is `to_render`. With `partial`, sections that lack parameters are left out, if they and those below
    bring neither tools nor policies.
    """
    missing: list[Node] = []
    parts: list[Part] = []

    def visit(nodes: tuple[Node, ...], prefix: str, hidden: bool) -> None:
        count = 0
        for node in nodes:
            params = params_of(node, bound)
            lacks_params = params is None and node.params_type is not None
            if node.decides:
                if lacks_params and needs_params(node):
                    if not (partial and _is_only_text(node)):
                        missing.append(node)
                    continue
                if not is_enabled(node, params, session):
                    continue
            cannot_go_on = lacks_params and (to_render or _asks_for_params(node))
            if cannot_go_on and partial and _is_only_text(node):
                continue
            if cannot_go_on:
                missing.append(node)
            count += 1
            number = f"{prefix}{count}."
            if hidden:
                shown = None
            elif node.summary is None or cannot_go_on:
                shown = FULL
            else:
                shown = visibilities.get(node.path) or _visibility(node, params, session)
            if node.has_passing_tools and shown is FULL and not cannot_go_on:
                node = _now(node)
            parts.append((node, number, params, shown))
            if node.children:
                visit(node.children, number, shown is not FULL)

    visit(plan.roots, "", False)
    if missing:
        raise missing_params(missing)
    return parts


def chosen_visibilities(
    plan: Plan, session: "Session | None", given: Mapping[tuple[str, ...], SectionVisibility] | None = None
) -> dict[tuple[str, ...], SectionVisibility]:
    """What the session and the caller say about sections that can be summarised.

    The session's state may speak of other prompts' sections, and is only looked at; what the caller gives must be right.
    """
    chosen: dict[tuple[str, ...], SectionVisibility] = {}
    if plan.can_summarise and session is not None:
        overrides = session[VisibilityOverrides].latest()
        if overrides is not None:
            chosen = overrides.by_path()
    for path, visibility in (given or {}).items():
        node = next((node for node in plan.nodes if node.path == tuple(path)), None)
        if node is None:
            raise PromptValidationError(f"no section is at {path!r}; a path is a tuple of keys, from the root down")
        if not isinstance(cast("object", visibility), SectionVisibility):
            raise PromptValidationError(f"the visibility must be a SectionVisibility, not {visibility!r}", node.path)
        if visibility is SUMMARY and node.summary is None:
            raise PromptValidationError("the section has no summary to show", node.path)
        chosen[node.path] = visibility
    return chosen


def raised(doing: str, error: Exception) -> str:
    """The message about foreign code that raised while we were `doing` something."""
    return f"{doing} raised {type(error).__name__}: {error}"


def params_of(node: Node, bound: Mapping[type, object]) -> Any:
    """What a section is rendered with: what was bound, else its default, else a dataclass that needs no arguments."""
    params_type = node.params_type
    if params_type is None:
        return None
    found = bound.get(params_type, node.default_params)
    if found is None and not node.required:
        try:
            return params_type()
        except Exception as error:  # foreign code: `__post_init__` and default factories
            raise PromptRenderError(
                raised("building its parameters", error), node.path, dataclass=params_type
            ) from error
    return found


def is_enabled(node: Node, params: Any, session: "Session | None") -> bool:
    """Whether a section takes part now."""
    try:
        return bool(node.section.is_enabled(params, session=session))
    except Exception as error:  # foreign code
        raise PromptRenderError(raised("enabled", error), node.path, dataclass=node.params_type) from error


def needs_params(node: Node) -> bool:
    """Whether the section can only decide with parameters if it takes part."""
    return node.section.enablement is not None and node.section.enablement.needs_params


def _is_only_text(node: Node) -> bool:
    """Whether neither a section nor any below brings tools or policies."""
    return not any(one.brings_tools or one.policies for one in (node, *node.below()))


def _now(node: Node) -> Node:
    try:
        return node.now()
    except PromptValidationError:
        raise
    except Exception as error:  # foreign code
        raise PromptRenderError(raised("listing its tools", error), node.path) from error


def _asks_for_params(node: Node) -> bool:
    return node.section.choice is not None and node.section.choice.needs_params


def _visibility(node: Node, params: Any, session: "Session | None") -> SectionVisibility:
    choice = node.section.choice
    if choice is None:
        return FULL
    if choice.fixed is not None:
        return choice.fixed
    try:
        return choice(params, session)
    except Exception as error:  # foreign code
        raise PromptRenderError(raised("visibility", error), node.path, dataclass=node.params_type) from error


def missing_params(missing: list[Node]) -> PromptRenderError:
    """One error that names every dataclass that is missing, what it needs, and who wants it."""
    wanting: dict[type[Any], list[str]] = {}
    for node in missing:
        if node.params_type is not None:
            wanting.setdefault(node.params_type, []).append(repr("/".join(node.path)))
    lines = [
        f"{cls.__qualname__} ({', '.join(required_fields(cls))}) for {', '.join(paths)}"
        for cls, paths in wanting.items()
    ]
    return PromptRenderError(
        f"parameters are missing: {'; '.join(lines)}; pass them to bind()",
        missing[0].path,
        dataclass=missing[0].params_type,
    )
