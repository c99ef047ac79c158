"""Worked tasks that people add, replace and remove."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from plugins.overrides.tests.demo import Hit, Query, search

from wink.errors import PromptOverrideError, PromptOverrideWarning
from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    TaskExample,
    TaskExamplesSection,
    TaskStep,
    ToolsSection,
)
from wink.prompt.overrides import PromptDescriptor
from wink.tools import ToolExample
from wink_overrides import LocalPromptOverridesStore, TaskExampleOverride


@dataclass(frozen=True)
class Answer:
    found: int


def task(objective: str, outcome: Any = "Found.") -> TaskExample:
    return TaskExample(objective, outcome, (TaskStep("search", ToolExample("look", Query("word"), [Hit(1)])),))


def template(*examples: TaskExample, accepts: bool = True) -> PromptTemplate[Any]:
    return PromptTemplate[Answer](
        ns="demo",
        key="tasks",
        sections=[
            ToolsSection("Tools", [search()]),
            TaskExamplesSection("Tasks", examples, accepts_overrides=accepts),
            MarkdownSection("Plain", "Text."),
        ],
    )


ONE, TWO = task("Find one word"), task("Count the words", Answer(2))
JSON = {
    "objective": "Find nothing",
    "outcome": {"found": 0},
    "steps": [{"tool_name": "search", "example": {"description": "look", "input": {"text": "zzz"}, "output": []}}],
}


@pytest.fixture
def store(tmp_path: Path) -> LocalPromptOverridesStore:
    return LocalPromptOverridesStore(tmp_path)


def objectives(prompt: Prompt[Any]) -> list[str]:
    lines = prompt.render().text.splitlines()
    return [line.partition(":** ")[2] for line in lines if line.startswith("**Example ")]


def test_each_is_described_with_its_hash() -> None:
    """By its place and index; a section without any can be added to as well."""
    descriptor = PromptDescriptor.from_prompt(template(ONE, TWO))
    other = PromptDescriptor.from_prompt(template(ONE, task("Count")))

    assert [(one.path, one.index) for one in descriptor.task_examples] == [(("tasks",), 0), (("tasks",), 1)]
    assert descriptor.task_examples[0] == other.task_examples[0]
    assert descriptor.task_examples[1] != other.task_examples[1]
    assert PromptDescriptor.from_prompt(template()).example_sections == (("tasks",),)
    assert PromptDescriptor.from_prompt(template(ONE, accepts=False)).example_sections == ()


def test_they_are_added_replaced_and_removed(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """As dataclasses or as JSON; what is added comes last, and a later word about one index counts."""
    one = template(ONE, TWO)
    prompt = Prompt(one, store)
    store.store(one, TaskExampleOverride("tasks", "append", example=JSON))  # type: ignore[arg-type]
    store.store(one, TaskExampleOverride(("tasks",), "remove", 0))
    texts = [objectives(prompt)]
    store.store(one, TaskExampleOverride(("tasks",), "replace", 0, example=task("Find another")))
    texts.append(objectives(prompt))

    assert texts == [["Count the words", "Find nothing"], ["Find another", "Count the words", "Find nothing"]]
    assert '**Outcome:** `{"found":0}`' in prompt.render().text
    assert LocalPromptOverridesStore(tmp_path).load(ns="demo", prompt_key="tasks") == store.resolve(
        PromptDescriptor.from_prompt(one)
    )


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        (TaskExampleOverride(("tasks",), "remove", 2), "there is no example 2; the code has 2"),
        (TaskExampleOverride(("tasks",), "remove", 0, "0" * 64), "example 0 is another one in the code now"),
        (
            TaskExampleOverride(("plain",), "append", example=JSON),
            "has no task examples that accept overrides; tasks has",
        ),
        (TaskExampleOverride(("tasks",), "append", example={**JSON, "steps": []}), "needs at least one step"),
        (TaskExampleOverride(("tasks",), "append", example={**JSON, "outcome": {"fund": 1}}), "$.found: is required"),
        (TaskExampleOverride(("tasks",), "append", example={**JSON, "outcome": None}), "needs an outcome"),
        (TaskExampleOverride(("tasks",), "append", example={"objective": "x"}), "$.steps: is required"),
        (TaskExampleOverride(("tasks",), "append"), "section 'tasks': $: "),
        (
            TaskExampleOverride(
                ("tasks",),
                "append",
                example={**JSON, "steps": [{"tool_name": "serch", "example": {"description": "a"}}]},
            ),
            "a step calls 'serch', and the prompt has no such tool; did you mean 'search'?",
        ),
        (
            TaskExampleOverride(
                ("tasks",),
                "append",
                example={**JSON, "steps": [{"tool_name": "search", "example": {"description": "a"}}]},
            ),
            "the example of a step that calls 'search': $",
        ),
    ],
)
def test_what_is_of_other_types_is_neither_stored_nor_used(
    store: LocalPromptOverridesStore, override: TaskExampleOverride, complaint: str
) -> None:
    """With a line about what is wrong, to whoever writes it, and to whoever runs what somebody wrote into the file."""
    one = template(ONE, TWO)
    with pytest.raises(PromptOverrideError) as caught:
        store.store(one, override)
    assert complaint in str(caught.value)

    class Given:
        def resolve(self, descriptor: PromptDescriptor, tag: str = "latest") -> Any:
            from wink_overrides import PromptOverride

            return PromptOverride("demo", "tasks", task_example_overrides=(override,))

    with pytest.warns(PromptOverrideWarning) as told:
        text = Prompt(one, Given()).render().text  # type: ignore[arg-type]
    assert [complaint in str(one.message) for one in told] == [True]
    assert text == Prompt(one).render().text


@pytest.mark.parametrize(("action", "index"), [("append", 0), ("remove", None), ("replace", -1), ("add", None)])
def test_an_action_and_its_index_belong_together(action: Any, index: int | None) -> None:
    """What is appended has no index yet, and what is replaced needs one."""
    with pytest.raises(PromptOverrideError):
        TaskExampleOverride(("tasks",), action, index)


def test_a_stale_one_is_left_out_alone(store: LocalPromptOverridesStore) -> None:
    """The others go on."""
    store.store(template(ONE, TWO), TaskExampleOverride(("tasks",), "remove", 0))
    store.store(template(ONE, TWO), TaskExampleOverride(("tasks",), "remove", 1))
    moved = Prompt(template(task("New"), TWO), store)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert objectives(moved) == ["New"]
    assert len(told) == 1
