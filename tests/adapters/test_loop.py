"""The loop around a model: turns, batches, ids, events, and every limit that ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wink.adapters import (
    Conversation,
    ModelReplied,
    ModelTurn,
    PromptEvaluationError,
    ProviderAdapter,
    ScriptedAdapter,
)
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.limits import Budget, Deadline, TokenUsage
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import PromptExecuted, PromptRendered, RenderedTools, ToolCall, ToolInvoked
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult


@dataclass(frozen=True, slots=True)
class Text:
    """Parameters."""

    text: str = "x"


@dataclass(frozen=True, slots=True)
class Note:
    """A result."""

    text: str

    def render(self) -> str:
        return f"noted {self.text}"


def note(params: Text, *, context: ToolContext) -> ToolResult[Note]:
    """Write a file and return a note."""
    context.filesystem.write(f"{params.text}.txt", params.text)
    return ToolResult[Note].ok(Note(params.text))


def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
    """Write a file and fail."""
    context.filesystem.write("failed.txt", params.text)
    raise ValueError("no")


def prompt_of(*handlers: Callable[..., Any]) -> Prompt:
    """A prompt with these tools over an empty tree."""
    tools = [Tool[Text, Note](name=handler.__name__, description="A tool.", handler=handler) for handler in handlers]
    section = MarkdownSection(title="Task", key="task", template="Do it.", tools=tools)
    template = PromptTemplate(ns="test", key="loop", name="looping", sections=[section])
    return Prompt(template).bind(resources={Filesystem: InMemoryFilesystem()})


def call(name: str, text: str = "x", call_id: str = "") -> ToolCall:
    return ToolCall(name, {"text": text}, call_id)


class Watching(ProviderAdapter):
    """A scripted model that keeps what it was sent."""

    def __init__(self, turns: Sequence[ModelTurn]) -> None:
        self.turns, self.sent = list(turns), list[Conversation]()

    def respond(self, conversation: Conversation) -> ModelTurn:
        self.sent.append(conversation)
        return self.turns[len(conversation.exchanges)]


def test_a_text_ends_the_evaluation() -> None:
    """The simplest run: one question, one answer."""
    response = ScriptedAdapter(["Done."]).evaluate(prompt_of(note), session=Session())

    assert (response.prompt_name, response.text, response.output) == ("looping", "Done.", None)


def test_a_model_is_sent_everything_that_was_said() -> None:
    """Turn for turn, each call with its reply, failed ones too."""
    adapter = Watching(
        [
            ModelTurn("First.", (call("note", "1"), call("fail", "2"))),
            ModelTurn("", (call("nothing"),)),
            ModelTurn("Done."),
        ]
    )
    prompt = prompt_of(note, fail)

    adapter.evaluate(prompt, session=Session())

    assert [len(conversation.exchanges) for conversation in adapter.sent] == [0, 1, 2]
    first, second = adapter.sent[2].exchanges
    assert [reply.success for reply in first.replies] == [True, False]
    assert first.replies[0].text == "OK\n\nnoted 1"
    assert "there is no tool 'nothing'" in second.replies[0].text
    assert adapter.sent[0].prompt.text == "## 1. Task\n\nDo it."
    filesystem = prompt.resources.get(Filesystem)
    assert filesystem.exists("1.txt")
    assert not filesystem.exists("failed.txt")


def test_events_tell_the_run_in_order() -> None:
    """What a person watching sees."""
    session, heard = Session(), list[object]()
    session.dispatcher.subscribe(object, heard.append)

    ScriptedAdapter([[call("note"), call("fail")], "Done."]).evaluate(prompt_of(note, fail), session=session)

    assert [type(event) for event in heard] == [
        PromptRendered,
        RenderedTools,
        ModelReplied,
        ToolInvoked,
        ToolInvoked,
        ModelReplied,
        PromptExecuted,
    ]
    assert session[PromptExecuted].all()[0].text == "Done."
    assert session[RenderedTools].all()[0].names == ("note", "fail")


def test_usage_is_summed_up() -> None:
    """Over all requests of the evaluation."""
    session = Session()
    turns = [
        ModelTurn(calls=(call("note"),), usage=TokenUsage(input_tokens=10, output_tokens=1)),
        ModelTurn("Done.", usage=TokenUsage(input_tokens=20, output_tokens=2, cached_tokens=5)),
    ]

    ScriptedAdapter(turns).evaluate(prompt_of(note), session=session)

    assert session[PromptExecuted].all()[0].usage == TokenUsage(30, 3, 5)


@pytest.mark.parametrize(
    "given", [("", ""), ("a", "a"), ("a", ""), ("turn-1-call-2", ""), ("", "turn-1-call-1"), ("a", "b")]
)
def test_each_call_of_a_turn_has_an_id_of_its_own(given: tuple[str, str]) -> None:
    """Each can be answered exactly once; ids that a provider gave and that differ are kept."""
    adapter = Watching([ModelTurn(calls=tuple(call("note", call_id=one) for one in given)), ModelTurn("Done.")])

    adapter.evaluate(prompt_of(note), session=Session())

    (exchange,) = adapter.sent[1].exchanges
    asked = [one.call_id for one in exchange.turn.calls]
    assert len(set(asked)) == 2
    assert all(asked)
    assert [reply.call_id for reply in exchange.replies] == asked
    assert all(theirs in ("", "a", ours) or given == ("", theirs) for theirs, ours in zip(given, asked, strict=True))


def test_a_passed_deadline_ends_the_run_before_the_model_is_asked() -> None:
    """With its phase, and nothing begun."""
    adapter = Watching([])

    with pytest.raises(PromptEvaluationError) as raised:
        adapter.evaluate(prompt_of(), session=Session(), deadline=Deadline(datetime.now(UTC) - timedelta(seconds=1)))

    assert (raised.value.phase, raised.value.prompt_name, adapter.sent) == ("deadline", "looping", [])


def test_a_budgets_deadline_counts_too() -> None:
    """Whichever comes first."""
    past, future = (Deadline(datetime.now(UTC) + timedelta(hours=hours)) for hours in (-1, 1))

    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter(["Done."]).evaluate(
            prompt_of(), session=Session(), deadline=future, budget=Budget(deadline=past)
        )

    assert raised.value.phase == "deadline"


def test_a_used_up_budget_ends_the_run() -> None:
    """Before anything else is changed; the calls that were asked for are accounted for."""
    session = Session()
    turns = [ModelTurn(calls=(call("note"),), usage=TokenUsage(input_tokens=11)), ModelTurn("Done.")]

    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter(turns).evaluate(prompt_of(note), session=session, budget=Budget(max_total_tokens=10))

    assert raised.value.phase == "tool"
    assert [event.success for event in session[ToolInvoked].all()] == [False]
    assert len(session[PromptExecuted]) == 0


def test_a_budget_that_an_answer_without_calls_used_up_is_no_loss() -> None:
    """The answer is there; the next request is what would not be made."""
    turns = [ModelTurn("Done.", usage=TokenUsage(input_tokens=11))]

    response = ScriptedAdapter(turns).evaluate(prompt_of(note), session=Session(), budget=Budget(max_total_tokens=10))

    assert response.text == "Done."


def test_a_model_that_never_ends_is_stopped() -> None:
    """After as many turns as were allowed, each with its calls answered."""
    session = Session()
    adapter = ScriptedAdapter([lambda conversation: ModelTurn(calls=(call("note"),))] * 5)

    with pytest.raises(PromptEvaluationError, match="after 3 turns") as raised:
        adapter.evaluate(prompt_of(note), session=session, max_turns=3)

    assert raised.value.phase == "turns"
    assert len(session[ToolInvoked]) == 3


def test_what_a_tool_raises_on_purpose_ends_the_run_after_its_siblings() -> None:
    """The one way in which a call ends an evaluation."""

    def stop(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        raise PromptEvaluationError("gone", phase="request")

    session, prompt = Session(), prompt_of(note, stop)

    with pytest.raises(PromptEvaluationError, match="gone"):
        ScriptedAdapter([[call("stop"), call("note")]]).evaluate(prompt, session=session)

    assert prompt.resources.get(Filesystem).exists("x.txt")
    assert len(session[ToolInvoked]) == 2


def nested(inner: ProviderAdapter, **options: Any) -> Callable[..., Any]:
    """A tool that has another prompt evaluated."""

    def ask(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        filesystem = {Filesystem: context.filesystem}
        prompt = Prompt(prompt_of(note).template).bind(resources=filesystem)
        inner.evaluate(prompt, session=Session(parent=context.session), **options)
        return ToolResult[Note].ok(Note("asked")) if params.text == "ok" else ToolResult[Note].error("no")

    return ask


def test_a_nested_evaluation_is_undone_with_its_call() -> None:
    """Its files are those of the call, through the call's own handle."""
    prompt = prompt_of(nested(ScriptedAdapter([call("note", "inner"), "Done."])))

    ScriptedAdapter([call("ask", "fail"), "Done."]).evaluate(prompt, session=Session())
    undone = prompt.resources.get(Filesystem).exists("inner.txt")
    ScriptedAdapter([call("ask", "ok"), "Done."]).evaluate(prompt, session=Session())

    assert not undone
    assert prompt.resources.get(Filesystem).exists("inner.txt")


