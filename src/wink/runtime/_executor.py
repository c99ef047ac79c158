"""Take one tool call from a model's request to its reply."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from wink.errors import ApprovalRequired
from wink.filesystem import Filesystem
from wink.limits import BudgetTracker, Deadline, Heartbeat, RunContext, is_interruption
from wink.runtime._approval_flow import ApprovalFlow
from wink.runtime._approvals import Approvals
from wink.runtime._beginning import Surroundings
from wink.runtime._call import LEAST_LIMIT, RESULT_LIMIT, PolicyVerdict, ToolCall, ToolReply
from wink.runtime._call_recorder import CallRecorder
from wink.runtime._handling import run_handler, settle
from wink.runtime._order import ReadWriteQueue
from wink.runtime._outcomes import CallFailed, failure_of, logger
from wink.runtime._policing import ask, blocking
from wink.runtime._stages import TRANSACTED, Approved, Ended, Judged, Progress, Requested, Stage
from wink.runtime._waiting import Apart, Blocking, Cooperative, Waiting, drive
from wink.session import Session
from wink.tools import AdapterLike
from wink.transactions import current_transaction

if TYPE_CHECKING:
    from concurrent.futures import Future

    from wink.prompt import Prompt, RenderedPrompt
    from wink.runtime._approval_step import Asked, Consent


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
        prompt: Prompt[Any],
        rendered: RenderedPrompt[Any],
        session: Session,
        adapter: AdapterLike | None = None,
        deadline: Deadline | None = None,
        budget_tracker: BudgetTracker | None = None,
        heartbeat: Heartbeat | None = None,
        run_context: RunContext | None = None,
        result_limit: int = RESULT_LIMIT,
        approvals: Approvals | None = None,
    ) -> None:
        if result_limit < LEAST_LIMIT:
            raise ValueError(f"result_limit is {result_limit}; it is a number of characters, at least {LEAST_LIMIT}")
        self._around = Surroundings(
            prompt, rendered, session, adapter, deadline, budget_tracker, heartbeat, run_context, approvals
        )
        run = "" if run_context is None else run_context.run_id
        self._approval = ApprovalFlow(session, approvals, run, rendered.prompt_name)
        self._recorder = CallRecorder(session, rendered, run, result_limit)
        self._together = ReadWriteQueue()

    def execute(self, call: ToolCall) -> ToolReply:
        """Execute one call and wait for its end; an async handler gets an event loop of its own."""
        return drive(self._execute(call, Blocking()))

    async def aexecute(self, call: ToolCall, *, apart: bool = False) -> ToolReply:
        """Execute one call without blocking the event loop: a sync handler runs on a thread.

        Calls that are made at once on one loop, as with `asyncio.gather`, run in the order in which they were made, those
        that run programs too; neighbouring calls of tools that only read run together. A call waits for those before it as
        long as they take, within the deadline.

        With `apart`, which is for servers, every handler runs on a thread of its own, so that none can block the loop or
        end it, and whoever calls sees to the order: see `ReadWriteQueue`.
        """
        return await self._execute(call, Apart() if apart else Cooperative())

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

        with self._approval.together() as asked:
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

        with self._approval.together() as asked:
            ended = await arun_batch(self, calls)
        return self._replies(ended, asked, return_exceptions)

    def _replies(
        self, ended: Sequence[ToolReply | Exception], asked: Sequence[Asked], return_exceptions: bool
    ) -> tuple[Any, ...]:
        if asked:
            self._approval.settle(asked, self._around.prompt.resources.get_optional(Filesystem), ended)
        for outcome in () if return_exceptions else ended:
            if isinstance(outcome, Exception):
                raise outcome
        return tuple(ended)

    async def execute_after(self, call: ToolCall, waiting: Waiting, before: Future[None]) -> ToolReply:
        """Execute a read beside its siblings, and end it after `before`, when the calls before it have ended."""
        return await self._execute(call, waiting, after=before)

    def skip(self, request: ToolCall) -> None:
        """Account for a call that is not executed, because the program is ending."""
        end = Ended(self._around.requested(request), "refused", f"{request.name} was not run: the turn was interrupted")
        self._recorder.record_attempt(end)
        self._recorder.publish(end)

    def only_reads(self, call: ToolCall) -> bool:
        """Whether a call may run beside others that only read."""
        tool = self._around.rendered.tool(call.name)
        return tool is not None and tool.effects == "read"

    # -- the life of a call

    async def _execute(self, request: ToolCall, waiting: Waiting, *, after: Future[None] | None = None) -> ToolReply:
        asked = self._around.requested(request)
        so_far, end = Progress(asked), None
        try:
            try:
                if waiting.gathers:
                    await self._take_place(so_far, request)
                call = await self._admit(so_far, asked, waiting, after)
                returned = await run_handler(call, self._around, waiting)
                if after is not None:
                    call = await self._await_siblings(so_far, call, waiting, after)
                end = await settle(call, returned, self._around, self._recorder, waiting)
                self._commit(call, end)
            except BaseException as error:
                if not (isinstance(so_far.stage, TRANSACTED) and so_far.stage.transaction.state == "committed"):
                    end = None  # what it was to end with is not so, should this be interrupted
                end = self._failed(so_far.stage, error, asked)
                self._account(so_far.stage, end)
            return ToolReply(asked.call_id, request.name, end.text, end.outcome == "committed", end.result)
        finally:
            try:
                self._release(so_far)
            finally:
                if so_far.place is not None:
                    self._together.leave(so_far.place)
                self._recorder.publish(Ended(so_far.stage, "rolled back", "") if end is None else end)

    async def _take_place(self, so_far: Progress, request: ToolCall) -> None:
        """Wait for the calls that were made before on the same loop, and inside of the same call, if inside of one.

        What this one sees is what they have left. The place is kept to the end, also while a person is asked.
        """
        import asyncio

        line, deadline = (asyncio.get_running_loop(), current_transaction()), self._around.deadline
        so_far.place = place = self._together.join(line, reads=self.only_reads(request))
        while not (place.is_open or await place.reached(None if deadline is None else self._around.patience())):
            if deadline is not None:
                deadline.check()

    async def _admit(self, so_far: Progress, asked: Requested, waiting: Waiting, after: Future[None] | None) -> Judged:
        """Bring a call to where its handler may run; from the beginning again when a person has answered for it."""
        around = self._around
        while True:
            so_far.stage = parsed = around.parse(asked)
            await around.take_turn(parsed, waiting, so_far.ends)
            so_far.stage = begun = around.begin(parsed)
            context = around.enter(begun, so_far.ends)
            policies = around.rendered.policies_for_tool(parsed.tool.name)
            verdicts = await ask(policies, parsed.tool, parsed.params, context, waiting)
            so_far.stage = judged = Judged(begun, context, verdicts)
            against = blocking(verdicts)
            if against and after is not None:
                # A sibling that is still running may be what the policy is waiting for.
                await waiting.sibling(after)
                verdicts = await ask(policies, parsed.tool, parsed.params, context, waiting)
                so_far.stage = judged = Judged(begun, context, verdicts)
                against = blocking(verdicts)
            answer = await self._resolve(so_far, judged, against, waiting) if against else None
            if not isinstance(answer, Requested):
                return self._grant(so_far, judged, answer)
            so_far.stage = asked = answer

    async def _resolve(
        self, so_far: Progress, call: Judged, against: Sequence[PolicyVerdict], waiting: Waiting
    ) -> Consent | Requested:
        """Deny the call, or find somebody's approval, for which others are given their turn meanwhile."""
        if not against[0].asks:
            raise CallFailed(against[0].reason or "", "denied")

        def give_way() -> None:
            call.transaction.abort()
            self._release(so_far)
            so_far.ends.clear()

        return await self._approval.resolve(call, against, waiting, self._around.deadline, give_way)

    def _grant(self, so_far: Progress, call: Judged, consent: Consent | None) -> Judged:
        self._around.check_limits(call)
        if consent is not None:
            self._approval.take(consent)
            so_far.stage = call = Approved(call, consent, call.verdicts)
            self._approval.keep_others(call, so_far.ends)
        if call.parsed.tool.effects == "external":
            self._recorder.start(call)
        return call

    async def _await_siblings(self, so_far: Progress, call: Judged, waiting: Waiting, after: Future[None]) -> Judged:
        """Reads that ran together end in the model's order, judged by what the earlier ones left."""
        await waiting.sibling(after)
        tool, consent = call.parsed.tool, call.consent if isinstance(call, Approved) else None
        policies = self._around.rendered.policies_for_tool(tool.name)
        verdicts = await ask(policies, tool, call.parsed.params, call.context, waiting)
        call = Judged(call, call.context, verdicts) if consent is None else Approved(call, consent, verdicts)
        so_far.stage = call
        against = blocking(verdicts)
        if against and not against[0].asks:
            raise CallFailed(against[0].reason or "", "denied")
        if against and (consent is None or not consent.covers(against)):
            raise CallFailed(f"{tool.name} needs approval since the calls before it ended; call it again", "denied")
        return call

    def _commit(self, call: Judged, end: Ended) -> None:
        call.transaction.revoke()
        call.transaction.commit(functools.partial(self._recorder.entry, end))
        if isinstance(call, Approved):
            call.consent.end(committed=True)

    # -- how it ends

    def _failed(self, call: Stage, error: BaseException, asked: Requested) -> Ended:
        """Roll back, and decide what the model is told and what must be raised again."""
        transaction = call.transaction if isinstance(call, TRANSACTED) else None
        if transaction is not None and transaction.state == "committed":
            raise error  # interrupted after the commit point: the call stands
        # First of all: nothing that is done to describe the failure may come between.
        try:
            if transaction is not None:
                transaction.abort()
        except BaseException as worse:
            error = worse
        began = call.parsed.tool if isinstance(call, Judged) else None
        root = call.parsed.root if isinstance(call, TRANSACTED) else None
        failure = failure_of(
            error,
            name=asked.request.name,
            tool=began,
            prompt_name=self._around.rendered.prompt_name,
            root="" if root is None else root.root,
        )
        text = self._recorder.bounded(asked, failure.text)
        kept_aside = "" if transaction is None else transaction.change.kept_aside()
        if kept_aside:
            text = f"{text}\n{kept_aside}"
        approval = call.consent.number(committed=False) if isinstance(call, Approved) else failure.approval
        return Ended(call, failure.outcome, text, failure.result, approval, failure.detail, failure.raising)

    def _account(self, call: Stage, end: Ended) -> None:
        """Record a call that failed, give back what it was given, and raise what must be raised.

        One that waits for approval has not ended.
        """
        if not isinstance(end.raising, ApprovalRequired):
            self._recorder.record_attempt(end)
        if isinstance(call, Approved):
            call.consent.end(committed=False)
        if end.raising is not None:
            raise end.raising

    def _release(self, so_far: Progress) -> None:
        """Do all of what ends a call; an interruption goes on when the turn has been given back."""
        interrupt: BaseException | None = None
        for end in reversed(so_far.ends):
            try:
                end()
            except BaseException as error:  # foreign code: a resource's close
                if is_interruption(error):
                    interrupt = error
                else:
                    logger().exception("tool %r: could not clean up after the call", so_far.name)
        if interrupt is not None:
            raise interrupt
