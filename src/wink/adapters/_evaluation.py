"""One evaluation of a prompt: ask the model, execute its calls, answer, until it is done."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

from wink.adapters._conversation import Conversation, Exchange, ModelTurn
from wink.adapters._response import ModelReplied, ModelTold, PromptResponse
from wink.adapters._run_state import KeepsPrompts, RunJournal, RunState, told
from wink.adapters._tracing import Tracing, tracing
from wink.errors import (
    ApprovalRequired,
    BudgetExceededError,
    DeadlineExceededError,
    OutputParseError,
    PromptEvaluationError,
    RunSuspended,
    VisibilityExpansionRequired,
)
from wink.limits import Budget, BudgetTracker, Deadline, Heartbeat, RunContext, TokenUsage, utc_now
from wink.prompt import Prompt
from wink.runtime import (
    READ_RESULT,
    Approvals,
    PromptExecuted,
    PromptRendered,
    RenderedTools,
    ToolCall,
    ToolExecutor,
    ToolReply,
    with_read_result,
)
from wink.session import Session
from wink.tools import Image
from wink.transactions import heartbeats_around, limits_around

MAX_TURNS: Final = 200
"""How many answers a model may give in one evaluation."""

MAX_EXPANSIONS: Final = 32
"""How often the prompt may be rendered anew in one evaluation because the model opens sections."""

RETRIES: Final = 3
"""How often a model is told that its last answer was not one, for each kind of reason."""

Asking = Callable[[Conversation], Awaitable[ModelTurn]]
Executing = Callable[[ToolExecutor, Sequence[ToolCall]], Awaitable[Sequence[ToolReply | Exception]]]


class EvaluationOptions(TypedDict, total=False):
    """What `ProviderAdapter.evaluate`, which says what each is, can be given by name."""

    deadline: Deadline | None
    budget: Budget | None
    heartbeat: Heartbeat | None
    run_context: RunContext | None
    max_turns: int
    approvals: Approvals | None
    journal: RunJournal | None
    resume: RunState | None
    images: Sequence[Image]


@dataclass(slots=True)
class Evaluation:
    """What one evaluation works with; `run` is its life."""

    adapter: Any
    prompt: Prompt[Any]
    session: Session
    deadline: Deadline | None = None
    budget: Budget | None = None
    heartbeat: Heartbeat | None = None
    run_context: RunContext | None = None
    max_turns: int = MAX_TURNS
    approvals: Approvals | None = None
    journal: RunJournal | None = None
    resume: RunState | None = None
    images: Sequence[Image] = ()
    started_at: datetime = field(init=False, default_factory=utc_now)
    _started: float = field(init=False, default_factory=time.perf_counter)
    _used: TokenUsage = field(init=False, default_factory=TokenUsage)
    _trackers: tuple[BudgetTracker, ...] = field(init=False, default=())
    _conversation: Conversation = field(init=False)
    _executor: ToolExecutor = field(init=False)
    _ids: set[str] = field(init=False, default_factory=set[str])
    _expansions: int = field(init=False, default=0)
    _tracing: Tracing | None = field(init=False, default=None)
    _retried: dict[str, int] = field(init=False, default_factory=dict[str, int])

    async def run(self, ask: Asking, execute: Executing) -> PromptResponse[Any]:
        """Work until the model answers without calling a tool, and nothing is missing from its answer."""
        self._tracing = tracing(self.adapter)
        if self._tracing is None:
            return await self._run(ask, execute)
        with self._tracing.run(self.prompt.name, self.session):
            return await self._run(ask, execute)

    async def _run(self, ask: Asking, execute: Executing) -> PromptResponse[Any]:
        try:
            self._take_limits()
            self._render(self.resume.exchanges if self.resume is not None else ())
            if self.prompt.template.feedback_providers:
                from wink.prompt.guardrails import watch_feedback

                watch_feedback(prompt=self.prompt, session=self.session, deadline=self.deadline)
            turn, replies = self._pending()
            while True:
                if turn is None:
                    turn = await self._ask(ask)
                if turn.calls:
                    await self._answer(turn, replies, execute)
                else:
                    response = self._judge(turn)
                    if response is not None:
                        self._end(response)
                        return response
                turn, replies = None, ()
        except RunSuspended as suspended:
            if self.journal is not None:
                self.journal.suspended(suspended.state)
            raise
        except Exception as error:
            if self.journal is not None:
                self.journal.stopped(str(error))
            raise

    @property
    def _name(self) -> str:
        return self._conversation.prompt.prompt_name

    # -- before the first turn, and whenever the prompt has changed

    def _take_limits(self) -> None:
        outer_deadline, self._trackers = limits_around()
        if self.budget is not None:
            self._trackers = (*self._trackers, BudgetTracker(self.budget))
        own = None if self.budget is None else self.budget.deadline
        given = [deadline for deadline in (self.deadline, own, outer_deadline) if deadline is not None]
        self.deadline = min(given, key=lambda deadline: deadline.expires_at) if given else None

    def _render(self, exchanges: tuple[Exchange, ...]) -> None:
        rendered = with_read_result(self.prompt.render(session=self.session), self.session)
        rendered = replace(rendered, deadline=self.deadline)
        self.session.publish(PromptRendered(rendered.prompt_name, rendered.text, utc_now()))
        names = tuple(tool.name for tool in rendered.tools)
        self.session.publish(RenderedTools(rendered.prompt_name, names, utc_now()))
        if isinstance(self.journal, KeepsPrompts):
            self.journal.rendered(rendered.prompt_name, rendered.text, names)
        self._conversation = Conversation(rendered, exchanges, tuple(self.images), self.session.dispatcher.dispatch)
        self._executor = ToolExecutor(
            prompt=self.prompt,
            rendered=rendered,
            session=self.session,
            adapter=self.adapter,
            deadline=self.deadline,
            budget_tracker=self._trackers[-1] if self._trackers else None,
            heartbeat=self.heartbeat,
            run_context=self.run_context,
            approvals=self.approvals,
        )

    def _pending(self) -> tuple[ModelTurn | None, tuple[ToolReply | None, ...]]:
        """The turn that a resumed run has to answer first, and those of its replies that are known."""
        state = self.resume
        if state is None:
            return None, ()
        self._used = state.usage
        for tracker in self._trackers:
            tracker.record(state.usage)
        for exchange in state.exchanges:
            self._ids.update(call.call_id for call in exchange.turn.calls)
        if state.turn is None:
            return None, ()
        self._ids.update(call.call_id for call in state.turn.calls)
        known = dict(zip((call.call_id for call in state.turn.calls), state.replies, strict=False))
        return state.turn, tuple(known.get(call.call_id) or self._executed(call) for call in state.turn.calls)

    def _executed(self, call: ToolCall) -> ToolReply | None:
        text = None if self.journal is None else self.journal.executed(call.call_id)
        return None if text is None else told(call, text, success=True)

    # -- a turn

    async def _ask(self, ask: Asking) -> ModelTurn:
        number = len(self._conversation.exchanges) + 1
        if number > self.max_turns:
            raise self._over("turns", f"the model was not done after {self.max_turns} turns")
        self._check_limits()
        self._beat()
        if self._tracing is None:
            turn = await ask(self._conversation)
        else:
            with self._tracing.turn() as turns:
                turns.append(turn := await ask(self._conversation))
        turn = self._with_ids(turn, number)
        self._beat()
        self._used += turn.usage
        for tracker in self._trackers:
            tracker.record(turn.usage)
        if self.journal is not None:
            self.journal.turned(number, turn)
        self.session.dispatcher.dispatch(ModelReplied(self._name, turn, utc_now()))
        return turn

    async def _answer(self, turn: ModelTurn, known: Sequence[ToolReply | None], execute: Executing) -> None:
        """Execute the calls that have no reply yet, and go on with all replies; raises when a person has to be asked."""
        replies = list(known) or [None] * len(turn.calls)
        open_calls = [(index, call) for index, call in enumerate(turn.calls) if replies[index] is None]
        outcomes = await execute(self._executor, [call for _, call in open_calls])
        waiting: list[Any] = []
        opened = False
        failure: Exception | None = None
        for (index, call), outcome in zip(open_calls, outcomes, strict=True):
            if isinstance(outcome, ToolReply):
                replies[index] = outcome
            elif isinstance(outcome, VisibilityExpansionRequired):
                replies[index] = reply = self._opened(call, outcome)
                opened = opened or reply.success
            elif isinstance(outcome, ApprovalRequired):
                waiting.append(outcome.request)
            else:
                failure = failure or outcome
        if failure is not None:
            raise failure
        if waiting:
            state = RunState(self._name, self._conversation.exchanges, turn, tuple(replies), self._used)
            raise RunSuspended(waiting, state, self._name)
        self._go_on(turn, tuple(reply for reply in replies if reply is not None), self._feedback())
        if opened or self._has_more_to_read():
            self._render(self._conversation.exchanges)

    def _opened(self, call: ToolCall, wanted: VisibilityExpansionRequired) -> ToolReply:
        """Open sections for the rest of the session; the next request shows them."""
        from wink.prompt import apply_expansion

        if self._expansions >= MAX_EXPANSIONS:
            text = f"{call.name} failed: this run has opened sections {MAX_EXPANSIONS} times; go on with what is open"
            return told(call, text, success=False)
        self._expansions += 1
        apply_expansion(self.session, wanted)
        keys = ", ".join(wanted.section_keys)
        return told(call, f"opened {keys}: the text is in the prompt now, and so are the tools", success=True)

    def _has_more_to_read(self) -> bool:
        """Whether a result was too long to be sent whole, for the first time; the model needs the tool then."""
        rendered = self._conversation.prompt
        return rendered.tool(READ_RESULT) is None and with_read_result(rendered, self.session) is not rendered

    def _feedback(self) -> str:
        if not self.prompt.template.feedback_providers:
            return ""
        from wink.prompt.guardrails import collect_feedback

        return collect_feedback(
            prompt=self.prompt, session=self.session, deadline=self.deadline, filesystem=self.prompt.filesystem()
        )

    def _go_on(self, turn: ModelTurn, replies: tuple[ToolReply, ...], note: str) -> None:
        number = len(self._conversation.exchanges) + 1
        if self.journal is not None:
            self.journal.replied(number, replies, note)
        if note:
            self.session.dispatcher.dispatch(ModelTold(self._name, note, utc_now()))
        exchange = Exchange(turn, replies, note)
        self._conversation = replace(self._conversation, exchanges=(*self._conversation.exchanges, exchange))

    # -- an answer without calls

    def _judge(self, turn: ModelTurn) -> PromptResponse[Any] | None:
        """The response, or None when the model has been told what is missing."""
        output, problem = None, ""
        if turn.cut_off:
            problem = "Your answer was cut off at the limit of its length, and nothing in it was done. Go on in smaller steps."
            self._count("length", problem, None)
        elif self._conversation.prompt.container is not None:
            from wink.prompt import parse_structured_output

            try:
                output = parse_structured_output(turn.text, self._conversation.prompt)
            except OutputParseError as error:
                self._count("response", str(error), error)
                problem = f"Your answer could not be read: {error}\nAnswer again, with nothing but the output."
        if not problem:
            problem = self._missing(turn, output)
        if not problem:
            return PromptResponse(self._name, turn.text, output)
        self._go_on(turn, (), problem)
        return None

    def _missing(self, turn: ModelTurn, output: Any) -> str:
        """What the task still lacks, in the checker's words."""
        checker = self.prompt.template.task_completion_checker
        if checker is None:
            return ""
        from wink.prompt.guardrails import TaskCompletionContext, check_completion

        context = TaskCompletionContext(
            session=self.session,
            tentative_output=turn.text if output is None else output,
            filesystem=self.prompt.filesystem(),
            adapter=self.adapter,
        )
        result = check_completion(checker, context)
        if result.complete:
            return ""
        feedback = result.feedback or "The task is not complete."
        self._count("completion", feedback, None)
        return feedback

    def _count(self, phase: str, problem: str, error: Exception | None) -> None:
        """Raise when the model has been told often enough."""
        self._retried[phase] = count = self._retried.get(phase, 0) + 1
        if count > RETRIES:
            raise self._over(phase, f"{problem} (told {RETRIES} times)") from error

    def _end(self, response: PromptResponse[Any]) -> None:
        if self.journal is not None:
            self.journal.ended(response.text)
        duration = timedelta(seconds=time.perf_counter() - self._started)
        self.session.publish(PromptExecuted(self._name, response.text, self._used, self.started_at, duration))

    # -- limits

    def _check_limits(self) -> None:
        try:
            if self.deadline is not None:
                self.deadline.check()
            for tracker in self._trackers:
                tracker.check()
        except DeadlineExceededError as error:
            raise self._over("deadline", str(error)) from error
        except BudgetExceededError as error:
            raise self._over("budget", str(error)) from error

    def _over(self, phase: str, problem: str) -> PromptEvaluationError:
        return PromptEvaluationError(problem, phase=phase, prompt_name=self._name)

    def _beat(self) -> None:
        around = heartbeats_around()
        if self.heartbeat is not None and self.heartbeat not in around:
            self.heartbeat.beat()
        for heartbeat in around:
            heartbeat.beat()

    def _with_ids(self, turn: ModelTurn, number: int) -> ModelTurn:
        """The turn with ids that no other call of the run has, so that each is answered, and found again, as itself."""
        given = {call.call_id for call in turn.calls}
        calls: list[ToolCall] = []
        for index, call in enumerate(turn.calls, 1):
            call_id = call.call_id
            if not call_id or call_id in self._ids:
                call_id = f"turn-{number}-call-{index}"
                while call_id in self._ids or call_id in given:
                    call_id += "-again"
            self._ids.add(call_id)
            calls.append(call if call_id == call.call_id else replace(call, call_id=call_id))
        return replace(turn, calls=tuple(calls), model=turn.model or str(getattr(self.adapter, "model", "")))
