"""Sections refuse what cannot work, and say so when they are built."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pytest

from wink.errors import DuplicateToolName, PromptValidationError
from wink.policies import SequentialDependencyPolicy
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section, TextSection, Tool, ToolsSection


@dataclass(frozen=True)
class Task:
    issue: str = "it"


@dataclass(frozen=True)
class Other:
    issue: str = "other"


V = TypeVar("V")


@dataclass(frozen=True)
class Boxed(Generic[V]):
    issue: V


def tool(name: str) -> Tool[None, None]:
    return Tool[None, None](name=name, description="Do it.", handler=None)


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Guidance", "guidance"),
        ("  Available Tools ", "available-tools"),
        ("What's new, in 2.0?", "what-s-new-in-2-0"),
        ("Über Ärger", "uber-arger"),
        ("x" * 80, "x" * 64),
    ],
)
def test_a_key_left_out_is_made_of_the_title(title: str, key: str) -> None:
    """Most sections are never looked up; a second name for each would be noise."""
    assert Section(title).key == key


@pytest.mark.parametrize("key", ["", "Upper", "-dash", ".dot", "with space", "x" * 65, "a/b", "a\n"])
def test_a_key_that_could_not_stand_in_a_path_is_refused(key: str) -> None:
    """Keys are joined with slashes, and end in file names."""
    with pytest.raises(PromptValidationError, match="cannot be a key"):
        Section("Title", key)


@pytest.mark.parametrize("title", ["", "  ", "two\nlines", "bell\a"])
def test_a_title_is_one_line_of_text(title: str) -> None:
    """It becomes a heading."""
    with pytest.raises(PromptValidationError, match="one line of text"):
        Section(title, "key")


def test_a_title_without_letters_needs_a_key() -> None:
    """Nothing can be made of it, and a random key would differ from run to run."""
    with pytest.raises(PromptValidationError, match="pass key="):
        Section("!!!")

    assert Section("!!!", "bang").key == "bang"


@pytest.mark.parametrize("not_a_dataclass", [str, int, "Task", dict, list[Task], 3])
def test_parameters_come_in_a_dataclass(not_a_dataclass: Any) -> None:
    """Anything else has no fields to check placeholders against."""
    with pytest.raises(PromptValidationError, match="are a dataclass, not"):
        MarkdownSection[not_a_dataclass]  # type: ignore[valid-type]


def test_a_section_knows_its_parameters() -> None:
    """By subscript, by default, by argument or by inheritance: all the same afterwards."""

    class Fixed(MarkdownSection[Task]):
        pass

    assert MarkdownSection[Task]("T", "x").params_type is Task
    assert MarkdownSection("T", "x", default_params=Task()).params_type is Task
    assert TextSection("T", "x", Task).params_type is Task
    assert ToolsSection("T", [], params=Task()).params_type is Task
    assert Fixed("T", "x").params_type is Task
    assert MarkdownSection[None]("T", "x").params_type is None
    assert MarkdownSection("T", "x").params_type is None
    assert MarkdownSection[Boxed[int]]("T", "$issue").params_type is Boxed


def test_a_specialised_section_is_what_it_specialises() -> None:
    """`isinstance` and repeated subscripts behave as with any generic class."""
    assert isinstance(MarkdownSection[Task]("T", "x"), MarkdownSection)
    assert MarkdownSection[Task] is MarkdownSection[Task]
    assert MarkdownSection[Task] is not MarkdownSection[Other]
    assert MarkdownSection[Task].__name__ == "MarkdownSection[Task]"


def test_generic_subclasses_stay_generic() -> None:
    """A plugin's own section may leave the dataclass open, too."""

    class Mine(MarkdownSection[V]):
        pass

    assert Mine[Task]("T", "$issue").params_type is Task


def test_parameters_cannot_be_given_twice() -> None:
    """Two answers to one question: nothing is guessed."""
    with pytest.raises(PromptValidationError, match="has its parameters already"):
        MarkdownSection[Task][Other]  # type: ignore[misc]
    with pytest.raises(PromptValidationError, match="default_params is a Other"):
        MarkdownSection[Task]("T", "x", default_params=Other())  # type: ignore[arg-type]
    with pytest.raises(PromptValidationError, match="params is a Other"):
        TextSection[Task]("T", "x", Other)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [Task, {"issue": "x"}, "x"])
def test_default_parameters_are_an_instance(wrong: Any) -> None:
    """The class alone has no values."""
    with pytest.raises(PromptValidationError, match="must be an instance of a dataclass"):
        MarkdownSection("T", "x", default_params=wrong)
    if wrong is not Task:
        with pytest.raises(PromptValidationError, match="must be a dataclass or an instance"):
            TextSection("T", "x", wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tools": tool("lone")}, "tools is a sequence of Tool"),
        ({"tools": ["name"]}, "'name' in tools is no Tool"),
        ({"tools": "name"}, "tools is a sequence of Tool"),
        ({"policies": [object()]}, "in policies is no ToolPolicy"),
        ({"policies": [SequentialDependencyPolicy]}, "in policies is no ToolPolicy"),
        ({"children": ["text"]}, "'text' in children is no Section"),
        ({"children": [MarkdownSection]}, "in children is no Section"),
        ({"enabled": True}, "enabled must be a function, not True"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Found here they name the section; found later they would be an AttributeError somewhere else."""
    with pytest.raises(PromptValidationError) as caught:
        Section("Title", **arguments)

    assert message in str(caught.value)
    assert caught.value.section_path == ("title",)


def test_one_section_cannot_bring_two_tools_of_one_name() -> None:
    """A model could not say which one it means."""
    with pytest.raises(DuplicateToolName) as caught:
        Section("Title", tools=[tool("same"), tool("same")])

    assert caught.value.name == "same"


def test_a_clone_can_stand_beside_its_original() -> None:
    """One section instance has one place in a tree; a clone is how it comes to have two."""
    section = MarkdownSection[Task]("Part", "Fix $issue.", children=[Section("Child")], enabled=lambda: True)
    twin = section.clone(title="Other Part")

    text = Prompt(PromptTemplate("ns", "key", sections=[section, twin])).render().text

    assert (twin.key, section.key) == ("other-part", "part")
    assert twin.children[0] is not section.children[0]
    assert "## 2. Other Part\n\nFix it.\n\n### 2.1. Child" in text


def test_a_clone_keeps_its_key_unless_it_gets_a_title() -> None:
    """For another template the same key is what one wants."""
    section = Section("Part", "own-key")

    assert section.clone().key == "own-key"
    assert section.clone(key="another").key == "another"
