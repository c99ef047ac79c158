"""What an adapter promises to the prompts that it evaluates."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator, Sequence
from typing import Any, ClassVar

import pytest

from wink.adapters import ModelReplied, ModelTurn, ProviderAdapter
from wink.dataclass import dataclass
from wink.errors import PromptEvaluationError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.limits import Budget, TokenUsage
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import PromptExecuted, PromptRendered, ToolCall, ToolInvoked
from wink.session import Session
from wink.testing._deadline import FrozenDeadline
from wink.testing._events import EventLog
from wink.testing._promise import Promised, needs
from wink.tools import Tool, ToolContext, ToolResult

TEXTS = ("plain", "", " \t\n", "“quotes” and é, 漢, 🦆", 'a "b" \\ c', "</tool>", "x" * 5000)
"""Texts that have to reach a tool as they are."""


class AdapterContract(Promised):
    """All that an adapter promises, as tests for pytest: say how to make one whose provider says what it is told to.

    ```python
    class TestAcme(AdapterContract):
        def make_adapter(self, turns):
            return AcmeAdapter(transport=FakeAcme(turns))
    ```

    A test that needs more of the provider is collected when the class declares it, and defines the method for it:
    `can_be_unreachable` with `make_unreachable`, and `shows_requests` with `answers_sent`.
    """

    reports_usage: ClassVar[bool] = True
    """The adapter tells how many tokens each turn has used."""

    keeps_ids: ClassVar[bool] = True
    """The calls of a turn have the ids that the provider gave them."""

    can_be_cut_off: ClassVar[bool] = True
    """The provider says when a turn was cut off at its limit of output."""

    can_be_unreachable: ClassVar[bool] = False
    """`make_unreachable` is defined."""

    shows_requests: ClassVar[bool] = False
    """`answers_sent` is defined."""

    def make_adapter(self, turns: Sequence[ModelTurn]) -> ProviderAdapter:
        """An adapter whose model says these turns, one after the other, over all evaluations that it is used for."""
        raise NotImplementedError(f"{type(self).__name__} must define make_adapter(self, turns)")

    def make_unreachable(self) -> ProviderAdapter:
        """An adapter whose provider cannot be had: refuses connections, breaks off, or has no such model."""
        raise NotImplementedError(f"{type(self).__name__} must define make_unreachable(self)")

    def answers_sent(self, adapter: ProviderAdapter) -> Sequence[Sequence[tuple[str, str]]]:
        """For each request in order the answers to calls that it carried: the call's id and the text, as the model reads it."""
        raise NotImplementedError(f"{type(self).__name__} must define answers_sent(self, adapter)")

    @pytest.fixture
    def run(self) -> Generator[Run]:
        """One prompt with tools, a session, and what was told of them."""
        run = Run(self.make_adapter)
        yield run
        run.close()

    # -- turns and calls

    def test_a_text_ends_the_work(self, run: Run) -> None:
        """Give a turn without calls as a `ModelTurn` with its whole text: it is the answer."""
        response = run.evaluate(ModelTurn("The answer is “42”.\n\nDone."))
        assert response.text == "The answer is “42”.\n\nDone."
        assert run.events.of(ToolInvoked) == ()
        assert run.counts() == {"PromptRendered": 1, "ModelReplied": 1, "PromptExecuted": 1}

    def test_calls_are_executed_once_each_and_in_order(self, run: Run) -> None:
        """Hand on every call of a turn, none twice, in the order of the provider, those of a turn that has text as well."""
        run.evaluate(
            ModelTurn("First.", (note("a", "id-1"), note("b", "id-2"), note("c", "id-3"))),
            ModelTurn(calls=(note("d", "id-4"),)),
            ModelTurn("Done."),
        )
        assert run.log == "a\nb\nc\nd\n"
        assert [event.params for event in run.events.of(ToolInvoked)] == [Text(text) for text in "abcd"]
        assert [event.turn.text for event in run.events.of(ModelReplied)] == ["First.", "", "Done."]

    @needs("keeps_ids")
    def test_calls_keep_their_ids(self, run: Run) -> None:
        """Give each call the id that the provider gave it: its answer is found by it, after a crash too."""
        run.evaluate(ModelTurn(calls=(note("a", "id-1"), note("b", "id-2"))), ModelTurn("Done."))
        assert [event.call_id for event in run.events.of(ToolInvoked)] == ["id-1", "id-2"]

    def test_calls_with_one_id_are_two_calls(self, run: Run) -> None:
        """Drop no call because its id was seen before: some providers number the calls of each turn from one."""
        run.evaluate(
            ModelTurn(calls=(note("a", "1"), note("b", "1"))), ModelTurn(calls=(note("c", "1"),)), ModelTurn("Done.")
        )
        assert run.log == "a\nb\nc\n"
        ids = [event.call_id for event in run.events.of(ToolInvoked)]
        assert len(set(ids)) == 3

    @pytest.mark.parametrize("text", TEXTS)
    def test_arguments_arrive_as_they_are(self, run: Run, text: str) -> None:
        """Hand the arguments on as the provider sent them, JSON text or an object, without taking them apart."""
        run.evaluate(ModelTurn(calls=(note(text, "id-1"),)), ModelTurn("Done."))
        (event,) = run.events.of(ToolInvoked)
        assert event.params == Text(text)

    def test_a_call_that_fails_does_not_end_the_run(self, run: Run) -> None:
        """Leave it to the loop what becomes of a call: an unknown tool, wrong arguments and a handler that raises are answered
        like any other call, and the model goes on."""
        response = run.evaluate(
            ModelTurn(
                calls=(
                    ToolCall("no_such_tool", "{}", "id-1"),
                    ToolCall("note", '{"words": 1}', "id-2"),
                    ToolCall("fail", '{"text": "x"}', "id-3"),
                    note("after", "id-4"),
                )
            ),
            ModelTurn("Done."),
        )
        assert response.text == "Done."
        assert [event.success for event in run.events.of(ToolInvoked)] == [False, False, False, True]
        assert run.log == "after\n"

    @needs("can_be_cut_off")
    def test_a_turn_that_was_cut_off_is_no_answer(self, run: Run) -> None:
        """Say `cut_off=True`, without calls, where the provider stopped at its limit: half a call must not be executed, and half
        an answer is none."""
        response = run.evaluate(ModelTurn("The answer is", cut_off=True), ModelTurn("42."))
        assert response.text == "42."

    def test_answers_that_are_data_are_read(self, run: Run) -> None:
        """Give the text of a turn as it is: what the prompt asks for is read from it, and the model is told what is wrong."""
        template = PromptTemplate[Count](ns="test", key="data", sections=[MarkdownSection("Task", "Count.", "task")])
        response = run.evaluate(ModelTurn("many"), ModelTurn('{"total": 3}'), prompt=Prompt(template))
        assert response.output == Count(3)

    # -- what the provider is sent

    @needs("shows_requests")
    def test_every_call_is_answered_once_and_in_its_place(self, run: Run) -> None:
        """Send with each request one answer for each call so far, in the order of the calls, under the call's own id: providers
        refuse a request in which one is missing or there twice."""
        turns = (
            ModelTurn("First.", (note("a", "id-1"), ToolCall("fail", '{"text": "x"}', "id-2"))),
            ModelTurn(calls=(ToolCall("no_such_tool", "{}", "id-3"),)),
            ModelTurn("Done."),
        )
        run.evaluate(*turns)
        sent = [[call_id for call_id, _ in answers] for answers in self.answers_sent(run.adapter)]
        assert sent == [[], ["id-1", "id-2"], ["id-1", "id-2", "id-3"]]
        texts = dict(self.answers_sent(run.adapter)[-1])
        assert "noted a" in texts["id-1"]
        for event in run.events.of(ToolInvoked):
            assert event.rendered_output in texts[event.call_id]

    # -- limits

    @needs("reports_usage")
    def test_tokens_are_counted(self, run: Run) -> None:
        """Give each turn the `TokenUsage` that the provider reports; budgets and bills go by it."""
        run.evaluate(
            ModelTurn(calls=(note("a", "id-1"),), usage=TokenUsage(input_tokens=10, output_tokens=5)),
            ModelTurn("Done.", usage=TokenUsage(input_tokens=20, output_tokens=7)),
        )
        used = run.events.latest(PromptExecuted).usage
        assert (used.input_tokens, used.output_tokens) == (30, 12)

    @needs("reports_usage")
    def test_a_budget_that_is_used_up_ends_the_run(self, run: Run) -> None:
        """Leave the budget to the loop, which looks at it before each request; an adapter with a loop of its own raises
        `PromptEvaluationError` with phase `budget`."""
        spent = ModelTurn(calls=(note("a", "id-1"),), usage=TokenUsage(input_tokens=100, output_tokens=50))
        error = run.fails(spent, ModelTurn("Too late."), budget=Budget(max_total_tokens=100))
        assert error.phase in ("budget", "tool")
        assert len(run.events.of(ModelReplied)) == 1

    def test_a_passed_deadline_ends_the_run(self, run: Run) -> None:
        """Ask nothing once the deadline has passed, and raise `PromptEvaluationError` with phase `deadline`."""
        error = run.fails(ModelTurn("Too late."), deadline=FrozenDeadline(0))
        assert error.phase == "deadline"
        assert run.events.of(ModelReplied) == ()

    def test_a_deadline_that_passes_in_a_call_ends_the_run(self, run: Run) -> None:
        """Let no request follow it; what had been done before stands."""
        deadline = FrozenDeadline(60)
        run.waits = lambda: deadline.advance(120)
        error = run.fails(
            ModelTurn(calls=(note("a", "id-1"), ToolCall("wait", '{"text": "x"}', "id-2"))),
            ModelTurn("Too late."),
            deadline=deadline,
        )
        assert error.phase in ("deadline", "tool")
        assert run.log.startswith("a\n")
        assert len(run.events.of(ModelReplied)) == 1

    def test_a_model_that_never_ends_is_stopped(self, run: Run) -> None:
        """Leave `max_turns` to the loop; an adapter with a loop of its own raises with phase `turns`."""
        turns = [ModelTurn(calls=(note(str(number), f"id-{number}"),)) for number in range(6)]
        error = run.fails(*turns, max_turns=3)
        assert error.phase == "turns"
        assert run.log == "0\n1\n2\n"

    @needs("can_be_unreachable")
    def test_a_provider_that_cannot_be_had_is_one_kind_of_error(self, run: Run) -> None:
        """Raise `PromptEvaluationError` with phase `request`, from the original error, for whatever the provider or its library
        does: programs catch this one, on the event loop too."""
        adapter = self.make_unreachable()
        try:
            with pytest.raises(PromptEvaluationError) as raised:
                adapter.evaluate(run.prompt, session=run.session)
            assert raised.value.phase == "request"
            with pytest.raises(PromptEvaluationError) as raised:
                asyncio.run(adapter.aevaluate(run.prompt, session=run.session))
            assert raised.value.phase == "request"
        finally:
            adapter.close()
        assert run.events.of(ToolInvoked) == ()

    # -- its life

    def test_it_works_on_an_event_loop(self, run: Run) -> None:
        """Override `arespond` where the provider has an asynchronous client; `aevaluate` has to say what `evaluate` says."""
        turns = (ModelTurn(calls=(note("a", "id-1"), note("b", "id-2"))), ModelTurn("Done."))
        assert asyncio.run(run.aevaluate(*turns)).text == "Done."
        assert run.log == "a\nb\n"

    def test_it_can_be_used_again(self, run: Run) -> None:
        """Keep nothing of an evaluation in the adapter: one serves many, after `close` too."""
        turns = (ModelTurn(calls=(note("a", "id-1"),)), ModelTurn("Done."))
        adapter = self.make_adapter((*turns, *turns, *turns))
        try:
            for number in range(3):
                assert adapter.evaluate(run.prompt, session=run.session).text == "Done."
                assert run.log == "a\n" * (number + 1)
                if number:
                    adapter.close()
        finally:
            adapter.close()


