"""What overrides there are of each part of a prompt, and whether they still fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wink.dataclass import dataclass, field
from wink.errors import PromptOverrideError
from wink.prompt import PromptTemplate
from wink.prompt.overrides import PromptDescriptor
from wink_overrides import LocalPromptOverridesStore, PromptOverride, ToolOverride, fit, present


@dataclass(frozen=True)
class Part:
    """A section or a tool, and what each tag says of it: `edited`, `same`, `stale`, `unknown` or `wrong`."""

    kind: str
    name: str
    number: str
    title: str
    hash: str
    states: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Stored:
    """What is stored for one template: its parts, the tags, and the tags whose files are damaged with the reason."""

    template: PromptTemplate[Any]
    store: LocalPromptOverridesStore
    parts: tuple[Part, ...]
    tags: tuple[str, ...]
    damaged: dict[str, str]
    others: dict[str, list[str]]
    """Tags that are kept for templates of other programs, by `namespace:key`."""

    @property
    def is_fine(self) -> bool:
        """Whether everything that is stored can be used."""
        states = {state for part in self.parts for state in part.states.values()}
        return not self.damaged and states <= {"edited", "same"}


def stored_parts(template: PromptTemplate[Any], store: LocalPromptOverridesStore) -> Stored:
    """Look through all tags of a template."""
    descriptor = PromptDescriptor.from_prompt(template)
    titles = {node.path: node.section.title for node in template.plan.nodes}
    parts: dict[tuple[str, str], Part] = {}
    for section in descriptor.sections:
        name = "/".join(section.path)
        parts["section", name] = Part("section", name, section.number, titles[section.path], section.content_hash)
    for tool in descriptor.tools:
        parts["tool", tool.name] = Part("tool", tool.name, "", "", tool.contract_hash)
    tags = store.tags(ns=template.ns, prompt_key=template.key)
    damaged: dict[str, str] = {}
    for tag in tags:
        try:
            override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
        except PromptOverrideError as error:
            damaged[tag] = str(error)
            continue
        if override is None:  # gone since we listed it
            continue
        for kind, name, state in _states(template, descriptor, override):
            part = parts.setdefault((kind, name), Part(kind, name, "", "", ""))
            part.states[tag] = state
    others: dict[str, list[str]] = {}
    for ns, key, tag in store.stored():
        if (ns, key) != (template.ns, template.key):
            others.setdefault(f"{ns}:{key}", []).append(tag)
    return Stored(template, store, tuple(parts.values()), tags, damaged, others)


def _states(
    template: PromptTemplate[Any], descriptor: PromptDescriptor, override: PromptOverride
) -> Iterator[tuple[str, str, str]]:
    kept, misfits = fit(override, descriptor)
    now = present(template)
    wrong = {(one.part, one.name): "stale" if one.kind == "unedited" else one.kind for one in misfits}
    for path, section in override.sections.items():
        name = "/".join(path)
        state = wrong.pop(("section", name), None)
        yield "section", name, state or ("same" if now.sections[path] == section else "edited")
    for name, words in override.tool_overrides.items():
        state = wrong.pop(("tool", name), None)
        says_same = words == kept.tool_overrides.get(name) and _repeats(words, now.tool_overrides.get(name))
        yield "tool", name, state or ("same" if says_same else "edited")
    for name in dict.fromkeys("/".join(one.path) for one in override.task_example_overrides):
        yield "section", name, wrong.pop(("section", name), "edited")
    for (part, name), state in wrong.items():
        yield part, name, state


def _repeats(words: ToolOverride, now: ToolOverride | None) -> bool:
    """Whether an override says nothing of a tool that the code does not."""
    return (
        now is not None
        and not words.examples
        and words.description in (None, now.description)
        and words.param_descriptions.items() <= now.param_descriptions.items()
    )
