"""Sort out which parts of an override fit the code as it is now, and say of the others why they do not."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeVar

from wink.dataclass import dataclass, replace
from wink.errors import PromptValidationError
from wink.prompt.overrides import PromptDescriptor, SectionDescriptor, Text, ToolDescriptor, content_hash
from wink.tools import checked_description
from wink_overrides._values import (
    PromptOverride,
    SectionOverride,
    TaskExampleOverride,
    ToolExampleOverride,
    ToolOverride,
)

__all__ = ["Misfit", "fit"]

E = TypeVar("E", ToolExampleOverride, TaskExampleOverride)

Kind = Literal["stale", "unedited", "unknown", "wrong"]

_CHANGED: Final = "was written for another text than the code has now"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A part of an override that cannot be used.

    * `stale`: the code has changed since it was written.
    * `unedited`: the code has changed too, but the part only repeats what the code said before.
    * `unknown`: the template has no such part, or the part accepts no overrides.
    * `wrong`: the part cannot be used with any code, or asks for what cannot be overridden.
    """

    kind: Kind
    part: Literal["prompt", "section", "tool"]
    name: str
    """The section's path, such as `outer/inner`, or the tool's name."""
    reason: str

    def __str__(self) -> str:
        reason = printable(self.reason)
        return f"{self.part} {self.name!r}: {reason}" if self.name else reason


def printable(text: str) -> str:
    r"""`text` on one line, with what a terminal would obey written out: files that people edit can say anything.

    >>> print(printable("no\x1b[2J\nkey"))
    no\x1b[2J key
    """
    line = " ".join(text.split())
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)


def fit(override: PromptOverride, descriptor: PromptDescriptor) -> tuple[PromptOverride, tuple[Misfit, ...]]:
    """What of `override` can be used with the template that `descriptor` describes, and what cannot."""
    if (override.ns, override.prompt_key) != (descriptor.ns, descriptor.key):
        reason = f"is for {override.ns}:{override.prompt_key}, not for {descriptor.ns}:{descriptor.key}"
        return PromptOverride(descriptor.ns, descriptor.key, override.tag), (Misfit("wrong", "prompt", "", reason),)
    misfits: list[Misfit] = []
    sections: dict[tuple[str, ...], SectionOverride] = {}
    tools: dict[str, ToolOverride] = {}
    for path, section in override.sections.items():
        misfit = _of_section(path, section, descriptor)
        if misfit is None:
            sections[path] = section
        else:
            misfits.append(misfit)
    for name, tool in override.tool_overrides.items():
        misfit = _of_tool(name, tool, descriptor)
        if misfit is not None:
            misfits.append(misfit)
            continue
        hashes = _matching(tool, descriptor)[0].examples
        usable, problems = _usable(tool.examples, hashes, "tool", name)
        tools[name] = tool if usable == tool.examples else replace(tool, examples=usable)
        misfits += problems
    examples: list[TaskExampleOverride] = []
    for path in dict.fromkeys(one.path for one in override.task_example_overrides):
        ours = [one for one in override.task_example_overrides if one.path == path]
        if path not in descriptor.example_sections:
            misfits.append(Misfit("unknown", "section", "/".join(path), _no_examples(descriptor)))
            continue
        hashes = tuple(one.content_hash for one in descriptor.task_examples_of(path))
        usable, problems = _usable(ours, hashes, "section", "/".join(path))
        examples += usable
        misfits += problems
    kept = PromptOverride(override.ns, override.prompt_key, override.tag, sections, tools, tuple(examples))
    return kept, tuple(misfits)


