"""Take one tool call from a model's request to its reply."""

from __future__ import annotations

import functools
import itertools
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Literal, overload

from wink.errors import (
    ApprovalRequired,
    ParseError,
    RollbackFailed,
    SerdeError,
    WinkError,
    WorkspaceBusy,
    WorkspaceNeedsRecovery,
)
from wink.filesystem import Filesystem
from wink.limits import BudgetTracker, Deadline, Heartbeat, RunContext, is_interruption, utc_now
from wink.resources import ResourceContext
from wink.runtime._approval_desk import Desk
from wink.runtime._approvals import Approvals
from wink.runtime._books import Books
from wink.runtime._call import LEAST_LIMIT, READ_RESULT, RESULT_LIMIT, ToolCall, ToolReply
from wink.runtime._in_flight import InFlight
from wink.runtime._outcomes import CallFailed, failed_after, fails_with_words, failure_of, told
from wink.runtime._policing import ask, held, tell
from wink.runtime._results import check_result, new_values, rendered, unknown_tool
from wink.runtime._waiting import LEASE_SECONDS, Apart, Blocking, Cooperative, HandlerTimedOut, Waiting, drive
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink.transactions import (
    Outcome,
    Transaction,
    heartbeats_around,
    limits_around,
    turns_to_take,
)

_log = logging.getLogger("wink.runtime")
_call_ids = itertools.count(1)


