"""Programs that use adapters as the specification names them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_type_hints

import pytest

from wink.adapters import PromptEvaluationError, PromptResponse, ProviderAdapter, ScriptedAdapter
from wink.limits import Budget, Deadline
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, RenderedPrompt, Tool, ToolContext, ToolResult
from wink.runtime import PromptExecuted, PromptRendered, RenderedTools, ToolCall, ToolInvoked
from wink.session import Session

SEEN: list[ToolContext] = []


def look(params: None, *, context: ToolContext) -> ToolResult[None]:
    SEEN.append(context)
    return ToolResult.ok(None, message="seen")


def prompt(name: str = "Outer", handler: Any = look) -> Prompt:
    tool = Tool[None, None](name="look", description="Look.", handler=handler)
    sections = [MarkdownSection(title="T", template="x", key="t", tools=[tool])]
    return Prompt(PromptTemplate(ns="spec", key="adapter", name=name, sections=sections))


def test_an_evaluation_answers_with_a_response() -> None:
    """Under the deadline that the handlers see as well, with its events in the session."""
    SEEN.clear()
    session, deadline = Session(), Deadline(datetime.now(UTC) + timedelta(hours=1))
    adapter = ScriptedAdapter([ToolCall("look"), "Done."])

    response = adapter.evaluate(prompt(), session=session, deadline=deadline, budget=Budget(max_total_tokens=1000))

    assert response == PromptResponse(prompt_name="Outer", text="Done.", output=None)
    (context,) = SEEN
    assert isinstance(context.adapter, ProviderAdapter)
    assert context.deadline is deadline
    assert isinstance(context.rendered_prompt, RenderedPrompt)
    assert context.rendered_prompt.deadline is deadline
    for event in (PromptRendered, RenderedTools, ToolInvoked, PromptExecuted):
        assert len(session[event].all()) == 1


def test_a_handler_may_evaluate_another_prompt() -> None:
    """In the same session."""

    def ask(params: None, *, context: ToolContext) -> ToolResult[None]:
        answer = ScriptedAdapter(["Inner answer."]).evaluate(prompt("Inner"), session=context.session)
        return ToolResult.ok(None, message=answer.text)

    session = Session()
    ScriptedAdapter([ToolCall("look"), "Done."]).evaluate(prompt(handler=ask), session=session)

    (call,) = session[ToolInvoked].all()
    assert call.rendered_output == "Inner answer."
    assert [event.prompt_name for event in session[PromptExecuted].all()] == ["Inner", "Outer"]


def test_an_adapter_may_have_a_loop_of_its_own() -> None:
    """`evaluate` is what the specification names; nothing else need be there."""

    class Echo(ProviderAdapter):
        def evaluate(self, prompt: Any, *, session: Any, **limits: Any) -> PromptResponse:  # type: ignore[override]
            return PromptResponse(prompt.name, prompt.render(session=session).text, None)

    assert Echo().evaluate(prompt(), session=Session()).text == "## 1. T\n\nx"
    with pytest.raises(NotImplementedError, match="Nothing overrides neither"):
        type("Nothing", (ProviderAdapter,), {})().evaluate(prompt(), session=Session())


def test_an_evaluation_that_cannot_go_on_says_in_which_phase() -> None:
    """By position and by keyword."""
    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter(["x"]).evaluate(
            prompt(), session=Session(), deadline=Deadline(datetime.now(UTC) - timedelta(seconds=1))
        )
    assert raised.value.phase == "deadline"
    assert PromptEvaluationError("no", phase="request", prompt_name="p").phase == "request"


def test_annotations_may_name_the_type_of_the_output() -> None:
    """As the data model of `ToolContext` does, without `from __future__ import annotations` too."""

    def takes(prompt: Prompt[Any], rendered: RenderedPrompt[Any] | None, adapter: ProviderAdapter[Any]) -> None:  # type: ignore[type-arg]
        """Only its annotations matter."""

    assert set(get_type_hints(takes)) == {"prompt", "rendered", "adapter", "return"}
    assert PromptResponse[Any]("p", "text") == PromptResponse("p", "text")  # type: ignore[misc]