def _of_section(path: tuple[str, ...], override: SectionOverride, descriptor: PromptDescriptor) -> Misfit | None:
    name = "/".join(path)
    section = descriptor.section(path)
    if section is None:
        known = ", ".join("/".join(one.path) for one in descriptor.sections)
        return Misfit(
            "unknown", "section", name, f"accepts no overrides, or is not there; {known or 'none'} can be overridden"
        )
    if override.expected_hash != section.content_hash:
        if content_hash(override.body, override.summary) == override.expected_hash:
            return Misfit("unedited", "section", name, f"{_CHANGED}, and repeats it; seed it again")
        return Misfit("stale", "section", name, f"{_CHANGED}; look at both with `wink prompts diff`, and edit it anew")
    problem = _of_text(override.body, section, name)
    if problem is None and override.summary is not None:
        if not section.has_summary:
            problem = "has no summary in the code that could be replaced; leave it out"
        elif not override.summary.strip():
            problem = "has an empty summary; say in a line what the section is about, or leave it out"
        else:
            problem = _of_text(override.summary, section, name)
    return None if problem is None else Misfit("wrong", "section", name, problem)


def _of_text(source: str, section: SectionDescriptor, name: str) -> str | None:
    """Why a text cannot be a template of this section."""
    try:
        text = Text(source, (name,))
    except PromptValidationError as error:
        return error.message
    unknown = sorted(text.placeholders.difference(section.params))
    if not unknown:
        return None
    written = ", ".join(f"${one}" for one in unknown)
    known = f"it has {', '.join(f'${one}' for one in section.params)}" if section.params else "it has none"
    return f"has no parameter for {written}; {known}, and '$$' is a dollar sign"


def _matching(override: ToolOverride, descriptor: PromptDescriptor) -> list[ToolDescriptor]:
    return [
        tool for tool in descriptor.tools_named(override.name) if tool.contract_hash == override.expected_contract_hash
    ]


def _of_tool(name: str, override: ToolOverride, descriptor: PromptDescriptor) -> Misfit | None:
    if not descriptor.tools_named(name):
        known = ", ".join(dict.fromkeys(tool.name for tool in descriptor.tools))
        return Misfit(
            "unknown", "tool", name, f"accepts no overrides, or is not there; {known or 'none'} can be overridden"
        )
    matching = _matching(override, descriptor)
    if not matching:
        return Misfit("stale", "tool", name, "was written for another description or schema than the code has now")
    try:
        if override.description is not None:
            checked_description(name, override.description)
    except PromptValidationError as error:
        return Misfit("wrong", "tool", name, error.message)
    for param, text in override.param_descriptions.items():
        if param not in matching[0].params:
            known = ", ".join(matching[0].params) or "none"
            return Misfit("wrong", "tool", name, f"has no parameter {param!r} to describe; it has {known}")
        if not text.strip():
            return Misfit("wrong", "tool", name, f"has an empty description of {param!r}; leave it out")
    return None


def _usable(
    overrides: Sequence[E], hashes: tuple[str, ...], part: Literal["section", "tool"], name: str
) -> tuple[tuple[E, ...], list[Misfit]]:
    """Which of the overrides of some examples fit these examples, given by their hashes."""
    usable: list[E] = []
    misfits: list[Misfit] = []
    taken: set[int] = set()
    for one in overrides:
        problem = next(_of_example(one, hashes, taken), None)
        if problem is None:
            usable.append(one)
        else:
            misfits.append(Misfit(problem[0], part, name, problem[1]))
        if one.index is not None:
            taken.add(one.index)
    return tuple(usable), misfits


def _of_example(
    one: ToolExampleOverride | TaskExampleOverride, hashes: tuple[str, ...], taken: set[int]
) -> Iterator[tuple[Literal["stale", "wrong"], str]]:
    if one.index is None:
        return
    if one.index in taken:
        yield "wrong", f"example {one.index} is overridden twice; keep one"
    elif one.index >= len(hashes):
        yield "stale", f"there is no example {one.index}; the code has {len(hashes)}"
    elif hashes[one.index] != one.expected_hash:
        yield "stale", f"example {one.index} is another one in the code now"


def _no_examples(descriptor: PromptDescriptor) -> str:
    known = ", ".join("/".join(path) for path in descriptor.example_sections)
    return f"has no task examples that accept overrides; {known or 'none'} has"
