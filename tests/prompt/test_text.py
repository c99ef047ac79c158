"""Templates are cleaned, checked and filled in."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from wink.errors import PromptValidationError
from wink.prompt import MarkdownSection, PromptTemplate, Section, TextSection, ToolsSection


@dataclass(frozen=True)
class Task:
    issue: str
    steps: int = 3

    @property
    def shout(self) -> str:
        return self.issue.upper()


@dataclass
class Plain:
    name: str = "x"

    @cached_property
    def length(self) -> int:
        return len(self.name)


def body(section: Section[Any], params: object = None) -> str:
    return section.render_body(params)


def test_indentation_and_surrounding_space_are_taken_off() -> None:
    """Templates are written indented, inside of code; the model should not see that."""
    section = MarkdownSection(
        "Task",
        """
        First:
            indented
        Last.
        """,
    )

    assert body(section) == "First:\n    indented\nLast."


def test_both_spellings_of_a_placeholder_are_filled_in() -> None:
    """And a doubled dollar sign stands for one."""
    section = MarkdownSection[Task]("Task", "Fix $issue in ${steps} steps for $$5.")

    assert body(section, Task("it")) == "Fix it in 3 steps for $5."


def test_a_value_is_put_in_as_it_is() -> None:
    """Neither its indentation nor its dollar signs are the template's business."""
    section = MarkdownSection[Task]("Task", "  > $issue")

    assert body(section, Task("$steps\n    ${issue}")) == "> $steps\n    ${issue}"


def test_properties_can_be_placeholders() -> None:
    """What a dataclass computes is as much part of it as what it stores."""
    assert body(MarkdownSection[Task]("Task", "$shout!"), Task("fix")) == "FIX!"
    assert body(MarkdownSection[Plain]("Task", "$length"), Plain()) == "1"


def test_an_unknown_placeholder_is_refused_when_the_section_is_built() -> None:
    """A typing mistake must not wait for the first model that reads it."""
    with pytest.raises(PromptValidationError) as caught:
        MarkdownSection[Task]("The Task", "Fix $isue and $zebra.")

    assert caught.value.section_path == ("the-task",)
    assert caught.value.dataclass is Task
    assert str(caught.value) == ("section 'the-task', dataclass Task: $isue, $zebra is no field; did you mean $issue?")


def test_without_a_near_name_the_fields_are_listed() -> None:
    """Either way the author can mend the template without opening another file."""
    with pytest.raises(PromptValidationError, match="is no field; it has issue, shout, steps"):
        MarkdownSection[Task]("Task", "$zebra")


@pytest.mark.parametrize(
    "build",
    [
        lambda: TextSection("T", "$x", Plain),
        lambda: TextSection("T", "$x", Plain()),
        lambda: TextSection[Plain]("T", "$x"),
        lambda: ToolsSection("T", [], "$x", Plain),
        lambda: ToolsSection("T", [], "$x", Plain()),
        lambda: MarkdownSection("T", "$x", default_params=Plain()),
    ],
)
def test_every_kind_of_section_is_checked(build: Any) -> None:
    """However the section learns of its dataclass."""
    with pytest.raises(PromptValidationError) as caught:
        build()

    assert caught.value.dataclass is Plain
    assert caught.value.section_path == ("t",)


def test_a_placeholder_that_nothing_fills_is_refused_with_the_template() -> None:
    """Without a dataclass of its own a section may share the one around it, so only the template can tell."""
    inner = MarkdownSection("Inner", "Fix $issue.")

    with pytest.raises(PromptValidationError) as caught:
        PromptTemplate("ns", "key", sections=[Section("Outer", children=[inner])])

    assert caught.value.section_path == ("outer", "inner")
    assert "$issue in the text, but the section has no parameters" in str(caught.value)


def test_the_surrounding_dataclass_is_checked_too() -> None:
    """A section that shares parameters is held to what they really are."""
    inner = MarkdownSection("Inner", "Fix $zebra.")

    with pytest.raises(PromptValidationError) as caught:
        PromptTemplate("ns", "key", sections=[Section[Task]("Outer", children=[inner])])

    assert caught.value.section_path == ("outer", "inner")
    assert caught.value.dataclass is Task


@pytest.mark.parametrize("text", ["costs $5", "ends with $", "${not closed", "$-"])
def test_a_stray_dollar_sign_is_refused(text: str) -> None:
    """Left in, it would blow up at the first rendering; the remedy is two characters."""
    with pytest.raises(PromptValidationError) as caught:
        MarkdownSection("Money", f"First line.\n{text}")

    assert str(caught.value) == (
        f"section 'money': line 2, {text!r}, has a '$' that starts no placeholder; write '$$' for a dollar sign"
    )
