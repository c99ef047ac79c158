"""A template refuses, when it is built, what no rendering could make right."""

import copy
import pickle
from typing import Any

import pytest

from wink.errors import DuplicateToolName, PromptValidationError, SectionNotFound
from wink.policies import SequentialDependencyPolicy
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section, TextSection, Tool


def tool(name: str) -> Tool[None, None]:
    return Tool[None, None](name=name, description="Do it.", handler=None)


def rule(name: str) -> SequentialDependencyPolicy:
    return SequentialDependencyPolicy({}, name=name)


def test_it_is_called_by_its_key_unless_it_has_a_name() -> None:
    """Events and responses need to call it something."""
    assert PromptTemplate("ns", "fix-bug").name == "fix-bug"
    prompt = Prompt(PromptTemplate("examples/tooling", "fix-bug", name="Fix a bug"))
    assert (prompt.ns, prompt.key, prompt.name) == ("examples/tooling", "fix-bug", "Fix a bug")
    assert repr(prompt) == "<Prompt examples/tooling:fix-bug>"


@pytest.mark.parametrize(("ns", "key"), [("", "k"), ("a/", "k"), ("A", "k"), ("a b", "k"), ("a", ""), ("a", "x/y")])
def test_names_that_could_not_be_part_of_a_path_are_refused(ns: str, key: str) -> None:
    """Namespace and key are where people's overrides of a template are stored."""
    with pytest.raises(PromptValidationError, match="cannot be a"):
        PromptTemplate(ns, key)