def test_a_nested_evaluation_counts_against_the_budget_around_it() -> None:
    """Also when it has a budget of its own, which is larger."""
    inner = ScriptedAdapter(
        [ModelTurn(calls=(call("note"),), usage=TokenUsage(input_tokens=50)), ModelTurn("Never reached.")]
    )
    session = Session()
    outer = ScriptedAdapter([call("ask", "ok"), "Done."])

    with pytest.raises(PromptEvaluationError, match="50 total tokens used of 10 allowed"):
        outer.evaluate(
            prompt_of(nested(inner, budget=Budget(max_total_tokens=1000))),
            session=session,
            budget=Budget(max_total_tokens=10),
        )

    assert len(session[PromptExecuted]) == 0


def test_a_nested_evaluation_keeps_to_the_deadline_around_it() -> None:
    """A run that has to end ends with everything that it started."""
    clock = [datetime.now(UTC)]
    deadline = Deadline(clock[0] + timedelta(seconds=60), clock=lambda: clock[0])

    def late(conversation: Conversation) -> ModelTurn:
        clock[0] += timedelta(seconds=61)
        return ModelTurn(calls=(call("note"),))

    session = Session()

    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter([call("ask", "ok"), "Done."]).evaluate(
            prompt_of(nested(ScriptedAdapter([late, "Never reached."]))), session=session, deadline=deadline
        )

    assert raised.value.phase == "tool"
    assert [event.success for event in session[ToolInvoked].all()] == [False]


def test_aevaluate_hands_everything_to_an_evaluate_of_ones_own() -> None:
    """An adapter that overrides `evaluate` must not lose the caller's limits, approvals and state on the way."""
    got: dict[str, Any] = {}

    class Own(ScriptedAdapter):
        def evaluate(self, prompt: Any, **given: Any) -> Any:
            got.update(given)

    names = ("deadline", "budget", "heartbeat", "run_context", "max_turns", "approvals", "journal", "resume", "images")
    given = {name: object() for name in ("session", *names)}
    asyncio.run(Own([]).aevaluate(Prompt(PromptTemplate("t", "t")), **given))  # type: ignore[arg-type]
    assert got == given
    got.clear()
    asyncio.run(Own([]).aevaluate(Prompt(PromptTemplate("t", "t")), session=given["session"]))  # type: ignore[arg-type]
    assert got == {"session": given["session"]}, "one that takes less is given no more than the caller gives"
