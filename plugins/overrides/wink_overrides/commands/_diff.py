"""What a tag changes in a prompt, part by part, as unified diffs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from difflib import unified_diff
from typing import Any, NamedTuple, TypeVar

from wink.errors import WinkError
from wink.prompt import PromptTemplate, param_descriptions
from wink.prompt.overrides import PromptDescriptor, examples_json
from wink.serde import dump
from wink_overrides import (
    PromptOverride,
    SectionOverride,
    TaskExampleOverride,
    ToolExampleOverride,
    ToolOverride,
    fit,
    present,
)

E = TypeVar("E", ToolExampleOverride, TaskExampleOverride)


class Difference(NamedTuple):
    """One part: what the code says against what the tag says, and why the latter is left out, if it is."""

    part: str
    name: str
    diff: str
    problem: str = ""


def differences(template: PromptTemplate[Any], override: PromptOverride) -> list[Difference]:
    """What `override` changes, and what it would change if it still did fit; nothing for parts that say the same."""
    descriptor = PromptDescriptor.from_prompt(template)
    misfits = {(one.part, one.name): one.reason for one in fit(override, descriptor)[1]}
    found: list[Difference] = []
    now = present(template).sections
    for path, section in override.sections.items():
        name = "/".join(path)
        before = now.get(path, SectionOverride("", ""))
        after = _section(section.body, before.summary if section.summary is None else section.summary)
        found.append(_difference("section", name, _section(before.body, before.summary), after, override.tag, misfits))
    for name, words in override.tool_overrides.items():
        found.append(_difference("tool", name, *_tool(template, words), override.tag, misfits))
    for path in dict.fromkeys(one.path for one in override.task_example_overrides):
        name = "/".join(path)
        if path in descriptor.example_sections:
            before, after = _task_examples(template, override, path)
            found.append(_difference("section", name, before, after, override.tag, misfits))
    for (part, name), reason in misfits.items():
        found.append(Difference(part, name, "", reason))
    return [one for one in found if one.diff or one.problem]


def _difference(part: str, name: str, before: str, after: str, tag: str, misfits: dict[Any, str]) -> Difference:
    lines = unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"code/{part}/{name}", f"{tag}/{part}/{name}"
    )
    return Difference(part, name, "".join(_whole_lines(lines)), misfits.pop((part, name), ""))


def _whole_lines(lines: Iterable[str]) -> Iterable[str]:
    return (line if line.endswith("\n") else f"{line}\n" for line in lines)


def _section(body: str, summary: str | None) -> str:
    return body if summary is None else f"summary: {summary}\n\n{body}"


def _tool(template: PromptTemplate[Any], words: ToolOverride) -> tuple[str, str]:
    """What the code, and what the code with the override says of a tool, line by line."""
    tool = next((tool for node in template.plan.nodes for tool in node.tools if tool.name == words.name), None)
    if tool is None:
        return "", _lines(words.description or "", words.param_descriptions, [])
    params = param_descriptions(tool)
    examples: list[Any] = [
        {"description": one.description, "input": dump(one.input), "output": dump(one.output)} for one in tool.examples
    ]
    before = _lines(tool.description, params, examples)
    told = _changed(
        examples,
        words.examples,
        lambda one: {"description": one.description, "input": one.input, "output": one.output},
    )
    after = _lines(words.description or tool.description, {**params, **words.param_descriptions}, told)
    return before, after


def _task_examples(template: PromptTemplate[Any], override: PromptOverride, path: tuple[str, ...]) -> tuple[str, str]:
    section: Any = next(node.section for node in template.plan.nodes if node.path == path)
    examples = examples_json(section)
    ours = [one for one in override.task_example_overrides if one.path == path]
    told = _changed(examples, ours, lambda one: one.example)
    before, after = (
        "".join(f"example: {_json(one)}\n" for one in side if one is not None) for side in (examples, told)
    )
    return before, after


def _changed(examples: list[Any], overrides: Iterable[E], plain: Callable[[E], Any]) -> list[Any]:
    """The examples with what overrides say; `None` for one that is removed."""
    told = [*examples]
    for one in overrides:
        if one.index is None:
            told.append(plain(one))
        elif one.index < len(examples):
            told[one.index] = plain(one) if one.action == "replace" else None
    return told


def _lines(description: str, params: Any, examples: list[Any]) -> str:
    lines = [f"description: {description}"]
    lines += [f"param {name}: {text}" for name, text in params.items()]
    lines += [f"example: {_json(one)}" for one in examples if one is not None]
    return "\n".join(lines) + "\n"


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, WinkError):
        return repr(value)
