"""Deadlines, budgets and heartbeats at every step of a run: each request, each call, and prompts inside calls."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wink.adapters import ModelTurn, ScriptedAdapter
from wink.errors import PromptEvaluationError
from wink.limits import Budget, BudgetTracker, Deadline, Heartbeat, TokenUsage
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.session import Session

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
Handler = Callable[[ToolContext], Any]


def prompt_with(**handlers: Handler) -> Prompt[Any]:
    def tool(name: str, handler: Handler) -> Tool[None, None]:
        def handle(params: None, *, context: ToolContext) -> ToolResult[None]:
            handler(context)
            return ToolResult.ok(None, message="done")

        return Tool[None, None](name=name, description="Do it.", handler=handle)

    tools = [tool(name, handler) for name, handler in handlers.items()]
    return Prompt(
        PromptTemplate(ns="t", key="-".join(("t", *handlers)), sections=[MarkdownSection("T", "x", tools=tools)])
    )


@dataclass
class Clock:
    """Stands still unless a tool makes time pass."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def pass_seconds(self, seconds: float) -> Handler:
        def handler(context: ToolContext) -> None:
            self.now += timedelta(seconds=seconds)

        return handler


def calls(*names: str, tokens: int = 0) -> ModelTurn:
    return ModelTurn(calls=tuple(ToolCall(name, {}) for name in names), usage=TokenUsage(input_tokens=tokens))


@dataclass
class Counted:
    """A heartbeat, and how often it beat."""

    heart: Heartbeat = field(default_factory=Heartbeat)
    beats: int = 0

    def __post_init__(self) -> None:
        self.heart.add_callback(self._beat)

    def _beat(self) -> None:
        self.beats += 1


# -- deadlines


def test_no_request_is_made_after_the_deadline() -> None:
    """The call that took too long stands; the model is not asked again."""
    clock, session = Clock(), Session()
    prompt = prompt_with(wait=clock.pass_seconds(61))
    adapter = ScriptedAdapter([calls("wait"), "Never said."])

    with pytest.raises(PromptEvaluationError, match="the deadline passed at 2030-01-01T12:01:00") as raised:
        adapter.evaluate(prompt, session=session, deadline=Deadline.after(60, clock=clock))

    assert raised.value.phase == "deadline"
    assert [event.success for event in session[ToolInvoked]] == [True]


def test_no_call_is_executed_after_the_deadline() -> None:
    """Not even of the same turn; each has its event."""
    clock, session, done = Clock(), Session(), list[str]()
    prompt = prompt_with(wait=clock.pass_seconds(61), work=lambda context: done.append("work"))

    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter([calls("work", "wait", "work", "work")]).evaluate(
            prompt, session=session, deadline=Deadline.after(60, clock=clock)
        )

    assert raised.value.phase == "tool"
    assert done == ["work"]
    assert [event.success for event in session[ToolInvoked]] == [True, True, False, False]


def test_a_budget_brings_its_own_deadline() -> None:
    """The earlier of the two counts."""
    clock = Clock()
    prompt = prompt_with(wait=clock.pass_seconds(31))
    budget = Budget(deadline=Deadline.after(30, clock=clock))
    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter([calls("wait"), "x"]).evaluate(
            prompt, session=Session(), deadline=Deadline.after(60, clock=clock), budget=budget
        )
    assert raised.value.phase == "deadline"


def test_a_prompt_inside_a_call_has_no_more_time_than_the_call() -> None:
    """Also when it was given more."""
    clock, seen, said = Clock(), list[Deadline | None](), list[str]()

    def look(context: ToolContext) -> None:
        seen.append(context.deadline)

    inner = prompt_with(look=look, wait=clock.pass_seconds(61))

    def ask(context: ToolContext) -> None:
        later = Deadline.after(3600, clock=clock)
        try:
            ScriptedAdapter([calls("look", "wait", "look"), "x"]).evaluate(
                inner, session=context.session, deadline=later
            )
        except PromptEvaluationError as error:
            said.append(error.phase)
            raise

    deadline = Deadline.after(60, clock=clock)
    with pytest.raises(PromptEvaluationError):
        ScriptedAdapter([calls("ask"), "x"]).evaluate(prompt_with(ask=ask), session=Session(), deadline=deadline)
    assert seen == [deadline]
    assert said == ["tool"]