def test_it_never_changes() -> None:
    """Any number of prompts share it, and what has been checked must stay so."""
    sections = [Section("One")]
    template = PromptTemplate("ns", "key", sections=sections)
    sections.clear()

    assert len(template.sections) == 1
    with pytest.raises(AttributeError, match="a template cannot be changed; build another one with another ns"):
        template.ns = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="'ns' stays"):
        del template.ns
    assert copy.copy(template) is template
    assert copy.deepcopy(template) is template
    assert repr(template) == "<PromptTemplate ns:key>"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sections": Section("One")}, "sections is a sequence of Section"),
        ({"sections": ["One"]}, "'One' in sections is no Section"),
        ({"policies": rule("r")}, "policies is a sequence of ToolPolicy"),
        ({"policies": [None]}, "None in policies is no ToolPolicy"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(arguments: dict[str, Any], message: str) -> None:
    """A section handed over without its list is the usual slip."""
    with pytest.raises(PromptValidationError, match=message):
        PromptTemplate("ns", "key", **arguments)


def test_a_prompt_is_made_of_a_template() -> None:
    """The oldest of the documents built prompts from sections; the error leads to what replaced it."""
    with pytest.raises(PromptValidationError, match=r"Prompt\(PromptTemplate\("):
        Prompt([Section("One")])  # type: ignore[arg-type]


def test_siblings_need_different_keys() -> None:
    """Otherwise one path would name two sections."""
    with pytest.raises(PromptValidationError, match="'Notes' and 'notes' have the same key") as caught:
        PromptTemplate("ns", "key", sections=[Section("Outer", children=[Section("Notes"), Section("notes")])])

    assert caught.value.section_path == ("outer", "notes")


def test_cousins_may_share_a_key() -> None:
    """Every chapter may have its `Examples`; their paths differ."""
    template = PromptTemplate(
        "ns", "key", sections=[Section("One", children=[Section("Notes")]), Section("Two", children=[Section("Notes")])]
    )

    assert "### 2.1. Notes" in Prompt(template).render().text


def test_one_section_cannot_be_in_two_places() -> None:
    """It has one state of installation and one place in errors; `clone` makes another."""
    twice = Section("Notes")

    with pytest.raises(PromptValidationError, match=r"is at 'one/notes' already; use clone\(\)") as caught:
        PromptTemplate("ns", "key", sections=[Section("One", children=[twice]), Section("Two", children=[twice])])

    assert caught.value.section_path == ("two", "notes")


def test_tools_of_one_name_are_refused_at_once() -> None:
    """Both sections are always enabled, so that every rendering would fail."""
    with pytest.raises(DuplicateToolName) as caught:
        PromptTemplate(
            "ns",
            "key",
            sections=[
                Section("One", children=[Section("In", tools=[tool("act")])]),
                Section("Two", tools=[tool("act")]),
            ],
        )

    assert (caught.value.name, caught.value.tool) == ("act", "act")
    assert (caught.value.first, caught.value.second) == ("section 'one/in'", "section 'two'")
    assert isinstance(caught.value, PromptValidationError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_policies_govern_their_section_and_what_is_below() -> None:
    """The nearest is asked first, the prompt's last; sections beside have no say."""
    own, outer, other, prompt_wide = rule("own"), rule("outer"), rule("other"), rule("prompt")
    template = PromptTemplate(
        "ns",
        "key",
        sections=[
            Section(
                "Outer",
                tools=[tool("above")],
                policies=[outer],
                children=[Section("Inner", tools=[tool("below")], policies=[own])],
            ),
            Section("Other", tools=[tool("beside")], policies=[other]),
        ],
        policies=[prompt_wide],
    )
    prompt = Prompt(template)

    for source in (prompt, prompt.render()):
        assert source.policies_for_tool("below") == (own, outer, prompt_wide)
        assert source.policies_for_tool("above") == (outer, prompt_wide)
        assert source.policies_for_tool("beside") == (other, prompt_wide)
        assert source.policies == (outer, own, other, prompt_wide)


def test_a_policy_declared_in_several_places_is_asked_once() -> None:
    """It may be shared between sections, and may not count a call twice."""
    shared = rule("shared")
    template = PromptTemplate(
        "ns",
        "key",
        sections=[
            Section("Outer", policies=[shared], children=[Section("In", tools=[tool("act")], policies=[shared])])
        ],
        policies=[shared],
    )

    assert Prompt(template).policies_for_tool("act") == (shared,)
    assert Prompt(template).render().policies == (shared,)


def test_all_policies_are_asked_about_a_tool_that_nobody_brings() -> None:
    """What is in doubt must not slip through the gap between two sections."""
    mine = rule("mine")
    prompt = Prompt(PromptTemplate("ns", "key", sections=[Section("One", policies=[mine])]))

    assert prompt.policies_for_tool("unknown") == (mine,)
    assert prompt.render().policies_for_tool("unknown") == (mine,)


def test_before_a_rendering_both_alternatives_count() -> None:
    """Only a rendering knows which of two sections is enabled; until then a tool is under the rules of both."""
    strict, lax = rule("strict"), rule("lax")
    prompt = Prompt(
        PromptTemplate(
            "ns",
            "key",
            sections=[
                Section("Strict", tools=[tool("act")], policies=[strict], enabled=lambda: False),
                Section("Lax", tools=[tool("act")], policies=[lax], enabled=lambda: True),
            ],
        )
    )

    assert prompt.policies_for_tool("act") == (strict, lax)
    assert prompt.render().policies_for_tool("act") == (lax,)


def test_a_section_is_found_by_key_path_or_type() -> None:
    """Tools look up the section that they need, whatever it is known by."""
    inner = TextSection("Inner", "x")
    outer = Section("Outer", children=[inner])
    prompt = Prompt(PromptTemplate("ns", "key", sections=[outer]))

    assert prompt.find_section("inner") is inner
    assert prompt.find_section(("outer", "inner")) is inner
    assert prompt.find_section(TextSection) is inner


def test_a_search_that_finds_none_or_several_says_so() -> None:
    """Nothing is guessed."""
    prompt = Prompt(
        PromptTemplate(
            "ns",
            "key",
            sections=[Section("One", children=[Section("Notes")]), Section("Two", children=[Section("Notes")])],
        )
    )

    with pytest.raises(SectionNotFound, match="no section is MarkdownSection"):
        prompt.find_section(MarkdownSection)
    with pytest.raises(SectionNotFound) as caught:
        prompt.find_section("notes")

    assert caught.value.paths == (("one", "notes"), ("two", "notes"))
    assert str(caught.value) == (
        "several sections are 'notes': 'one/notes', 'two/notes'; ask for one of them by its path, a tuple of keys"
    )
    assert isinstance(caught.value, LookupError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
