"""Evaluate a prompt with a model: ask, execute the calls that it makes, answer, until it is done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final

from wink.adapters._conversation import Conversation, Exchange, ModelTurn
from wink.errors import BudgetExceededError, DeadlineExceededError, PromptEvaluationError
from wink.limits import Budget, BudgetTracker, Deadline, Heartbeat, RunContext, TokenUsage, utc_now
from wink.prompt import Prompt
from wink.runtime import PromptExecuted, PromptRendered, RenderedTools, ToolCall, ToolExecutor
from wink.session import Session
from wink.transactions import limits_around

MAX_TURNS: Final = 200
"""How many answers a model may give in one evaluation."""


@dataclass(frozen=True, slots=True)
class PromptResponse:
    """What an evaluation came to: the model's last text; `output` is its parsed form where the prompt declares one."""

    prompt_name: str
    text: str
    output: Any = None

    if not TYPE_CHECKING:  # annotations of programs name the type of `output`
        __class_getitem__ = classmethod(GenericAlias)


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """The model has answered; its calls are about to be executed."""

    prompt_name: str
    turn: ModelTurn
    at: datetime


class ProviderAdapter:
    """A model behind one method, `respond`; the loop around it is the same for all.

    A subclass overrides `respond`, or `evaluate` where it has a loop of its own.
    """

    if not TYPE_CHECKING:  # annotations of programs name the type of its outputs
        __class_getitem__ = classmethod(GenericAlias)

    def respond(self, conversation: Conversation) -> ModelTurn:
        """Ask the model for its next turn. Raises `PromptEvaluationError` (phase `request`) when it cannot be had."""
        del conversation
        raise NotImplementedError(f"{type(self).__qualname__} overrides neither `respond` nor `evaluate`")

    def evaluate(
        self,
        prompt: Prompt,
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
        run_context: RunContext | None = None,
        max_turns: int = MAX_TURNS,
    ) -> PromptResponse:
        """Work on `prompt` until the model answers without calling a tool.

        A tool call never ends the evaluation, whatever becomes of it. Inside a tool call the deadline and the budget of
        the run around it count as well. Raises `PromptEvaluationError`: phase `request`
        when the model cannot be reached, `deadline`, `budget` and `turns` when a limit is passed, `tool` when a limit is
        passed inside a call.
        """
        started_at, started = utc_now(), time.perf_counter()
        outer_deadline, trackers = limits_around()
        if budget is not None:
            trackers = (*trackers, BudgetTracker(budget))
        deadline = _earliest(deadline, budget.deadline if budget is not None else None, outer_deadline)
        rendered = replace(prompt.render(session=session), deadline=deadline)
        name = rendered.prompt_name
        session.publish(PromptRendered(name, rendered.text, utc_now()))
        session.publish(RenderedTools(name, tuple(tool.name for tool in rendered.tools), utc_now()))
        executor = ToolExecutor(
            prompt=prompt,
            rendered=rendered,
            session=session,
            adapter=self,
            deadline=deadline,
            budget_tracker=trackers[-1] if trackers else None,
            heartbeat=heartbeat,
            run_context=run_context,
        )
        conversation, used = Conversation(rendered), TokenUsage()
        for number in range(1, max_turns + 1):
            _check_limits(name, deadline, trackers)
            turn = with_ids(self.respond(conversation), number)
            used += turn.usage
            for tracker in trackers:
                tracker.record(turn.usage)
            session.dispatcher.dispatch(ModelReplied(name, turn, utc_now()))
            if not turn.calls:
                duration = timedelta(seconds=time.perf_counter() - started)
                session.publish(PromptExecuted(name, turn.text, used, started_at, duration))
                return PromptResponse(name, turn.text)
            replies = executor.execute_batch(turn.calls)
            conversation = replace(conversation, exchanges=(*conversation.exchanges, Exchange(turn, replies)))
        raise PromptEvaluationError(f"the model was not done after {max_turns} turns", phase="turns", prompt_name=name)


def with_ids(turn: ModelTurn, number: int) -> ModelTurn:
    """The turn with an id of its own on each call, so that each can be answered exactly once."""
    seen: set[str] = set()
    given = {call.call_id for call in turn.calls}
    calls: list[ToolCall] = []
    for index, call in enumerate(turn.calls, 1):
        call_id = call.call_id
        if not call_id or call_id in seen:
            call_id = f"turn-{number}-call-{index}"
            while call_id in seen or call_id in given:
                call_id += "-again"
        seen.add(call_id)
        calls.append(call if call_id == call.call_id else replace(call, call_id=call_id))
    return replace(turn, calls=tuple(calls))


def _earliest(*deadlines: Deadline | None) -> Deadline | None:
    given = [deadline for deadline in deadlines if deadline is not None]
    return min(given, key=lambda deadline: deadline.expires_at) if given else None


def _check_limits(name: str, deadline: Deadline | None, trackers: Sequence[BudgetTracker]) -> None:
    try:
        if deadline is not None:
            deadline.check()
        for tracker in trackers:
            tracker.check()
    except DeadlineExceededError as error:
        raise PromptEvaluationError(str(error), phase="deadline", prompt_name=name) from error
    except BudgetExceededError as error:
        raise PromptEvaluationError(str(error), phase="budget", prompt_name=name) from error