def test_a_call_inside_a_call_has_no_more_time_either() -> None:
    """An executor that somebody builds in a handler is no way around the limits."""
    clock, seen = Clock(), list[Any]()
    inner = prompt_with(look=lambda context: seen.append((context.deadline, context.budget_tracker, context.heartbeat)))

    def ask(context: ToolContext) -> None:
        run = ToolExecutor(prompt=inner, rendered=inner.render(session=context.session), session=context.session)
        run.execute(ToolCall("look", {}))
        clock.now += timedelta(seconds=61)
        with pytest.raises(PromptEvaluationError):
            run.execute(ToolCall("look", {}))

    outer, deadline = prompt_with(ask=ask), Deadline.after(60, clock=clock)
    tracker, heart = BudgetTracker(Budget(max_total_tokens=5)), Heartbeat()
    ToolExecutor(
        prompt=outer,
        rendered=outer.render(),
        session=Session(),
        deadline=deadline,
        budget_tracker=tracker,
        heartbeat=heart,
    ).execute(ToolCall("ask", {}))
    assert seen == [(deadline, tracker, heart)]


# -- budgets


def test_no_call_is_executed_and_no_request_made_over_the_budget() -> None:
    """The turn that went over has been paid for; its calls are not executed."""
    session, done = Session(), list[int]()
    prompt = prompt_with(work=lambda context: done.append(1))
    turns = [calls("work", tokens=60), calls("work", tokens=60), "x"]

    with pytest.raises(PromptEvaluationError, match="120 total tokens used of 100 allowed") as raised:
        ScriptedAdapter(turns).evaluate(prompt, session=session, budget=Budget(max_total_tokens=100))

    assert raised.value.phase == "tool"
    assert done == [1]


def test_an_answer_that_was_paid_for_is_given() -> None:
    """Nothing more is spent by giving it."""
    turn = ModelTurn("Done.", usage=TokenUsage(500, 500))
    adapter = ScriptedAdapter([turn])
    assert adapter.evaluate(prompt_with(), session=Session(), budget=Budget(max_total_tokens=1)).text == "Done."


@pytest.mark.parametrize("own", [None, Budget(max_total_tokens=10_000)], ids=["shared", "own"])
def test_a_prompt_inside_a_call_spends_the_budget_of_the_call(own: Budget | None) -> None:
    """Whether or not it has one of its own: both are checked before each request and each call."""
    done: list[int] = []
    inner = prompt_with(work=lambda context: done.append(1))

    def ask(context: ToolContext) -> None:
        turns = [calls("work", tokens=40), calls("work", tokens=40), calls("work", tokens=40), "x"]
        ScriptedAdapter(turns).evaluate(inner, session=context.session, budget=own)

    with pytest.raises(PromptEvaluationError, match="110 total tokens used of 100 allowed"):
        ScriptedAdapter([calls("ask", tokens=30), "x"]).evaluate(
            prompt_with(ask=ask), session=Session(), budget=Budget(max_total_tokens=100)
        )
    assert done == [1]


def test_what_a_prompt_inside_has_spent_counts_when_it_is_done() -> None:
    """The outer run is not asked again."""
    inner = prompt_with(work=lambda context: None)

    def ask(context: ToolContext) -> None:
        ScriptedAdapter([ModelTurn("x", usage=TokenUsage(200))]).evaluate(inner, session=context.session)

    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter([calls("ask"), "x"]).evaluate(
            prompt_with(ask=ask), session=Session(), budget=Budget(max_total_tokens=100)
        )
    assert raised.value.phase == "budget"


# -- heartbeats


def test_every_step_is_a_sign_of_life() -> None:
    """Before and after each request, before each call, and where a handler says so."""
    seen: list[int] = []
    counted = Counted()

    def work(context: ToolContext) -> None:
        seen.append(counted.beats)
        context.beat()
        seen.append(counted.beats)
        assert context.heartbeat is counted.heart

    ScriptedAdapter([calls("work", "work"), "x"]).evaluate(
        prompt_with(work=work), session=Session(), heartbeat=counted.heart
    )
    assert seen == [3, 4, 5, 6]
    assert counted.beats == 8


