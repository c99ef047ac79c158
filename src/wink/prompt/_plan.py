"""What a tree of sections comes to, worked out once for a template and checked on the way."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from wink.errors import DuplicateToolName, PromptValidationError, SectionNotFound
from wink.policies import ToolPolicy
from wink.prompt._body import Body
from wink.prompt._params import refuse_unknown
from wink.prompt._section import Section
from wink.tools import Tool

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["Node", "Plan", "distinct"]


@dataclass(slots=True, eq=False)
class Node:
    """A section in its place."""

    section: Section[Any]
    path: tuple[str, ...]
    body: Body
    params_type: type[Any] | None
    default_params: Any
    tools: tuple[Tool[Any, Any], ...]
    policies: tuple[ToolPolicy, ...]
    governing: tuple[ToolPolicy, ...]
    """All policies of the section's tools: its own, those of the sections around it outwards, then the prompt's."""
    conditional: bool
    """Whether this section or one around it decides at each rendering if it takes part."""
    children: "tuple[Node, ...]" = ()
    checked: bool = False
    """Whether the tools have been checked in depth, which waits for the first rendering."""
    examples: str | None = None
    """The tools' examples as text, once they have been rendered."""


@dataclass(slots=True, eq=False)
class Plan:
    """A template's sections in order, and what can be known of them before any rendering."""

    roots: tuple[Node, ...]
    nodes: tuple[Node, ...]
    prompt_policies: tuple[ToolPolicy, ...]
    """Those that were declared on the template itself."""
    policies: tuple[ToolPolicy, ...]
    """Those of all sections, then the template's, each once."""
    governing: dict[str, tuple[ToolPolicy, ...]]
    params_types: frozenset[type[Any]]
    _installed: "WeakSet[Session]" = field(default_factory=lambda: WeakSet[Any]())

    @classmethod
    def of(cls, sections: Sequence[Section[Any]], policies: Sequence[ToolPolicy]) -> "Plan":
        """Lay out `sections`, and raise `PromptValidationError` for what no rendering could make right."""
        seen: dict[int, tuple[str, ...]] = {}
        roots = _nodes(sections, None, tuple(policies), seen)
        nodes = tuple(_walk(roots))
        tools_by_name(node for node in nodes if not node.conditional)
        governing: dict[str, tuple[ToolPolicy, ...]] = {}
        for node in nodes:
            for tool in node.tools:
                governing[tool.name] = distinct((*governing.get(tool.name, ()), *node.governing))
        return cls(
            roots=roots,
            nodes=nodes,
            prompt_policies=tuple(policies),
            policies=distinct((*(policy for node in nodes for policy in node.policies), *policies)),
            governing=governing,
            params_types=frozenset(node.params_type for node in nodes if node.params_type is not None),
        )

    def install(self, session: "Session") -> None:
        """Let every section prepare `session`, once; a section that raises is asked again at the next rendering."""
        if session in self._installed:
            return
        for node in self.nodes:
            node.section.install_once(session)
        self._installed.add(session)

    def find(self, wanted: type[Section[Any]] | str | tuple[str, ...]) -> Section[Any]:
        """The one section of a type, with a key, or at a path; raises `SectionNotFound` for none and for several."""
        if isinstance(wanted, type):
            found = [node for node in self.nodes if isinstance(node.section, wanted)]
        elif isinstance(wanted, str):
            found = [node for node in self.nodes if node.section.key == wanted]
        else:
            found = [node for node in self.nodes if node.path == tuple(wanted)]
        if len(found) != 1:
            raise SectionNotFound(wanted, [node.path for node in found])
        return found[0].section


def distinct(policies: Iterable[ToolPolicy]) -> tuple[ToolPolicy, ...]:
    """Each policy once, where it came first; a policy may be declared in several places and is asked once a call."""
    return tuple({id(policy): policy for policy in reversed(tuple(policies))}.values())[::-1]


def _nodes(
    sections: Sequence[Section[Any]],
    parent: Node | None,
    prompt_policies: tuple[ToolPolicy, ...],
    seen: dict[int, tuple[str, ...]],
) -> tuple[Node, ...]:
    around = () if parent is None else parent.path
    nodes: dict[str, Node] = {}
    for section in sections:
        path = (*around, section.key)
        if id(section) in seen:
            raise PromptValidationError(
                f"the same section is at {'/'.join(seen[id(section)])!r} already; use clone() for another one", path
            )
        seen[id(section)] = path
        if section.key in nodes:
            raise PromptValidationError(
                f"{nodes[section.key].section.title!r} and {section.title!r} have the same key; pass another key=", path
            )
        nodes[section.key] = node = _node(section, path, parent, prompt_policies)
        node.children = _nodes(section.children, node, prompt_policies, seen)
    return tuple(nodes.values())


def _node(
    section: Section[Any], path: tuple[str, ...], parent: Node | None, prompt_policies: tuple[ToolPolicy, ...]
) -> Node:
    params_type, default = section.params_type, section.default_params
    if parent is not None and params_type in (None, parent.params_type):
        params_type = parent.params_type
        default = parent.default_params if default is None else default
    if params_type is None and section.enablement is not None and section.enablement.needs_params:
        raise PromptValidationError("enabled asks for parameters, but the section has none", path)
    if params_type is None and section.choice is not None and section.choice.needs_params:
        raise PromptValidationError("visibility asks for parameters, but the section has none", path)
    refuse_unknown(section.placeholders() | section.summary_placeholders(), params_type, path)
    own = tuple(section.policies())
    around = prompt_policies if parent is None else parent.governing
    return Node(
        section=section,
        path=path,
        body=Body(section, path),
        params_type=params_type,
        default_params=default,
        tools=tuple(section.tools()),
        policies=own,
        governing=distinct((*own, *around)),
        conditional=section.enablement is not None or (parent is not None and parent.conditional),
    )


def _walk(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _walk(node.children)


def tools_by_name(nodes: Iterable[Node]) -> dict[str, tuple[Tool[Any, Any], Node]]:
    """The tools of `nodes` by name, with the section that brings each; raise `DuplicateToolName` when two are equal."""
    found: dict[str, tuple[Tool[Any, Any], Node]] = {}
    for node in nodes:
        for tool in node.tools:
            if tool.name in found:
                raise DuplicateToolName(tool.name, _place(found[tool.name][1]), _place(node))
            found[tool.name] = (tool, node)
    return found


def _place(node: Node) -> str:
    return f"section {'/'.join(node.path)!r}"
