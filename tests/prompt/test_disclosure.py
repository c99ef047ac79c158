"""A model opens summarised sections, or reads them, with two tools."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wink.adapters import ScriptedAdapter
from wink.errors import VisibilityExpansionRequired
from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    Section,
    SectionVisibility,
    TextSection,
    Tool,
    ToolContext,
    ToolResult,
    VisibilityOverrides,
    apply_expansion,
)
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked, ToolReply
from wink.session import Session

FULL, SUMMARY = SectionVisibility.FULL, SectionVisibility.SUMMARY


def check(params: None, *, context: ToolContext) -> ToolResult[None]:
    """A tool of a section that is summarised at first."""
    return ToolResult.ok(None, message="checked")


CHECK = Tool[None, None]("check", "Check it.", check)


def book() -> Prompt:
    """Something open, something disabled, and sections inside of sections."""
    deep = TextSection("Deep", "Deep down.", summary="What is deep.", visibility=SUMMARY)
    style = TextSection("Style", "Four spaces.", summary="About style.", visibility=SUMMARY, children=[deep])
    rules = MarkdownSection(
        "Rules", "All rules.", summary="The rules.", visibility=SUMMARY, tools=[CHECK], children=[style]
    )
    return Prompt(
        PromptTemplate(
            "ns",
            "book",
            sections=[
                TextSection("Intro", "Hello."),
                rules,
                TextSection("Gone", "x", enabled=lambda: False),
                TextSection("Other", "All others.", summary="The others.", visibility=SUMMARY),
            ],
        )
    )


def call(prompt: Prompt, session: Session, name: str, **arguments: Any) -> ToolReply:
    rendered = prompt.render(session=session)
    return ToolExecutor(prompt=prompt, rendered=rendered, session=session).execute(ToolCall(name, arguments))


def test_reading_gives_the_whole_section_and_changes_nothing() -> None:
    """Its children too, whatever they would show by themselves; with the numbers that they have in the prompt."""
    prompt, session = book(), Session()
    before = prompt.render(session=session).text

    reply = call(prompt, session, "read_section", section_key="rules")

    assert reply.success
    assert reply.text == (
        "## 2. Rules\n\nAll rules.\n\n### 2.1. Style\n\nFour spaces.\n\n#### 2.1.1. Deep\n\nDeep down."
    )
    assert prompt.render(session=session).text == before
    assert session[VisibilityOverrides].all() == ()


def test_opening_asks_whoever_runs_the_model_to_render_again() -> None:
    """The call itself changes nothing; the prompt that it belongs to is to be replaced."""
    prompt, session = book(), Session()

    with pytest.raises(VisibilityExpansionRequired) as caught:
        call(prompt, session, "open_sections", section_keys=["rules", "other"], reason="to format the code")

    assert caught.value.requested_overrides == {("rules",): FULL, ("other",): FULL}
    assert caught.value.section_keys == ("rules", "other")
    assert caught.value.reason == "to format the code"
    assert session[VisibilityOverrides].all() == ()


def test_what_was_opened_stays_open_in_the_session() -> None:
    """And what is inside of it may be opened next."""
    prompt, session = book(), Session()
    for key in ("rules", "rules.style", "rules/style/deep"):
        with pytest.raises(VisibilityExpansionRequired) as caught:
            call(prompt, session, "open_sections", section_keys=[key], reason="all of it")
        assert apply_expansion(session, caught.value).startswith(f"opened {key!r}")

    rendered = prompt.render(session=session)
    assert "#### 2.1.1. Deep\n\nDeep down." in rendered.text
    assert (rendered.summarised, rendered.tool("check")) == (("other",), CHECK)
    assert prompt.render(session=Session()).summarised == ("rules", "other")


WHAT_THERE_IS = "; the summarised sections are: 'rules', 'other'"


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("nope", "there is no section 'nope'"),
        ("", "there is no section ''"),
        ("intro", "section 'intro' is open already, its text is in your instructions"),
        ("gone", "section 'gone' is not available now"),
        ("rules.style", "section 'rules.style' is inside 'rules', which must be opened first"),
        ("rules.style.deep", "section 'rules.style.deep' is inside 'rules', which must be opened first"),
    ],
)
@pytest.mark.parametrize("name", ["open_sections", "read_section"])
def test_what_cannot_be_opened_is_a_failed_result_that_says_what_can(name: str, key: str, problem: str) -> None:
    """A model corrects itself when it is told."""
    arguments = {"section_key": key} if name == "read_section" else {"section_keys": [key], "reason": "x"}
    reply = call(book(), Session(), name, **arguments)

    assert not reply.success
    assert reply.text == problem + WHAT_THERE_IS


def test_keys_that_read_alike_are_taken_at_their_word() -> None:
    """Keys may have dots; with slashes every section has a name of its own."""

    def section(key: str, *children: Section[Any]) -> Section[Any]:
        return TextSection(key, f"text of {key}", key=key, summary="s", visibility=SUMMARY, children=children)

    twins = [Section("A", children=[section("b"), section("b.c")]), section("a.b", section("c"))]
    prompt, session = Prompt(PromptTemplate("ns", "key", sections=twins)), Session()

    assert prompt.render(session=session).summarised == ("a/b", "a/b.c", "a.b")
    assert "text of b" in call(prompt, session, "read_section", section_key="a/b").text
    assert "text of a.b" in call(prompt, session, "read_section", section_key="a.b").text
    assert "text of b.c" in call(prompt, session, "read_section", section_key="a.b.c").text
    assert "inside 'a.b', which must be opened" in call(prompt, session, "read_section", section_key="a.b/c").text
    apply_expansion(session, VisibilityExpansionRequired({("a.b",): FULL}, "x", ["a.b"]))
    assert "'a.b.c' may be 'a/b.c' or 'a.b/c'" in call(prompt, session, "read_section", section_key="a.b.c").text
    assert "text of c" in call(prompt, session, "read_section", section_key="a.b/c").text


def test_all_that_is_wrong_is_said_at_once_and_nothing_is_opened() -> None:
    """Half of a request would leave the model guessing which half."""
    prompt, session = book(), Session()
    reply = call(prompt, session, "open_sections", section_keys=["rules", "nope", "intro"], reason="x")

    assert not reply.success
    assert reply.text.startswith("there is no section 'nope'; section 'intro' is open already")
    assert prompt.render(session=session).summarised == ("rules", "other")


@pytest.mark.parametrize(
    "arguments", [{"section_keys": [], "reason": "x"}, {"section_keys": "rules", "reason": "x"}, {}]
)
def test_arguments_are_checked_as_those_of_any_tool(arguments: dict[str, Any]) -> None:
    """Nothing special about the two."""
    reply = call(book(), Session(), "open_sections", **arguments)

    assert not reply.success
    assert "$.section_keys" in reply.text or "$: " in reply.text


def test_an_executor_of_an_old_rendering_goes_by_that() -> None:
    """Two calls in one turn may open the same section; the second asks for nothing that is not so already."""
    prompt, session = book(), Session()
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    for _ in range(2):
        with pytest.raises(VisibilityExpansionRequired) as caught:
            executor.execute(ToolCall("open_sections", {"section_keys": ["rules"], "reason": "x"}))
        apply_expansion(session, caught.value)

    assert prompt.render(session=session).summarised == ("rules.style", "other")


def test_a_run_goes_on_with_what_was_opened() -> None:
    """The model opens a section, is shown it, and calls a tool of it in the same run."""
    prompt, session = book(), Session()
    seen: list[Any] = []
    session.dispatcher.subscribe(ToolInvoked, seen.append)
    model = ScriptedAdapter(
        [
            ToolCall("open_sections", {"section_keys": ["rules"], "reason": "to check"}),
            ToolCall("check", {}),
            "Done.",
        ]
    )

    response = model.evaluate(prompt, session=session)

    assert response.text == "Done."
    assert [(event.name, event.success) for event in seen] == [("open_sections", False), ("check", True)]


def test_reading_a_section_that_fails_is_the_calls_failure() -> None:
    """A section of a plugin may raise; the run goes on."""

    class Broken(Section[Any]):
        def render_body(self, params: Any, *, session: Session | None = None) -> str:
            raise ValueError("no")

    prompt = Prompt(PromptTemplate("ns", "key", sections=[Broken("Broken", summary="s", visibility=SUMMARY)]))

    assert not call(prompt, Session(), "read_section", section_key="broken").success


Tree = tuple[bool, tuple[Any, ...]]
trees = st.recursive(
    st.tuples(st.booleans(), st.just(())),
    lambda below: st.tuples(st.booleans(), st.lists(below, max_size=3)),
    max_leaves=12,
)


def sections_of(trees: Any) -> list[Section[Any]]:
    return [
        TextSection(
            f"S{index}",
            "text",
            summary="summary",
            visibility=SUMMARY if closed else FULL,
            children=sections_of(below),
        )
        for index, (closed, below) in enumerate(trees)
    ]


def shown(trees: Any, path: tuple[str, ...], opened: set[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """A model of visibility: the summarised sections that are seen."""
    found: list[tuple[str, ...]] = []
    for index, (closed, below) in enumerate(trees):
        here = (*path, f"s{index}")
        if closed and here not in opened:
            found.append(here)
        else:
            found += shown(below, here, opened)
    return found


def all_open(trees: Any) -> Any:
    return [(False, all_open(below)) for _, below in trees]


@settings(deadline=None)
@given(st.lists(trees, min_size=1, max_size=3), st.data())
def test_opening_one_after_the_other_shows_everything_in_the_end(forest: Any, data: st.DataObject) -> None:
    """Whatever the tree and the order, what is summarised is what the simple model says."""
    prompt, session = Prompt(PromptTemplate("ns", "key", sections=sections_of(forest))), Session()
    opened: set[tuple[str, ...]] = set()
    while True:
        rendered, expected = prompt.render(session=session), shown(forest, (), opened)
        assert rendered.summarised == tuple(".".join(path) for path in expected)
        assert bool(expected) == (rendered.tool("open_sections") is not None)
        if not expected:
            break
        path = data.draw(st.sampled_from(expected))
        with pytest.raises(VisibilityExpansionRequired) as caught:
            call(prompt, session, "open_sections", section_keys=[".".join(path)], reason="more")
        apply_expansion(session, caught.value)
        opened.add(path)
    everything = Prompt(PromptTemplate("ns", "key", sections=sections_of(all_open(forest)))).render()
    assert rendered.text == everything.text
