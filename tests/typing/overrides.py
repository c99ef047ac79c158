"""What checkers know of overrides; checked, never run."""

from collections.abc import Mapping
from typing import Any, assert_type

from wink.prompt import (
    LocalPromptOverridesStore,
    MarkdownSection,
    Prompt,
    PromptDescriptor,
    PromptOverride,
    PromptOverridesStore,
    PromptTemplate,
    SectionOverride,
    ToolOverride,
)

template = PromptTemplate[Any]("demo", "typed", sections=[MarkdownSection("Task", "Do it.")])
store = LocalPromptOverridesStore()
as_protocol: PromptOverridesStore = store
prompt = Prompt(template, store, "v2")

assert_type(prompt.render().descriptor, PromptDescriptor | None)
assert_type(PromptDescriptor.from_prompt(prompt), PromptDescriptor)
assert_type(store.resolve(PromptDescriptor.from_prompt(template)), PromptOverride | None)
assert_type(store.seed(prompt), PromptOverride)
assert_type(store.set_section_override(template, path="task", body="Do."), PromptOverride)
assert_type(store.store(template, ToolOverride("search", "", "Find.")), PromptOverride)
assert_type(store.store(template, SectionOverride("", "Do.", path=("task",))), PromptOverride)
assert_type(store.load(ns="demo", prompt_key="typed"), PromptOverride | None)
assert_type(prompt.render().tool_param_descriptions, Mapping[str, Mapping[str, str]])
