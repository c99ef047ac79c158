"""Put what a tag says already together with what is added to it."""

from dataclasses import replace
from typing import TypeVar

from wink.prompt.overrides import PromptDescriptor
from wink_overrides._values import PromptOverride, TaskExampleOverride, ToolExampleOverride

E = TypeVar("E", ToolExampleOverride, TaskExampleOverride)

__all__ = ["merged", "with_hashes"]


def merged(before: PromptOverride, after: PromptOverride) -> PromptOverride:
    """What a tag says when `after` is added: section by section, tool by tool, example by example the later one counts."""
    examples = list(before.task_example_overrides)
    for one in after.task_example_overrides:
        if one.index is not None:
            examples = [other for other in examples if (other.path, other.index) != (one.path, one.index)]
        if one not in examples:
            examples.append(one)
    return PromptOverride(
        after.ns,
        after.prompt_key,
        after.tag,
        {**before.sections, **after.sections},
        {**before.tool_overrides, **after.tool_overrides},
        tuple(examples),
    )


def with_hashes(override: PromptOverride, descriptor: PromptDescriptor) -> PromptOverride:
    """`override` with the present hashes where it has none."""
    sections = dict(override.sections)
    for path, one in sections.items():
        known = descriptor.section(path)
        if not one.expected_hash and known is not None:
            sections[path] = replace(one, expected_hash=known.content_hash)
    tools = dict(override.tool_overrides)
    for name, tool in tools.items():
        found = descriptor.tools_named(name)
        if not found:
            continue
        contract = tool.expected_contract_hash or found[0].contract_hash
        examples = tuple(_with_hash(example, found[0].examples) for example in tool.examples)
        tools[name] = replace(tool, expected_contract_hash=contract, examples=examples)
    task_examples: list[TaskExampleOverride] = []
    for one in override.task_example_overrides:
        hashes = tuple(known.content_hash for known in descriptor.task_examples_of(one.path))
        task_examples.append(_with_hash(one, hashes))
    return replace(override, sections=sections, tool_overrides=tools, task_example_overrides=tuple(task_examples))


def _with_hash(override: E, hashes: tuple[str, ...]) -> E:
    if override.index is None or override.expected_hash or override.index >= len(hashes):
        return override
    return replace(override, expected_hash=hashes[override.index])
