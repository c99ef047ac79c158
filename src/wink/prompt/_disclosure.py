"""The tools with which a model opens and reads summarised sections."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from wink.dataclass import dataclass, field
from wink.errors import VisibilityExpansionRequired
from wink.prompt._plan import RESERVED, Node, Plan
from wink.prompt._rendered import RenderedPrompt
from wink.prompt._selection import ATTACHED, Part
from wink.prompt._visibility import SectionVisibility
from wink.tools import Attachment, Tool, ToolContext, ToolResult

__all__ = ["Disclosure", "disclosing_tools", "how_to_open"]

_LONGEST: Final = 200
"""Characters that a tool's description may have."""


@dataclass(frozen=True, slots=True)
class OpenSections:
    """What `open_sections` takes."""

    section_keys: tuple[str, ...] = field(
        metadata={"description": "The keys of the sections, as their summaries name them", "min_length": 1}
    )
    reason: str = field(metadata={"description": "What you need them for, in a few words"})


@dataclass(frozen=True, slots=True)
class ReadSection:
    """What `read_section` takes."""

    section_key: str = field(metadata={"description": "The key of the section, as its summary names it"})


@dataclass(frozen=True, slots=True)
class SectionText:
    """The text of a summarised section."""

    section_key: str
    text: str

    def render(self) -> str:
        """The text alone."""
        return self.text


class Disclosure:
    """What a rendering has summarised: enough to find the sections by their keys, and to write out what they hide."""

    __slots__ = ("_parts", "_plan", "_write", "keys")

    keys: tuple[str, ...]
    """The keys of the summarised sections, as the text and the tools name them."""

    def __init__(
        self, plan: Plan, parts: Sequence[Part], write: Callable[[Sequence[Part], Mapping[str, Any]], str]
    ) -> None:
        self._plan, self._parts, self._write = plan, tuple(parts), write
        self.keys = tuple(node.key for node, _, _, shown in parts if shown is SectionVisibility.SUMMARY)

    def path_of(self, key: str) -> tuple[str, ...]:
        """The path of the summarised section that `key` names; raises `LookupError` with why there is none."""
        named = self._plan.names.get(key.strip(), [])
        if not named:
            raise LookupError(f"there is no section {key!r}")
        states = {node.path: shown for node, _, _, shown in self._parts}
        summarised = [node for node in named if states.get(node.path) is SectionVisibility.SUMMARY]
        if len(summarised) == 1 or (summarised and summarised[0].key == key.strip()):
            return summarised[0].path
        if summarised:
            raise LookupError(f"section {key!r} may be {' or '.join(repr(node.key) for node in summarised)}")
        node = named[0]
        if node.path not in states:
            raise LookupError(f"section {key!r} is not available now")
        if states[node.path] is SectionVisibility.FULL:
            raise LookupError(f"section {key!r} is open already, its text is in your instructions")
        paths = (node.path[:depth] for depth in range(1, len(node.path)))
        closed = next(path for path in paths if states[path] is SectionVisibility.SUMMARY)
        around = next(node for node in self._plan.names["/".join(closed)] if node.path == closed)
        raise LookupError(f"section {key!r} is inside {around.key!r}, which must be opened first")

    def paths_of(self, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The paths of several sections by the keys that name them; raises `LookupError` with all that is wrong."""
        paths: dict[str, tuple[str, ...]] = {}
        problems: list[str] = []
        for key in keys:
            try:
                paths[key] = self.path_of(key)
            except LookupError as problem:
                problems.append(str(problem))
        if problems:
            raise LookupError(f"{'; '.join(dict.fromkeys(problems))}; the summarised sections are: {self._listed()}")
        return paths

    def text_of(self, path: tuple[str, ...], context: ToolContext) -> tuple[str, tuple[Attachment, ...]]:
        """All that opening the section would show, its children too, those that have a summary of their own in full."""
        attached: list[Attachment] = []
        below = [
            (node, number, params, SectionVisibility.FULL)
            for node, number, params, _ in self._parts
            if node.path[: len(path)] == path
        ]
        shown = (node for node, _, _, shown in (*self._parts, *below) if shown is SectionVisibility.FULL)
        tools = {*RESERVED, *(tool.name for node in shown for tool in node.tools)}
        known = {"session": context.session, "tools": tools, "resources": context.resources, ATTACHED: attached}
        return self._write(below, known), tuple(attached)

    def _listed(self) -> str:
        return ", ".join(map(repr, self.keys)) or "none"


def how_to_open(node: Node) -> str:
    """The line under a summary that tells the model what it can do about it."""
    if any(below.brings_tools for below in (node, *node.below())):
        return (
            f"(This is a summary. To see the whole section and to use its tools, call `open_sections` with the key "
            f'"{node.key}"; only to read it, call `read_section`.)'
        )
    return (
        f'(This is a summary. To read the whole section, call `read_section` with the key "{node.key}"; to keep it in '
        "your instructions, call `open_sections`.)"
    )


@lru_cache(maxsize=64)
def disclosing_tools(keys: tuple[str, ...]) -> tuple[Tool[Any, Any], ...]:
    """`open_sections` and `read_section`, whose descriptions name `keys`."""
    return (
        Tool[OpenSections, None](
            "open_sections",
            _with_keys("Open sections that are only summarised: their text and tools are there from then on.", keys),
            _open_sections,
            accepts_overrides=False,
            effects="read",
        ),
        Tool[ReadSection, SectionText](
            "read_section",
            _with_keys("Read all of a section that is only summarised, without opening it.", keys),
            _read_section,
            accepts_overrides=False,
            effects="read",
        ),
    )


def _with_keys(description: str, keys: tuple[str, ...]) -> str:
    """The description with the keys in it, as far as there is room."""
    whole = f"{description} Keys: {', '.join(keys)}"
    return whole if len(whole) <= _LONGEST else f"{description} The summaries name their keys."


def _open_sections(params: OpenSections, *, context: ToolContext) -> ToolResult[None]:
    try:
        paths = _disclosure(context).paths_of(params.section_keys)
    except LookupError as error:
        return ToolResult.error(str(error))
    raise VisibilityExpansionRequired(
        dict.fromkeys(paths.values(), SectionVisibility.FULL), params.reason, tuple(paths)
    )


def _read_section(params: ReadSection, *, context: ToolContext) -> ToolResult[SectionText]:
    disclosure, key = _disclosure(context), params.section_key
    try:
        path = disclosure.paths_of([key])[key]
    except LookupError as error:
        return ToolResult.error(str(error))
    text, attached = disclosure.text_of(path, context)
    return ToolResult("", SectionText(key, text), attachments=attached)


def _disclosure(context: ToolContext) -> Disclosure:
    rendered = context.rendered_prompt
    if not isinstance(rendered, RenderedPrompt) or rendered.disclosure is None:
        raise LookupError("no section is summarised")
    return rendered.disclosure
