"""Statements of the specification that no other test here holds: one test each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from wink.adapters import ModelTurn, ScriptedAdapter
from wink.errors import OutputParseError, VisibilityExpansionRequired
from wink.limits import TokenUsage
from wink.prompt import (
    LocalPromptOverridesStore,
    MarkdownSection,
    Prompt,
    PromptDescriptor,
    PromptTemplate,
    SectionDescriptor,
    SectionOverride,
    SectionVisibility,
    Tool,
    ToolContext,
    ToolDescriptor,
    ToolResult,
    VisibilityOverrides,
    parse_structured_output,
)
from wink.runtime import PromptExecuted, PromptRendered, RenderedTools, ToolCall, ToolExecutor, ToolInvoked
from wink.session import Session


@dataclass(frozen=True)
class Answer:
    """With a text of its own."""

    text: str = "an answer"

    def render(self) -> str:
        return self.text


@dataclass
class Task:
    """Parameters."""

    goal: str = "rest"


def look(params: None, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult.ok(None, message="seen")


LOOK = Tool[None, None](name="look", description="Look.", handler=look)


def executor(prompt: Prompt[Any], session: Session) -> ToolExecutor:
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)


def test_older_spellings_can_only_be_read() -> None:
    """They are kept for programs that read them; nothing is set through them."""
    prompt, session = Prompt(PromptTemplate(ns="spec", key="old")), Session()
    context = ToolContext(prompt, None, None, session)  # type: ignore[arg-type]
    result = ToolResult.ok(Answer())

    assert (result.payload, context.event_bus) == (result.value, session.dispatcher)
    for owner, name in ((result, "payload"), (context, "event_bus")):
        with pytest.raises((AttributeError, TypeError)):
            setattr(owner, name, None)


@pytest.mark.parametrize(
    ("result", "sent"),
    [
        (ToolResult.ok(Answer("value"), message="message"), "message\n\nvalue"),
        (ToolResult("message", Answer("value"), exclude_value_from_context=True), "message"),
        (ToolResult("", Answer("value")), "value"),
        (ToolResult("message", Answer("")), "message"),
        (ToolResult.ok(None, message="message"), "message"),
        (ToolResult("message", None, exclude_value_from_context=True), "message"),
        (ToolResult.error("no"), "no"),
    ],
)
def test_what_the_model_is_sent(result: ToolResult[Answer], sent: str) -> None:
    """Through a call, with the same text in its event."""
    tool = Tool[None, Answer](name="do", description="Do it.", handler=lambda params, *, context: result)
    session = Session()
    prompt = Prompt(PromptTemplate(ns="spec", key="sent", sections=[MarkdownSection("T", "x", tools=[tool])]))

    assert executor(prompt, session).execute(ToolCall("do")).text == sent
    assert [event.rendered_output for event in session[ToolInvoked]] == [sent]


FULL, SUMMARY = SectionVisibility.FULL, SectionVisibility.SUMMARY


@pytest.mark.parametrize(
    "visibility",
    [
        SUMMARY,
        lambda: SUMMARY,
        lambda *, session: SUMMARY if session is not None else FULL,
        lambda params: SUMMARY if params.goal == "rest" else FULL,
        lambda params, *, session: SUMMARY if session is not None and params.goal == "rest" else FULL,
    ],
    ids=["fixed", "nothing", "session", "params", "both"],
)
def test_visibility_takes_what_it_wants(visibility: SectionVisibility | Callable[..., SectionVisibility]) -> None:
    """As `enabled` does."""
    section = MarkdownSection[Task](
        title="T",
        template="All of $goal.",
        key="t",
        summary="Something about $goal.",
        visibility=visibility,
        tools=[LOOK],
    )
    rendered = Prompt(PromptTemplate(ns="spec", key="vis", sections=[section])).render(session=Session())

    assert "Something about rest." in rendered.text
    assert "All of rest." not in rendered.text


def test_what_is_summarised_is_opened_and_read() -> None:
    """Children and tools are hidden; reading changes nothing, opening is asked of whoever renders."""
    child = MarkdownSection("Child", "The child's text.", "child", tools=[LOOK])
    section = MarkdownSection("T", "Everything.", "t", summary="In short.", visibility=SUMMARY, children=[child])
    prompt, session = Prompt(PromptTemplate(ns="spec", key="open", sections=[section])), Session()
    before = prompt.render(session=session)

    assert "In short." in before.text
    assert "Everything." not in before.text
    assert "The child's text." not in before.text
    assert "look" not in [tool.name for tool in before.tools]
    with pytest.raises(VisibilityExpansionRequired) as raised:
        executor(prompt, session).execute(ToolCall("open_sections", {"section_keys": ["t"], "reason": "to see it"}))
    assert raised.value.reason == "to see it"
    assert tuple(raised.value.section_keys) == ("t",)
    assert raised.value.requested_overrides == {("t",): FULL}
    assert prompt.render(session=session).text == before.text

    ScriptedAdapter(
        [ToolCall("open_sections", {"section_keys": ["t"], "reason": "to see it"}), ToolCall("look", {}), "Done."]
    ).evaluate(prompt, session=session)
    after = prompt.render(session=session)
    assert "Everything." in after.text
    assert "look" in [tool.name for tool in after.tools]
    assert session[VisibilityOverrides].latest() is not None


def test_reading_a_summarised_section_changes_nothing() -> None:
    """`read_section(section_key)` gives the content of a section without tools."""
    section = MarkdownSection("T", "Everything.", "t", summary="In short.", visibility=SUMMARY)
    prompt, session = Prompt(PromptTemplate(ns="spec", key="read", sections=[section])), Session()
    before = prompt.render(session=session)

    reply = executor(prompt, session).execute(ToolCall("read_section", {"section_key": "t"}))

    assert reply.success
    assert "Everything." in reply.text
    assert prompt.render(session=session).text == before.text


def test_an_answer_that_is_none_is_kept() -> None:
    """Whoever catches the error sees what the model said."""
    rendered = Prompt(PromptTemplate[Answer](ns="spec", key="out")).render()

    assert parse_structured_output('Here:\n```json\n{"text": "x"}\n```', rendered) == Answer("x")
    assert parse_structured_output('So it is {"text": "y"}.', rendered) == Answer("y")
    with pytest.raises(OutputParseError) as raised:
        parse_structured_output("I do not know.", rendered)
    assert raised.value.text == "I do not know."


def test_a_response_has_the_output_that_was_declared() -> None:
    """An object, an array, or nothing where the template declares nothing."""
    one = PromptTemplate[Answer](ns="spec", key="one")
    many = PromptTemplate[list[Answer]](ns="spec", key="many")
    session = Session()

    response = ScriptedAdapter(['{"text": "x"}']).evaluate(Prompt(one), session=session)
    assert (response.prompt_name, response.text, response.output) == ("one", '{"text": "x"}', Answer("x"))
    assert ScriptedAdapter(['[{"text": "x"}, {"text": "y"}]']).evaluate(Prompt(many), session=session).output == [
        Answer("x"),
        Answer("y"),
    ]
    plain = Prompt(PromptTemplate(ns="spec", key="plain"))
    assert ScriptedAdapter(['{"text": "x"}']).evaluate(plain, session=session).output is None


def test_every_event_has_its_time_in_utc() -> None:
    """Those of a run that several machines take part in must compare."""
    prompt = Prompt(PromptTemplate(ns="spec", key="time", sections=[MarkdownSection("T", "x", tools=[LOOK])]))
    session = Session()
    turns = [
        ModelTurn(calls=(ToolCall("look"),), usage=TokenUsage(3, 2, 1)),
        ModelTurn("Done.", usage=TokenUsage(4, 1)),
    ]
    ScriptedAdapter(turns).evaluate(prompt, session=session)

    moments = [event.at for event in (*session[PromptRendered], *session[RenderedTools])]
    moments += [event.started_at for event in (*session[ToolInvoked], *session[PromptExecuted])]
    assert len(moments) == 4
    assert all(moment.utcoffset() == timedelta(0) for moment in (*moments, session.created_at))
    assert session.snapshot().created_at.utcoffset() == timedelta(0)
    (executed,) = session[PromptExecuted].all()
    assert executed.usage == TokenUsage(7, 3, 1)


def test_a_call_looks_at_as_many_items_in_a_long_session_as_in_a_short_one() -> None:
    """Counted, not timed: nobody iterates over a slice, and no slice's storage is copied, because of a call."""
    from wink.session import append_all

    tool = Tool[None, Answer](
        name="do", description="Do it.", handler=lambda params, *, context: ToolResult.ok(Answer())
    )
    prompt = Prompt(PromptTemplate(ns="spec", key="long", sections=[MarkdownSection("T", "x", tools=[tool])]))

    class Counted(list[Any]):
        """The storage of a slice, which tells when it is gone through."""

        walks = 0

        def __iter__(self) -> Any:
            Counted.walks += 1
            return super().__iter__()

        def __getitem__(self, index: Any) -> Any:
            if isinstance(index, slice):
                Counted.walks += 1
            return super().__getitem__(index)

    session = Session()
    session[Answer].register(Answer, append_all)
    run = executor(prompt, session)
    for _ in range(300):
        run.execute(ToolCall("do"))
    for view in session._state.views.values():
        view._buffer = Counted(view._buffer)  # type: ignore[union-attr]
    Counted.walks = 0
    for _ in range(300):
        assert run.execute(ToolCall("do")).success

    assert Counted.walks == 0
    assert len(session[Answer]) == len(session[ToolInvoked]) == 600


def test_a_rendering_describes_what_can_be_overridden(tmp_path: Any) -> None:
    """With hashes of the code's own words; what a person stores for them takes their place."""
    section = MarkdownSection("T", "The code's words.", "t", tools=[LOOK])
    closed = MarkdownSection("C", "Closed.", "c", accepts_overrides=False)
    template = PromptTemplate(ns="spec", key="desc", sections=[section, closed])
    descriptor = Prompt(template).render().descriptor

    assert isinstance(descriptor, PromptDescriptor)
    (described,) = descriptor.sections
    assert isinstance(described, SectionDescriptor)
    assert described.path == ("t",)
    (tool,) = descriptor.tools
    assert isinstance(tool, ToolDescriptor)
    assert tool.name == "look"

    store = LocalPromptOverridesStore(root_path=tmp_path)
    store.store(Prompt(template), SectionOverride(described.content_hash, "A person's words.", path=("t",)))
    text = Prompt(template, overrides_store=store, overrides_tag="latest").render().text
    assert "A person's words." in text
    assert "The code's words." not in text
    assert (tmp_path / ".wink/prompts/overrides/spec/desc/latest.json").is_file()
    assert Prompt(template).render().text.startswith("## 1. T\n\nThe code's words.")