class ToolExecutor:
    """Executes the calls that a model makes while it works on one rendered prompt.

    Every call is a transaction; `execute` returns a reply whatever the model asked for and whatever the tool did, and
    raises only what the outcome table says: `VisibilityExpansionRequired`, `ApprovalRequired`, `PromptEvaluationError` (a
    passed deadline or a used-up budget too), `RollbackFailed`, and interruptions: Ctrl-C and cancellation, but not what a
    handler raises that only looks like one (see `is_interruption`). Exactly one `ToolInvoked` is published for each call
    that ends; one that waits for approval does not.

    `approvals` answers for calls that policies leave to a person; without it they are denied until somebody has answered.

    One executor may be used from several threads and tasks at once.
    """

    def __init__(
        self,
        *,
        prompt: Any,
        rendered: Any,
        session: Session,
        adapter: Any = None,
        deadline: Deadline | None = None,
        budget_tracker: BudgetTracker | None = None,
        heartbeat: Heartbeat | None = None,
        run_context: RunContext | None = None,
        result_limit: int = RESULT_LIMIT,
        approvals: Approvals | None = None,
    ) -> None:
        if result_limit < LEAST_LIMIT:
            raise ValueError(f"result_limit is {result_limit}; it is a number of characters, at least {LEAST_LIMIT}")
        self._prompt, self._rendered, self._session, self._adapter = prompt, rendered, session, adapter
        self._deadline, self._budget, self._heartbeat, self._run = deadline, budget_tracker, heartbeat, run_context
        self._run_id = "" if run_context is None else run_context.run_id
        self._desk = Desk(session, approvals, self._run_id, self._name)
        self._books = Books(session, self._name, self._run_id, result_limit, rendered)

    def execute(self, call: ToolCall) -> ToolReply:
        """Execute one call and wait for its end; an async handler gets an event loop of its own."""
        return drive(self._execute(call, Blocking()))

    async def aexecute(
        self, call: ToolCall, *, apart: bool = False, queued: Callable[[], object] | None = None
    ) -> ToolReply:
        """Execute one call without blocking the event loop, except for sync handlers without a timeout.

        With `apart` every handler runs on a thread of its own, so that none can block the loop or end it; `queued` is
        told when such a call has its place among those that change something, which it takes in the order of places.
        """
        return await self._execute(call, Apart(queued) if apart else Cooperative())

    @overload
    def execute_batch(
        self, calls: Sequence[ToolCall], *, return_exceptions: Literal[False] = False
    ) -> tuple[ToolReply, ...]: ...
    @overload
    def execute_batch(
        self, calls: Sequence[ToolCall], *, return_exceptions: Literal[True]
    ) -> tuple[ToolReply | Exception, ...]: ...
    def execute_batch(
        self, calls: Sequence[ToolCall], *, return_exceptions: bool = False
    ) -> tuple[ToolReply | Exception, ...]:
        """Execute the calls of one model turn, and reply in their order.

        Neighbouring calls of tools that only read run together, on threads; all others run one after the other. Each
        is a transaction of its own: a call that fails never loses, cancels or undoes another. When calls raise, the
        others still run to their end, and then the first exception is raised, or, with `return_exceptions`, each stands in
        its reply's place.
        """
        from wink.runtime._batch import run_batch

        with self._desk.together() as asked:
            ended = run_batch(self, calls)
        return self._replies(ended, asked, return_exceptions)

    @overload
    async def aexecute_batch(
        self, calls: Sequence[ToolCall], *, return_exceptions: Literal[False] = False
    ) -> tuple[ToolReply, ...]: ...
    @overload
    async def aexecute_batch(
        self, calls: Sequence[ToolCall], *, return_exceptions: Literal[True]
    ) -> tuple[ToolReply | Exception, ...]: ...
    async def aexecute_batch(
        self, calls: Sequence[ToolCall], *, return_exceptions: bool = False
    ) -> tuple[ToolReply | Exception, ...]:
        """Like `execute_batch`, on the running event loop."""
        from wink.runtime._batch import arun_batch

        with self._desk.together() as asked:
            ended = await arun_batch(self, calls)
        return self._replies(ended, asked, return_exceptions)

    def _replies(
        self, ended: Sequence[ToolReply | Exception], asked: Sequence[Any], return_exceptions: bool
    ) -> tuple[Any, ...]:
        if asked:
            self._desk.settle(asked, self._prompt.resources.get_optional(Filesystem), ended)
        for outcome in () if return_exceptions else ended:
            if isinstance(outcome, Exception):
                raise outcome
        return tuple(ended)

    async def execute_after(self, call: ToolCall, waiting: Waiting, before: Future[None]) -> ToolReply:
        """Execute a read beside its siblings, and end it after `before`, when the calls before it have ended."""
        return await self._execute(call, waiting, after=before)

    def skip(self, request: ToolCall) -> None:
        """Account for a call that is not executed, because the program is ending."""
        call = InFlight(request, request.call_id or f"call-{next(_call_ids)}", utc_now(), time.perf_counter())
        call.outcome, call.text = "refused", f"{request.name} was not run: the turn was interrupted"
        call.result = ToolResult[Any].error(call.text)
        self._books.record_attempt(call)
        self._books.publish(call)

    def only_reads(self, call: ToolCall) -> bool:
        """Whether a call may run beside others that only read."""
        tool = self._rendered.tool(call.name)
        return tool is not None and tool.effects == "read"

    # -- the life of a call

    async def _execute(self, request: ToolCall, waiting: Waiting, *, after: Future[None] | None = None) -> ToolReply:
        call = InFlight(request, request.call_id or f"call-{next(_call_ids)}", utc_now(), time.perf_counter())
        try:
            try:
                while True:
                    self._look_up(call)
                    self._parse(call)
                    await self._take_turn(call, waiting)
                    self._begin(call)
                    if await self._ask_policies(call, waiting, after):
                        break
                    await self._ask_person(call, waiting)  # whose answer counts for what policies and files say then
                self._check_limits(call)
                self._desk.start(call, self._books)
                await self._run_handler(call, waiting)
                await self._await_siblings(call, waiting, after)
                await self._settle(call, waiting)
                self._commit(call)
            except BaseException as error:
                self._end_badly(call, error)
        finally:
            try:
                self._release(call)
            finally:
                self._books.publish(call)
        return self._books.reply(call)

    def _look_up(self, call: InFlight) -> None:
        call.tool = self._rendered.tool(call.request.name) or self._own_tool(call.request.name)
        if call.tool is None:
            raise CallFailed(unknown_tool(call.request.name, [tool.name for tool in self._rendered.tools]), "refused")
        if call.tool.handler is None:
            raise CallFailed(f"{call.tool.name} cannot be called: it has no handler", "refused")
        resources: ResourceContext = self._prompt.resources
        call.resources, call.root = resources, resources.get_optional(Filesystem)

    def _own_tool(self, name: str) -> Tool[Any, Any] | None:
        """The tool that a shortened result speaks of, also where it was rendered before there was one."""
        if name != READ_RESULT:
            return None
        from wink.runtime._spill import read_result_tool

        return read_result_tool()

    def _parse(self, call: InFlight) -> None:
        tool = _known(call.tool)
        try:
            call.params = tool.parse(call.request.arguments)
        except ParseError as error:
            raise CallFailed(f"the arguments of {tool.name} are not valid: {error}", "refused") from error
        except BaseException as error:  # foreign code: `__post_init__` of the params
            if is_interruption(error):
                raise
            text = f"the arguments of {tool.name} are not valid: {type(error).__name__}"
            raise CallFailed(text, "refused", told(error)) from error

    async def _take_turn(self, call: InFlight, waiting: Waiting) -> None:
        """One mutating call at a time, from before the policies to the commit; what they saw then still holds."""
        if _known(call.tool).effects not in ("workspace", "external"):
            return  # a read needs none, and what runs programs takes it to change files with what they did
        turns = turns_to_take(self._session, call.root)
        try:
            await waiting.turn(turns, self._patience())
        except (WorkspaceBusy, WorkspaceNeedsRecovery, RollbackFailed) as error:
            raise self._no_turn(call, error, "was not run", "refused") from error
        call.ends.append(turns.release)

    def _patience(self) -> float:
        """How many seconds a call may wait for its turn."""
        if self._deadline is None:
            return LEASE_SECONDS
        return max(0.0, self._deadline.remaining().total_seconds())

    def _no_turn(self, call: InFlight, error: WinkError, what: str, outcome: Outcome) -> CallFailed:
        if not isinstance(error, WorkspaceBusy):
            text = f"{call.request.name} {what}: nothing can be changed until `wink recover` has been run"
            return CallFailed(text, outcome, str(error))
        if self._deadline is not None:
            self._deadline.check()
        text = f"{call.request.name} {what}: another call has been busy for {error.waited_seconds:.0f} s; try again"
        return CallFailed(text, outcome, str(error))

    def _begin(self, call: InFlight) -> None:
        resources = _known(call.resources)
        call.transaction = transaction = Transaction(
            self._session, resources, root=call.root, writable=_known(call.tool).effects != "read"
        )
        transaction.deadline, transaction.budget_tracker, transaction.heartbeat = self._limits(transaction.around)
        transaction.run, transaction.call_id = self._run_id, call.call_id
        if _known(call.tool).effects == "process":
            turns = turns_to_take(self._session, call.root)
            call.ends.append(transaction.wait_for_turn_late(turns, self._patience))
        files = transaction.filesystem
        scope = resources.call_scope({} if files is None else {Filesystem: files}, transaction.remember)
        call.ends.append(scope.close)
        call.context = ToolContext(
            prompt=self._prompt,
            rendered_prompt=self._rendered,
            adapter=self._adapter,
            session=self._session,
            deadline=transaction.deadline,
            budget_tracker=transaction.budget_tracker,
            heartbeat=transaction.heartbeat,
            run_context=self._run,
            call_id=call.call_id,
            scope=scope,
        )
        transaction.enter()
        call.ends.append(transaction.leave)

    async def _ask_policies(self, call: InFlight, waiting: Waiting, after: Future[None] | None) -> bool:
        """Whether the call may run now; False when a person has to be asked, or has given other arguments."""
        tool, context = _known(call.tool), _known(call.context)
        policies = self._rendered.policies_for_tool(tool.name)
        call.verdicts = await ask(policies, tool, call.params, context, waiting)
        verdicts = held(call.verdicts)
        if not verdicts:
            return True
        if after is not None:
            # A sibling that is still running may be what the policy is waiting for.
            await waiting.sibling(after)
            call.verdicts = await ask(policies, tool, call.params, context, waiting)
            verdicts = held(call.verdicts)
            if not verdicts:
                return True
        if not verdicts[0].asks:
            raise CallFailed(verdicts[0].reason or "", "denied")
        self._desk.consider(call, verdicts)
        return call.consent is not None

    async def _ask_person(self, call: InFlight, waiting: Waiting) -> None:
        """Take back what the call has begun, let others have their turn, and wait for a person."""
        _known(call.transaction).abort()
        self._release(call)
        call.ends.clear()
        await self._desk.wait_for_person(call, waiting, self._deadline)

    def _limits(self, around: Transaction | None) -> tuple[Deadline | None, BudgetTracker | None, Heartbeat | None]:
        """The limits of this run; inside a call it has no more time than the call, and shares what it has none of."""
        deadline, budget, heartbeat = self._deadline, self._budget, self._heartbeat
        if around is None:
            return deadline, budget, heartbeat
        its_deadline, its_budgets = limits_around()
        if deadline is None or (its_deadline is not None and its_deadline.expires_at < deadline.expires_at):
            deadline = its_deadline
        if budget is None and its_budgets:
            budget = its_budgets[-1]
        return deadline, budget, around.heartbeat if heartbeat is None else heartbeat

    def _check_limits(self, call: InFlight) -> None:
        """Hold this call against its limits and those of the calls around it."""
        if _known(call.transaction).around is not None:
            hearts, (deadline, budgets) = heartbeats_around(), limits_around()
        else:
            hearts = () if self._heartbeat is None else (self._heartbeat,)
            deadline, budgets = self._deadline, () if self._budget is None else (self._budget,)
        for heart in hearts:
            heart.beat()
        if deadline is not None:
            deadline.check()
        for budget in budgets:
            budget.check()

    async def _run_handler(self, call: InFlight, waiting: Waiting) -> None:
        tool, context = _known(call.tool), _known(call.context)
        timeout = tool.timeout
        if timeout is not None and context.deadline is not None:
            timeout = min(timeout, max(0.0, context.deadline.remaining().total_seconds()))
        handler = functools.partial(_known(tool.handler), call.params, context=context)
        try:
            call.result = await waiting.handler(
                handler, is_async=tool.is_async, timeout=timeout, apart=tool.effects == "process"
            )
        except HandlerTimedOut:
            if context.deadline is not None:
                context.deadline.check()
            _known(call.transaction).revoke()
            raise CallFailed(f"{tool.name} timed out after {timeout:g} s; nothing was changed") from None
        except WorkspaceBusy as error:
            raise self._no_turn(call, error, "was taken back", "rolled back") from error

    async def _await_siblings(self, call: InFlight, waiting: Waiting, after: Future[None] | None) -> None:
        """Reads that ran together end in the model's order, judged by what the earlier ones left."""
        if after is None:
            return
        await waiting.sibling(after)
        tool = _known(call.tool)
        policies = self._rendered.policies_for_tool(tool.name)
        call.verdicts = await ask(policies, tool, call.params, _known(call.context), waiting)
        verdicts = held(call.verdicts)
        if verdicts and not verdicts[0].asks:
            raise CallFailed(verdicts[0].reason or "", "denied")
        if verdicts and (call.consent is None or not call.consent.covers(verdicts)):
            raise CallFailed(f"{tool.name} needs approval since the calls before it ended; call it again", "denied")

    async def _settle(self, call: InFlight, waiting: Waiting) -> None:
        """Everything of a success that can still fail: the result's type, its text, reducers and policies."""
        tool, context, transaction = _known(call.tool), _known(call.context), _known(call.transaction)
        problem = check_result(tool, call.result)
        if problem is not None:
            raise CallFailed(problem)
        result, step = _known(call.result), "its result could not be rendered"
        try:
            preface = "" if call.consent is None else call.consent.preface
            call.text = self._books.bounded(call, preface + rendered(tool, result))
            if not result.success:
                raise CallFailed(call.text)
            step = "the session could not take its result"
            for value in new_values(result):
                self._session.dispatch(value)
            await tell(self._rendered.policies_for_tool(tool.name), tool, call.params, result, context, waiting)
            step = "what it read could not be noted"
            transaction.note_reads()  # last: a policy may have taken a look at files itself
        except CallFailed:
            raise
        except SerdeError as error:
            raise CallFailed(
                f"{tool.name} was taken back: {step}: {error}; nothing was changed", detail=told(error)
            ) from error
        except BaseException as error:  # foreign code: render(), reducers
            if fails_with_words(error):
                raise
            raise failed_after(tool.name, step, error) from error

    def _commit(self, call: InFlight) -> None:
        transaction = _known(call.transaction)
        transaction.revoke()
        call.outcome = "committed"
        call.change = transaction.commit(functools.partial(self._books.entry, call))
        if call.consent is not None:
            call.consent.end(committed=True)

    # -- how it ends

    def _end_badly(self, call: InFlight, error: BaseException) -> None:
        """Roll back, decide what the model is told, and raise again what must be raised."""
        if call.transaction is not None and call.transaction.state == "committed":
            raise error  # interrupted after the commit point: the call stands
        returned, said = call.result, call.text
        # First of all: nothing that is done to describe the failure may come between.
        try:
            if call.transaction is not None:
                call.transaction.abort()
        except BaseException as worse:
            error = worse
        if call.transaction is not None:
            call.change = call.transaction.change
        began = None if call.context is None else call.tool
        failure = failure_of(error, name=call.request.name, tool=began, prompt_name=self._name)
        call.text, call.outcome, call.error = self._books.bounded(call, failure.text), failure.outcome, failure.detail
        own = isinstance(returned, ToolResult) and returned.success is False and call.text == said
        kept_aside = call.change.kept_aside()
        if kept_aside:
            call.text = f"{call.text}\n{kept_aside}"
        call.result = returned if own else ToolResult[Any].error(call.text)
        if isinstance(failure.raising, ApprovalRequired):
            call.is_suspended = True  # it has not ended: it will be made again
        else:
            self._books.record_attempt(call)
        if call.consent is not None and call.is_consent_taken:
            call.consent.end(committed=False)
        if failure.raising is not None:
            raise failure.raising

    def _release(self, call: InFlight) -> None:
        """Do all of what ends a call; an interruption goes on when the turn has been given back."""
        interrupt: BaseException | None = None
        for end in reversed(call.ends):
            try:
                end()
            except BaseException as error:  # foreign code: a resource's close
                if is_interruption(error):
                    interrupt = error
                else:
                    _log.exception("tool %r: could not clean up after the call", call.request.name)
        if interrupt is not None:
            raise interrupt

    @property
    def _name(self) -> str:
        return str(self._rendered.prompt_name)


def _known(value: Any) -> Any:
    """A step's product that an earlier step has set; the order of `_execute` is the proof."""
    assert value is not None, "a step ran before the one that it needs"
    return value
