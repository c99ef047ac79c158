"""Turn a plan and its parameters into the text and tools of one rendering."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from wink.errors import PromptRenderError, PromptValidationError
from wink.prompt._answer import Answer
from wink.prompt._enablement import Enablement
from wink.prompt._examples import examples_block
from wink.prompt._params import required_fields
from wink.prompt._plan import Node, Plan, distinct, tools_by_name
from wink.prompt._rendered import RenderedPrompt

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["EnabledNode", "enabled_nodes", "render"]

EnabledNode = tuple[Node, str, Any]
"""A section that takes part, its number (`2.1.`), and its parameters."""

_DEEPEST_HEADING: Final = 6
"""Markdown has no heading below this; deeper sections keep their number and share its level."""


def render(
    plan: Plan, *, name: str, answer: Answer, bound: Mapping[type, object], session: "Session | None", check: bool
) -> RenderedPrompt[Any]:
    """Render the sections of `plan` that are enabled now."""
    enabled = enabled_nodes(plan, bound, session)
    by_name = tools_by_name(node for node, _, _ in enabled)
    for node, _, _ in enabled:
        if check and not node.checked:
            _check_tools(node)
    return RenderedPrompt(
        prompt_name=name,
        text="\n\n".join(_section_text(node, number, params, session) for node, number, params in enabled),
        tools=tuple(tool for tool, _ in by_name.values()),
        policies=distinct((*(policy for node, _, _ in enabled for policy in node.policies), *plan.prompt_policies)),
        governing={name: node.governing for name, (_, node) in by_name.items()},
        output_type=answer.type,
        container=answer.container,
        allow_extra_keys=answer.allow_extra_keys,
        output=answer.annotation,
    )


def enabled_nodes(
    plan: Plan, bound: Mapping[type, object], session: "Session | None", *, to_render: bool = True
) -> list[EnabledNode]:
    """The sections that take part, each with its number and parameters.

    Raises `PromptRenderError` for parameters that are missing, all of them at once. Those that only the text needs are
    not missed unless it is `to_render`.
    """
    missing: list[Node] = []
    enabled: list[EnabledNode] = []

    def visit(nodes: tuple[Node, ...], prefix: str) -> None:
        count = 0
        for node in nodes:
            params = _params(node, bound)
            lacks_params = params is None and node.params_type is not None
            enablement = node.section.enablement
            if enablement is not None:
                if lacks_params and enablement.needs_params:
                    missing.append(node)
                    continue
                if not _asked(node, enablement, params, session):
                    continue
            if lacks_params and to_render:
                missing.append(node)
            count += 1
            number = f"{prefix}{count}."
            enabled.append((node, number, params))
            visit(node.children, number)

    visit(plan.roots, "")
    if missing:
        raise _missing_params(missing)
    return enabled


def _params(node: Node, bound: Mapping[type, object]) -> Any:
    """What a section is rendered with: what was bound, else its default, else a dataclass that needs no arguments."""
    params_type = node.params_type
    if params_type is None:
        return None
    found = bound.get(params_type, node.default_params)
    if found is None and not required_fields(params_type):
        try:
            return params_type()
        except Exception as error:  # foreign code: `__post_init__` and default factories
            raise PromptRenderError(
                _raised("building its parameters", error), node.path, dataclass=params_type
            ) from error
    return found


def _asked(node: Node, enablement: Enablement, params: Any, session: "Session | None") -> bool:
    try:
        return enablement(params, session)
    except Exception as error:  # foreign code
        raise PromptRenderError(_raised("enabled", error), node.path, dataclass=node.params_type) from error


def _section_text(node: Node, number: str, params: Any, session: "Session | None") -> str:
    try:
        body = node.body(params, session)
    except Exception as error:  # foreign code: sections of plugins, `__str__` of parameters
        raise PromptRenderError(_raised("rendering", error), node.path, dataclass=node.params_type) from error
    if node.examples is None:
        node.examples = _examples_text(node)
    heading = f"{'#' * min(len(node.path) + 1, _DEEPEST_HEADING)} {number} {node.section.title}"
    return "\n\n".join(part for part in (heading, body, node.examples) if part)


def _examples_text(node: Node) -> str:
    """The tools' examples; they have been checked, so what fails now is a `render` of the author's."""
    try:
        return examples_block(node.tools)
    except Exception as error:  # foreign code
        raise PromptRenderError(_raised("rendering the examples of its tools", error), node.path) from error


def _check_tools(node: Node) -> None:
    """Check schemas and examples: dear enough to wait for a rendering, and the same at every one."""
    for tool in node.tools:
        try:
            tool.check()
        except PromptValidationError as error:
            raise PromptValidationError(error.message, node.path, tool.name, error.dataclass) from error
    node.checked = True


def _missing_params(missing: list[Node]) -> PromptRenderError:
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


def _raised(doing: str, error: Exception) -> str:
    return f"{doing} raised {type(error).__name__}: {error}"
