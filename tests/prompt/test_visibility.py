"""A section shows all of itself, or a summary and how to open it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from wink.errors import DuplicateToolName, PromptRenderError, PromptValidationError
from wink.policies import SequentialDependencyPolicy
from wink.prompt import (
    ClearAllVisibilityOverrides,
    ClearVisibilityOverride,
    MarkdownSection,
    Prompt,
    PromptTemplate,
    Section,
    SectionVisibility,
    SetVisibilityOverride,
    TextSection,
    Tool,
    ToolsSection,
    VisibilityOverrides,
)
from wink.session import Session, Snapshot

FULL, SUMMARY = SectionVisibility.FULL, SectionVisibility.SUMMARY


@dataclass(frozen=True)
class Task:
    """Parameters."""

    issue: str = "a crash"


@dataclass(frozen=True)
class Must:
    """Parameters that somebody has to give."""

    have: str


def tool(name: str) -> Tool[None, None]:
    return Tool[None, None](name=name, description="Do it.", handler=None)


def prompt_of(*sections: Section[Any]) -> Prompt:
    return Prompt(PromptTemplate("ns", "key", sections=sections))


def rules(visibility: Any = SUMMARY, **more: Any) -> MarkdownSection[Task]:
    """A section with a summary, a tool and a child with one."""
    child = MarkdownSection("Style", "Four spaces.", tools=[tool("format")])
    return MarkdownSection[Task](
        "Rules",
        "All about ${issue}.",
        summary="How to deal with ${issue}.",
        visibility=visibility,
        tools=[tool("check")],
        children=[child],
        **more,
    )


def names(prompt: Prompt, session: Session | None = None) -> list[str]:
    return [found.name for found in prompt.render(session=session).tools]


def test_a_summarised_section_shows_its_summary_and_how_to_open_it() -> None:
    """Text, tools and children would fill the context of a model that does not need them."""
    rendered = prompt_of(TextSection("Intro", "Hello."), rules(), TextSection("End", "Bye.")).render()

    assert rendered.text == (
        "## 1. Intro\n\nHello.\n\n"
        "## 2. Rules\n\nHow to deal with a crash.\n\n"
        "(This is a summary. To see the whole section and to use its tools, call `open_sections` with the key "
        '"rules"; only to read it, call `read_section`.)\n\n'
        "## 3. End\n\nBye."
    )
    assert [found.name for found in rendered.tools] == ["open_sections", "read_section"]
    assert rendered.summarised == ("rules",)


def test_a_section_in_full_is_as_if_it_had_no_summary() -> None:
    """The summary is only for when the section is closed."""
    prompt = prompt_of(rules(FULL))
    rendered = prompt.render()

    assert rendered.text == "## 1. Rules\n\nAll about a crash.\n\n### 1.1. Style\n\nFour spaces."
    assert [found.name for found in rendered.tools] == ["check", "format"] == [found.name for found in prompt.tools()]
    assert rendered.summarised == ()
    assert rendered.disclosure is None


def test_a_section_without_tools_says_that_it_can_be_read() -> None:
    """Reading leaves the prompt as it is, which providers reward with a cheaper request."""
    section = TextSection("Notes", "Long.", summary="Notes of last year.", visibility=SUMMARY)

    assert 'To read the whole section, call `read_section` with the key "notes"' in prompt_of(section).render().text


def test_the_tools_that_are_offered_without_a_rendering_are_the_same() -> None:
    """`Prompt.tools` answers before parameters are bound."""
    closed = prompt_of(rules(), MarkdownSection[Must]("Other", "$have", tools=[tool("other")]))

    assert [found.name for found in closed.tools()] == ["other", "open_sections", "read_section"]


@pytest.mark.parametrize(
    "visibility",
    [
        SUMMARY,
        lambda: SUMMARY,
        lambda *, session: SUMMARY if session is not None else FULL,
        lambda params: SUMMARY if params.issue == "a crash" else FULL,
        lambda params, *, session: SUMMARY if params.issue and session is not None else FULL,
    ],
    ids=["fixed", "nothing", "session", "params", "both"],
)
def test_visibility_is_fixed_or_decided_at_each_rendering(visibility: Any) -> None:
    """A callable takes what it wants, as that of `enabled` does."""
    assert names(prompt_of(rules(visibility)), Session()) == ["open_sections", "read_section"]


def test_a_decision_may_change_from_rendering_to_rendering() -> None:
    """It may look at what the session knows by now."""
    prompt = prompt_of(rules(lambda *, session: SUMMARY if not session[Task].all() else FULL))
    session = Session()

    assert "check" not in names(prompt, session)
    session.dispatch(Task())
    assert "check" in names(prompt, session)


@pytest.mark.parametrize(
    "section", [Section, ToolsSection, MarkdownSection, TextSection], ids=lambda kind: kind.__name__
)
def test_every_kind_of_section_can_be_summarised(section: Callable[..., Section[Any]]) -> None:
    """Whatever it shows when it is open."""
    content = {Section: {}, ToolsSection: {"tools": [tool("go")]}, MarkdownSection: {"template": "x"}}
    arguments = content.get(section, {"body": "x"})  # type: ignore[call-overload]
    built = section("One", summary="About one.", visibility=SUMMARY, **arguments)

    assert "About one." in prompt_of(built).render().text
    assert "About one." in prompt_of(built.clone(title="Other")).render().text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"visibility": SUMMARY}, "section 'one': the section can be summarised, but has no summary"),
        ({"visibility": lambda: FULL}, "can be summarised, but has no summary"),
        ({"visibility": SUMMARY, "summary": "  "}, "the summary is empty"),
        ({"visibility": "summary", "summary": "x"}, "visibility must be SectionVisibility.FULL"),
        ({"visibility": lambda *, weather: FULL, "summary": "x"}, "visibility cannot be given 'weather'"),
        ({"summary": "costs $5"}, "has a '\\$' that starts no placeholder"),
    ],
)
def test_what_cannot_be_summarised_is_refused_when_the_section_is_built(
    arguments: dict[str, Any], message: str
) -> None:
    """An empty place in the prompt would tell the model nothing."""
    with pytest.raises(PromptValidationError, match=message):
        TextSection("One", "x", **arguments)


def test_a_summary_takes_the_placeholders_of_its_section() -> None:
    """They are checked when the section is built, or the template where the parameters come from the section around."""
    with pytest.raises(PromptValidationError, match=r"section 'one', dataclass Task: \$isue is no field; did you mean"):
        MarkdownSection[Task]("One", "x", summary="$isue")
    with pytest.raises(PromptValidationError, match=r"section 'outer/one'"):
        prompt_of(MarkdownSection[Task]("Outer", "x", children=[TextSection("One", "x", summary="$isue")]))
    inner = TextSection("One", "x", summary="On $issue.", visibility=SUMMARY)
    assert "On a crash." in prompt_of(MarkdownSection[Task]("Outer", "x", children=[inner])).render().text


def test_visibility_cannot_ask_for_parameters_that_the_section_does_not_have() -> None:
    """As `enabled` cannot."""
    with pytest.raises(PromptValidationError, match="visibility asks for parameters, but the section has none"):
        prompt_of(TextSection("One", "x", summary="s", visibility=lambda params: FULL))


@pytest.mark.parametrize(("answer", "message"), [("full", "it returned 'full'"), (1 / 3, "it returned 0.33")])
def test_a_decision_that_is_none_is_an_error(answer: Any, message: str) -> None:
    """Nothing is guessed from a truthy value."""
    with pytest.raises(PromptRenderError, match=f"visibility raised TypeError: {message}"):
        prompt_of(TextSection("One", "x", summary="s", visibility=lambda: answer)).render()


def test_parameters_of_what_is_hidden_are_missed_at_once() -> None:
    """Otherwise the run would end in the middle, when the model opens the section."""
    hidden = Section("Outer", summary="s", visibility=SUMMARY, children=[MarkdownSection[Must]("One", "$have")])
    asked = MarkdownSection[Must]("Asked", "x", summary="s", visibility=lambda params: FULL)

    with pytest.raises(PromptRenderError, match="Must \\(have\\) for 'outer/one', 'asked'"):
        prompt_of(hidden, asked).render()
    with pytest.raises(PromptRenderError, match="for 'asked'"):
        prompt_of(hidden, asked).tools()


def test_tools_of_what_is_hidden_are_checked_at_the_first_rendering() -> None:
    """Their schemas would otherwise fail a run that is under way."""

    @dataclass(frozen=True)
    class Bad:
        what: Callable[..., int]

    section = Section("One", tools=[Tool[Bad, None]("bad", "Bad.")], summary="s", visibility=SUMMARY)
    with pytest.raises(PromptValidationError, match="tool 'bad'"):
        prompt_of(section).render()


def test_a_disabled_section_is_neither_shown_nor_summarised() -> None:
    """`enabled` comes first."""
    rendered = prompt_of(rules(enabled=lambda: False)).render()

    assert (rendered.text, rendered.tools, rendered.summarised) == ("", (), ())


# Policies.


def test_policies_of_a_summarised_section_learn_and_do_not_govern() -> None:
    """What succeeded while it was closed still counts when it is open; its tools cannot be called until then."""
    inner, own, whole = (SequentialDependencyPolicy({}, name=name) for name in ("inner", "own", "whole"))
    child = Section("Child", tools=[tool("deploy")], policies=[inner])
    section = Section("One", summary="s", visibility=SUMMARY, policies=[own], children=[child])
    prompt = Prompt(
        PromptTemplate("ns", "key", sections=[section, Section("Two", tools=[tool("test")])], policies=[whole])
    )
    rendered = prompt.render()

    assert rendered.policies == (own, inner, whole)
    assert rendered.policies_for_tool("test") == (whole,) == prompt.policies_for_tool("read_section")
    assert rendered.policies_for_tool("open_sections") == (whole,) == rendered.policies_for_tool("read_section")
    assert rendered.tool("deploy") is None


# Names.


@pytest.mark.parametrize("name", ["open_sections", "read_section"])
def test_tools_of_ones_own_cannot_be_called_like_those_that_open_sections(name: str) -> None:
    """Not even in a section that may be disabled: which one a model would reach must not depend on that."""
    mine = Section("Mine", tools=[tool(name)], enabled=lambda: False)
    with pytest.raises(DuplicateToolName, match=f"tool '{name}' comes from both section 'mine' and wink itself"):
        prompt_of(mine, rules(FULL))


def test_without_summaries_the_names_are_free() -> None:
    """A prompt that has nothing to open has no use for the tools."""
    assert names(prompt_of(Section("Mine", tools=[tool("open_sections")]))) == ["open_sections"]


def test_tools_that_come_later_cannot_take_the_names_either() -> None:
    """A mounted server may offer anything."""

    class Coming(Section[Any]):
        def current_tools(self) -> Any:
            return [tool("read_section")]

    prompt = prompt_of(Coming("Coming"), rules())
    with pytest.raises(DuplicateToolName, match="wink itself"):
        prompt.render()


def test_keys_are_paths_with_dots() -> None:
    """As the model is told them."""
    inner = TextSection("Style", "x", summary="s", visibility=SUMMARY)

    assert prompt_of(Section("Rules", children=[inner])).render().summarised == ("rules.style",)


def test_keys_that_read_alike_are_told_apart() -> None:
    """Keys may have dots themselves, but never slashes."""
    twins = [
        Section("A", children=[TextSection("B", "x", summary="s", visibility=SUMMARY)]),
        TextSection("A.B", "y", key="a.b", summary="s", visibility=SUMMARY),
    ]

    assert prompt_of(*twins).render().summarised == ("a/b", "a.b")


def test_the_tools_descriptions_name_the_keys_as_far_as_there_is_room() -> None:
    """A description has 200 characters at most."""
    few = prompt_of(rules()).render()
    many = prompt_of(*(TextSection(f"A section {n}", "x", summary="s", visibility=SUMMARY) for n in range(30))).render()

    assert all(found.description.endswith(" Keys: rules") for found in few.tools)
    assert all(found.description.endswith(" The summaries name their keys.") for found in many.tools)


# What the session and the caller say.


def test_the_session_says_how_sections_are_shown() -> None:
    """It wins over the section, until it is cleared."""
    other = TextSection("Open", "x", summary="s")
    session, prompt = Session(), prompt_of(rules(), other)
    prompt.render(session=session)

    session.dispatch(SetVisibilityOverride(("rules",), FULL))
    session.dispatch(SetVisibilityOverride(("open",), SUMMARY))
    assert prompt.render(session=session).summarised == ("open",)

    session.dispatch(ClearVisibilityOverride(("open",)))
    assert prompt.render(session=session).summarised == ()

    session.dispatch(ClearAllVisibilityOverrides())
    assert prompt.render(session=session).summarised == ("rules",)
    assert prompt.render().summarised == ("rules",)


def test_the_state_is_one_value_that_is_read_by_path() -> None:
    """It survives as JSON, and goes back with the rest of the session."""
    session, prompt = Session(), prompt_of(rules())
    prompt.render(session=session)
    before = session.snapshot()
    session.dispatch(SetVisibilityOverride(("rules", "style"), FULL))

    state = session[VisibilityOverrides].latest()
    assert state is not None
    assert (state.get(("rules", "style")), state.get(("rules",))) == (FULL, None)
    assert VisibilityOverrides({("rules", "style"): FULL}) == state  # type: ignore[dict-item]
    other = Session()
    other.restore(Snapshot.from_json(session.snapshot().to_json()))
    assert other[VisibilityOverrides].all() == (state,)
    session.restore(before)
    assert session[VisibilityOverrides].latest() is None


def test_what_a_session_says_of_other_prompts_does_not_matter() -> None:
    """Several prompts may share a session; and a section without a summary has nothing to show in its place."""
    session, prompt = Session(), prompt_of(TextSection("One", "x"), rules(FULL))
    prompt.render(session=session)
    session.dispatch(SetVisibilityOverride(("elsewhere",), SUMMARY))
    session.dispatch(SetVisibilityOverride(("one",), SUMMARY))

    assert prompt.render(session=session).summarised == ()


@pytest.mark.parametrize("path", ["rules.style", 5])
def test_a_path_is_a_tuple_of_keys(path: Any) -> None:
    """Text would be read letter by letter, and speak of no section."""
    with pytest.raises(PromptValidationError, match="a section's path is a tuple of keys, such as"):
        SetVisibilityOverride(path, FULL)
    with pytest.raises(PromptValidationError, match="a tuple of keys"):
        ClearVisibilityOverride(path)


def test_a_rendering_can_be_told_how_sections_are_shown() -> None:
    """For previews; it wins over the session, and leaves no trace there."""
    session, prompt = Session(), prompt_of(rules())
    prompt.render(session=session)
    session.dispatch(SetVisibilityOverride(("rules",), FULL))

    assert prompt.render(session=session, visibility_overrides={("rules",): SUMMARY}).summarised == ("rules",)
    assert prompt.render(session=session).summarised == ()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({("nope",): FULL}, r"no section is at \('nope',\)"),
        ({("rules",): "full"}, "section 'rules': the visibility must be a SectionVisibility"),
        ({("rules", "style"): SUMMARY}, "section 'rules/style': the section has no summary to show"),
    ],
)
def test_what_a_rendering_is_told_must_be_right(overrides: dict[Any, Any], message: str) -> None:
    """Unlike what a session remembers, it was meant for this prompt."""
    with pytest.raises(PromptValidationError, match=message):
        prompt_of(rules()).render(visibility_overrides=overrides)