def test_a_prompt_inside_a_call_beats_for_the_run_around_it() -> None:
    """It may take long, and whoever watches the outer run must not take that for silence."""
    outer, seen = Counted(), list[int]()

    def work(context: ToolContext) -> None:
        assert context.heartbeat is outer.heart
        context.beat()
        seen.append(outer.beats)

    inner = prompt_with(work=work)

    def ask(context: ToolContext) -> None:
        seen.append(outer.beats)
        ScriptedAdapter([calls("work"), "x"]).evaluate(inner, session=context.session)
        seen.append(outer.beats)

    ScriptedAdapter([calls("ask"), "x"]).evaluate(prompt_with(ask=ask), session=Session(), heartbeat=outer.heart)
    assert seen == [3, 7, 9]


def test_a_prompt_with_a_heartbeat_of_its_own_beats_for_both() -> None:
    """Each watcher hears of it once."""
    outer, own, seen = Counted(), Counted(), list[tuple[int, int]]()

    def work(context: ToolContext) -> None:
        assert context.heartbeat is own.heart
        context.beat()
        seen.append((outer.beats, own.beats))

    inner = prompt_with(work=work)

    def ask(context: ToolContext) -> None:
        outer.beats = 0
        ScriptedAdapter([calls("work"), "x"]).evaluate(inner, session=context.session, heartbeat=own.heart)
        seen.append((outer.beats, own.beats))

    ScriptedAdapter([calls("ask"), "x"]).evaluate(prompt_with(ask=ask), session=Session(), heartbeat=outer.heart)
    assert seen == [(4, 4), (6, 6)]


def test_a_watcher_that_fails_disturbs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The run goes on, and the other watchers hear of it."""
    counted = Counted(Heartbeat())
    counted.heart.add_callback(lambda: 1 // 0)
    counted.heart.add_callback(counted._beat)
    session = Session()
    with caplog.at_level(logging.ERROR, "wink.limits"):
        ScriptedAdapter([calls("work"), "x"]).evaluate(
            prompt_with(work=lambda context: context.beat()), session=session, heartbeat=counted.heart
        )
    assert [event.success for event in session[ToolInvoked]] == [True]
    assert counted.beats == 2 * len(caplog.records) == 12


def test_without_a_heartbeat_nobody_is_told() -> None:
    """`context.beat()` may always be called."""
    session = Session()
    ScriptedAdapter([calls("work"), "x"]).evaluate(prompt_with(work=lambda context: context.beat()), session=session)
    assert [event.success for event in session[ToolInvoked]] == [True]


def test_the_same_holds_on_an_event_loop() -> None:
    """A handler that is a coroutine evaluates another prompt, and so do two of them side by side."""
    import asyncio

    outer, done = Counted(), list[int]()
    inner = prompt_with(work=lambda context: done.append(1))

    async def ask(params: None, *, context: ToolContext) -> ToolResult[None]:
        turns = [calls("work", tokens=40), calls("work", tokens=40), "x"]
        await ScriptedAdapter(turns).aevaluate(inner, session=context.session)
        return ToolResult.ok(None, message="done")

    tool = Tool[None, None](name="ask", description="Ask.", handler=ask)
    prompt = Prompt(PromptTemplate(ns="t", key="loop", sections=[MarkdownSection("T", "x", tools=[tool])]))

    async def run(limit: int) -> str:
        try:
            await ScriptedAdapter([calls("ask", tokens=30), "x"]).aevaluate(
                prompt, session=Session(), budget=Budget(max_total_tokens=limit), heartbeat=outer.heart
            )
        except PromptEvaluationError as error:
            return str(error)
        return "done"

    async def both() -> list[str]:
        return await asyncio.gather(run(100), run(1000))

    first, second = asyncio.run(both())
    assert "110 total tokens used of 100 allowed" in first
    assert second == "done"
    assert len(done) == 3
    assert outer.beats > 12