@dataclass(frozen=True)
class Text:
    """What the tools take."""

    text: str


@dataclass(frozen=True)
class Count:
    """An answer that is data."""

    total: int


def note(text: str, call_id: str) -> ToolCall:
    """A call that is noted in a file."""
    return ToolCall("note", json.dumps({"text": text}), call_id)


class Run:
    """A prompt with three tools, evaluated by adapters that `make` gives."""

    def __init__(self, make: Callable[[Sequence[ModelTurn]], ProviderAdapter]) -> None:
        self._make = make
        self._made: list[ProviderAdapter] = []
        self.files = InMemoryFilesystem()
        self.session = Session()
        self.events = EventLog(self.session)
        self.waits: Callable[[], object] = lambda: None
        tools = (
            Tool[Text, None]("note", "Note a text.", self._note),
            Tool[Text, None]("fail", "Fails.", self._fail),
            Tool[Text, None]("wait", "Takes its time.", self._wait),
        )
        section = MarkdownSection("Task", "Note what is asked for.", "task", tools=tools)
        template = PromptTemplate(ns="test", key="adapter", sections=[section])
        self.prompt: Prompt[Any] = Prompt(template).bind(resources={Filesystem: self.files})

    @property
    def log(self) -> str:
        """What was noted."""
        return self.files.read("log.txt").content if self.files.exists("log.txt") else ""

    @property
    def adapter(self) -> ProviderAdapter:
        """The adapter of the last evaluation."""
        return self._made[-1]

    def counts(self) -> dict[str, int]:
        """How often each event of an evaluation was told of."""
        kinds = (PromptRendered, ModelReplied, PromptExecuted)
        return {kind.__name__: len(self.events.of(kind)) for kind in kinds}

    def evaluate(self, *turns: ModelTurn, prompt: Prompt[Any] | None = None, **limits: Any) -> Any:
        """Let an adapter say these turns."""
        self._made.append(self._make(turns))
        return self.adapter.evaluate(prompt or self.prompt, session=self.session, **limits)

    async def aevaluate(self, *turns: ModelTurn) -> Any:
        """The same on an event loop."""
        self._made.append(self._make(turns))
        return await self.adapter.aevaluate(self.prompt, session=self.session)

    def fails(self, *turns: ModelTurn, **limits: Any) -> PromptEvaluationError:
        """The error of an evaluation that does not come to its end."""
        with pytest.raises(PromptEvaluationError) as raised:
            self.evaluate(*turns, **limits)
        return raised.value

    def close(self) -> None:
        """Let go of all adapters."""
        for adapter in self._made:
            adapter.close()

    def _note(self, params: Text, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.append("log.txt", f"{params.text}\n")
        return ToolResult(f"noted {params.text}", None)

    def _fail(self, params: Text, *, context: ToolContext) -> ToolResult[None]:
        del context
        raise RuntimeError(params.text)

    def _wait(self, params: Text, *, context: ToolContext) -> ToolResult[None]:
        del params, context
        self.waits()
        return ToolResult("waited", None)
