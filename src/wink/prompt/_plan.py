"""What a tree of sections comes to, worked out once for a template and checked on the way."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from wink.errors import DuplicateToolName, PromptValidationError, SectionNotFound
from wink.policies import ToolPolicy
from wink.prompt._body import Body
from wink.prompt._checks import all_of
from wink.prompt._expansion import install_visibility
from wink.prompt._params import refuse_unknown, required_fields
from wink.prompt._section import Section
from wink.prompt.examples import TaskExamplesSection
from wink.tools import Tool

if TYPE_CHECKING:
    from wink.prompt.overrides import PromptDescriptor
    from wink.session import Session

__all__ = ["RESERVED", "Node", "Plan", "distinct", "refuse_reserved_names", "tools_by_name"]

RESERVED: Final = ("open_sections", "read_section")
"""The tools that wink brings to a prompt with summarised sections."""


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
    offered_by: str
    """The plugin that the section, or one around it, comes from: name, distribution and version."""
    conditional: bool
    """Whether this section or one around it decides at each rendering if it takes part."""
    decides: bool = False
    """Whether this section does."""
    summary: Callable[[Any], str] | None = None
    """Writes the summary from the parameters; `None` for a section that cannot be summarised."""
    key: str = ""
    """What the model calls the section: the keys of its path with dots between them, or slashes if that is not clear."""
    children: "tuple[Node, ...]" = ()
    checked: bool = False
    """Whether the tools have been checked in depth, which waits for the first rendering."""
    examples: str | None = None
    """The tools' examples as text, once they have been rendered."""
    required: tuple[str, ...] = ()
    """The fields of the parameters that somebody has to give a value."""
    has_passing_tools: bool = False
    """Whether the section has other tools now than when its template was built, and may have others yet."""
    told: Callable[[Tool[Any, Any]], Tool[Any, Any]] | None = None
    """What overrides make of a tool that comes and goes."""

    @property
    def brings_tools(self) -> bool:
        """Whether the section has tools, or may have some now and then."""
        return bool(self.tools) or self.has_passing_tools

    def now(self) -> "Node":
        """The section with the tools that it has at the moment."""
        tools = self.section.current_tools()
        if tools is None:
            return self
        tools = all_of(Tool, tools, "current_tools", self.path)
        if self.told is not None:
            tools = tuple(map(self.told, tools))
        return replace(self, tools=tools, checked=False, examples=None)

    def below(self) -> "Iterator[Node]":
        """All sections below this one, in order."""
        return _walk(self.children)


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
    names: dict[str, list[Node]]
    """What the model may call each section; several sections may read alike."""
    tools: dict[str, tuple[Tool[Any, Any], ...]]
    """Every tool by its name; several of one name come from sections that exclude each other."""
    knows_all_tools: bool
    """Whether there are no others: no section has tools that come and go."""
    descriptor: "PromptDescriptor | None" = None
    """What of the template can be overridden, once somebody has asked."""
    can_summarise: bool = False
    """Whether any section has a summary."""
    _installed: "WeakSet[Session]" = field(default_factory=lambda: WeakSet[Any]())

    @classmethod
    def of(cls, sections: Sequence[Section[Any]], policies: Sequence[ToolPolicy]) -> "Plan":
        """Lay out `sections`, and raise `PromptValidationError` for what no rendering could make right."""
        seen: dict[int, tuple[str, ...]] = {}
        roots = _nodes(sections, None, tuple(policies), seen)
        nodes = tuple(_walk(roots))
        tools_by_name(node for node in nodes if not node.conditional)
        can_summarise = any(node.summary is not None for node in nodes)
        if can_summarise:
            refuse_reserved_names(nodes)
        tools = dict.fromkeys(RESERVED, ()) if can_summarise else {}
        tools |= _all_tools(nodes)
        knows_all_tools = not any(node.has_passing_tools for node in nodes)
        for node in nodes:
            if isinstance(node.section, TaskExamplesSection):
                node.section.check_steps(tools, node.path, complete=knows_all_tools, types=True)
        governing = {name: tuple(policies) for name in RESERVED} if can_summarise else {}
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
            names=_names(nodes),
            tools=tools,
            knows_all_tools=knows_all_tools,
            can_summarise=can_summarise,
        )

    def install(self, session: "Session") -> None:
        """Let every section prepare `session`, once; a section that raises is asked again at the next rendering."""
        if session in self._installed:
            return
        install_visibility(session)
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
    own = _contributed(ToolPolicy, section.policies, "policies", path)
    decides = section.enablement is not None or type(section).is_enabled is not Section.is_enabled
    around = prompt_policies if parent is None else parent.governing
    return Node(
        section=section,
        path=path,
        body=Body(section, path),
        params_type=params_type,
        default_params=default,
        tools=_contributed(Tool, section.tools, "tools", path),
        policies=own,
        governing=distinct((*own, *around)),
        offered_by=section.offered_by or ("" if parent is None else parent.offered_by),
        conditional=decides or (parent is not None and parent.conditional),
        decides=decides,
        summary=None if section.summary is None else section.render_summary,
        required=() if params_type is None else required_fields(params_type),
        has_passing_tools=type(section).current_tools is not Section.current_tools,
    )


def _contributed(kind: type[Any], give: Callable[[], Any], what: str, path: tuple[str, ...]) -> tuple[Any, ...]:
    """What a section's own method gives; a section without any gives an empty sequence."""
    given = give()
    if given is None:
        raise PromptValidationError(f"{what}() gives None; return a sequence, empty for none", path)
    return all_of(kind, given, f"{what}()", path)


def _all_tools(nodes: Iterable[Node]) -> dict[str, tuple[Tool[Any, Any], ...]]:
    tools: dict[str, tuple[Tool[Any, Any], ...]] = {}
    for node in nodes:
        for tool in node.tools:
            tools[tool.name] = (*tools.get(tool.name, ()), tool)
    return tools


def _names(nodes: Sequence[Node]) -> dict[str, list[Node]]:
    """What sections can be called: their keys with slashes, which no key contains, and with dots, which some do."""
    names = {"/".join(node.path): [node] for node in nodes}
    for node in nodes:
        dotted = names.setdefault(".".join(node.path), [])
        if node not in dotted:
            dotted.append(node)
    for node in nodes:
        dotted = ".".join(node.path)
        node.key = dotted if len(names[dotted]) == 1 else "/".join(node.path)
    return names


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
                raise DuplicateToolName(tool.name, _place(found[tool.name][1]), _place(node), node.path)
            found[tool.name] = (tool, node)
    return found


def refuse_reserved_names(nodes: Iterable[Node]) -> None:
    """Where sections can be summarised, two tools are always wink's own."""
    for node in nodes:
        for tool in node.tools:
            if tool.name in RESERVED:
                wink_itself = "wink itself, for the sections that have a summary"
                raise DuplicateToolName(tool.name, _place(node), wink_itself, node.path)


def _place(node: Node) -> str:
    return f"section {'/'.join(node.path)!r}"
