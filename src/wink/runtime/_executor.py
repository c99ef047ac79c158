"""Take one tool call from a model's request to its reply."""

from __future__ import annotations

import functools
import itertools
import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, cast, overload

from wink.errors import HandleRevoked, ParseError, RollbackFailed, WinkError, WorkspaceBusy, WorkspaceNeedsRecovery
from wink.filesystem import FileChange, Filesystem
from wink.limits import BudgetTracker, Deadline, Heartbeat, RunContext, utc_now
from wink.resources import ResourceContext
from wink.runtime._call import LEAST_LIMIT, READ_RESULT, RESULT_LIMIT, PolicyVerdict, ToolCall, ToolReply
from wink.runtime._events import ToolInvoked
from wink.runtime._outcomes import CallFailed, failed_after, fails_with_words, failure_of, words
from wink.runtime._policing import ask, denial, questions, tell
from wink.runtime._results import check_result, json_text, new_values, rendered
from wink.runtime._waiting import LEASE_SECONDS, Apart, Blocking, Cooperative, HandlerTimedOut, Waiting, drive
from wink.session import Session, SliceDelta
from wink.tools import Tool, ToolContext, ToolResult
from wink.transactions import Change, CommitEntry, Outcome, Recorder, Transaction, turns_to_take

_log = logging.getLogger("wink.runtime")
_call_ids = itertools.count(1)


@dataclass(slots=True)
class _Call:
    """What is known of a call so far."""

    request: ToolCall
    call_id: str
    started_at: datetime
    started: float
    tool: Tool[Any, Any] | None = None
    params: Any = None
    resources: ResourceContext | None = None
    root: Filesystem | None = None
    context: ToolContext | None = None
    transaction: Transaction | None = None
    verdicts: tuple[PolicyVerdict, ...] = ()
    result: ToolResult[Any] | None = None
    text: str = ""
    outcome: Outcome = "rolled back"
    change: Change = Change()  # noqa: RUF009  frozen
    error: str | None = None
    ends: list[Any] = field(default_factory=list[Any])


class ToolExecutor:
    """Executes the calls that a model makes while it works on one rendered prompt.

    Every call is a transaction; `execute` returns a reply whatever the model asked for and whatever the tool did, and
    raises only what the outcome table says: `VisibilityExpansionRequired`, `PromptEvaluationError` (a passed deadline
    or a used-up budget too), `RollbackFailed`, and what ends a program (`KeyboardInterrupt`, `SystemExit`,
    cancellation). Exactly one `ToolInvoked` is published for each call in any case.

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
    ) -> None:
        if result_limit < LEAST_LIMIT:
            raise ValueError(f"result_limit is {result_limit}; it is a number of characters, at least {LEAST_LIMIT}")
        self._result_limit = result_limit
        self._prompt, self._rendered, self._session, self._adapter = prompt, rendered, session, adapter
        self._deadline, self._budget, self._heartbeat, self._run = deadline, budget_tracker, heartbeat, run_context

    def execute(self, call: ToolCall) -> ToolReply:
        """Execute one call and wait for its end; an async handler gets an event loop of its own."""
        return drive(self._execute(call, Blocking()))

    async def aexecute(self, call: ToolCall, *, apart: bool = False) -> ToolReply:
        """Execute one call without blocking the event loop, except for sync handlers without a timeout.

        With `apart` every handler runs on a thread of its own, so that none can block the loop or end it.
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

        return run_batch(self, calls, return_exceptions=return_exceptions)

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

        return await arun_batch(self, calls, return_exceptions=return_exceptions)

    async def execute_after(self, call: ToolCall, waiting: Waiting, before: Future[None]) -> ToolReply:
        """Execute a read beside its siblings, and end it after `before`, when the calls before it have ended."""
        return await self._execute(call, waiting, after=before)

    def skip(self, request: ToolCall) -> None:
        """Account for a call that is not executed, because the program is ending."""
        call = _Call(request, request.call_id or f"call-{next(_call_ids)}", utc_now(), time.perf_counter())
        call.outcome, call.text = "refused", f"{request.name} was not run: the turn was interrupted"
        call.result = ToolResult[Any].error(call.text)
        self._record_attempt(call)
        self._publish(call)

    def only_reads(self, call: ToolCall) -> bool:
        """Whether a call may run beside others that only read."""
        tool = self._rendered.tool(call.name)
        return tool is not None and tool.effects == "read"

    # -- the life of a call

    async def _execute(self, request: ToolCall, waiting: Waiting, *, after: Future[None] | None = None) -> ToolReply:
        call = _Call(request, request.call_id or f"call-{next(_call_ids)}", utc_now(), time.perf_counter())
        try:
            try:
                self._look_up(call)
                self._parse(call)
                await self._take_turn(call, waiting)
                self._begin(call)
                await self._ask_policies(call, waiting, after)
                self._check_limits()
                await self._run_handler(call, waiting)
                await self._await_siblings(call, waiting, after)
                self._settle(call)
                self._commit(call)
            except BaseException as error:
                self._end_badly(call, error)
        finally:
            try:
                self._release(call)
            finally:
                self._publish(call)
        return self._reply(call)

    def _look_up(self, call: _Call) -> None:
        call.tool = self._rendered.tool(call.request.name) or self._own_tool(call.request.name)
        if call.tool is None:
            raise CallFailed(self._unknown(call.request.name), "refused")
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

    def _parse(self, call: _Call) -> None:
        tool = _known(call.tool)
        try:
            call.params = tool.parse(call.request.arguments)
        except ParseError as error:
            raise CallFailed(f"the arguments of {tool.name} are not valid: {error}", "refused") from error
        except Exception as error:  # foreign code: `__post_init__` of the params
            kind = type(error).__name__
            text = f"the arguments of {tool.name} are not valid: {kind}"
            raise CallFailed(text, "refused", f"{kind}: {words(error)}") from error

    async def _take_turn(self, call: _Call, waiting: Waiting) -> None:
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

    def _no_turn(self, call: _Call, error: WinkError, what: str, outcome: Outcome) -> CallFailed:
        if not isinstance(error, WorkspaceBusy):
            text = f"{call.request.name} {what}: nothing can be changed until `wink recover` has been run"
            return CallFailed(text, outcome, str(error))
        if self._deadline is not None:
            self._deadline.check()
        text = f"{call.request.name} {what}: another call has been busy for {error.waited_seconds:.0f} s; try again"
        return CallFailed(text, outcome, str(error))

    def _begin(self, call: _Call) -> None:
        resources = _known(call.resources)
        call.transaction = transaction = Transaction(
            self._session, resources, root=call.root, writable=_known(call.tool).effects != "read"
        )
        transaction.deadline, transaction.budget_tracker = self._deadline, self._budget
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
            deadline=self._deadline,
            budget_tracker=self._budget,
            heartbeat=self._heartbeat,
            run_context=self._run,
            call_id=call.call_id,
            scope=scope,
        )
        transaction.enter()
        call.ends.append(transaction.leave)

    async def _ask_policies(self, call: _Call, waiting: Waiting, after: Future[None] | None) -> None:
        tool, context = _known(call.tool), _known(call.context)
        policies = self._rendered.policies_for_tool(tool.name)
        call.verdicts = ask(policies, tool, call.params, context)
        denied = denial(call.verdicts)
        if denied is not None and after is not None:
            # A sibling that is still running may be what the policy is waiting for.
            await waiting.sibling(after)
            call.verdicts = ask(policies, tool, call.params, context)
            denied = denial(call.verdicts)
        asked = denied is None and questions(call.verdicts)
        if asked:
            raise CallFailed(f"{tool.name} needs approval: {'; '.join(str(one.reason) for one in asked)}", "denied")
        if denied is not None:
            raise CallFailed(denied.reason or "", "denied")

    def _check_limits(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.beat()
        if self._deadline is not None:
            self._deadline.check()
        if self._budget is not None:
            self._budget.check()

    async def _run_handler(self, call: _Call, waiting: Waiting) -> None:
        tool, context = _known(call.tool), _known(call.context)
        timeout = tool.timeout
        if timeout is not None and self._deadline is not None:
            timeout = min(timeout, max(0.0, self._deadline.remaining().total_seconds()))
        handler = functools.partial(_known(tool.handler), call.params, context=context)
        try:
            call.result = await waiting.handler(
                handler, is_async=tool.is_async, timeout=timeout, apart=tool.effects == "process"
            )
        except HandlerTimedOut:
            if self._deadline is not None:
                self._deadline.check()
            _known(call.transaction).revoke()
            raise CallFailed(f"{tool.name} timed out after {timeout:g} s; nothing was changed") from None
        except WorkspaceBusy as error:
            raise self._no_turn(call, error, "was taken back", "rolled back") from error

    async def _await_siblings(self, call: _Call, waiting: Waiting, after: Future[None] | None) -> None:
        """Reads that ran together end in the model's order, judged by what the earlier ones left."""
        if after is None:
            return
        await waiting.sibling(after)
        tool = _known(call.tool)
        call.verdicts = ask(self._rendered.policies_for_tool(tool.name), tool, call.params, _known(call.context))
        denied = denial(call.verdicts) or next(iter(questions(call.verdicts)), None)
        if denied is not None:
            raise CallFailed(denied.reason or "", "denied")

    def _settle(self, call: _Call) -> None:
        """Everything of a success that can still fail: the result's type, its text, reducers and policies."""
        tool, context, transaction = _known(call.tool), _known(call.context), _known(call.transaction)
        problem = check_result(tool, call.result)
        if problem is not None:
            raise CallFailed(problem)
        result, step = _known(call.result), "its result could not be rendered"
        try:
            call.text = self._bounded(call, rendered(tool, result))
            if not result.success:
                raise CallFailed(call.text)
            step = "the session could not take its result"
            for value in new_values(result):
                self._session.dispatch(value)
            tell(self._rendered.policies, tool, call.params, result, context)
            step = "what it read could not be noted"
            transaction.note_reads()  # last: a policy may have taken a look at files itself
        except CallFailed:
            raise
        except Exception as error:  # foreign code: render(), reducers
            if fails_with_words(error):
                raise
            raise failed_after(tool.name, step, error) from error

    def _commit(self, call: _Call) -> None:
        transaction = _known(call.transaction)
        transaction.revoke()
        call.outcome = "committed"
        call.change = transaction.commit(functools.partial(self._entry, call))

    # -- how it ends

    def _end_badly(self, call: _Call, error: BaseException) -> None:
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
        call.text, call.outcome, call.error = self._bounded(call, failure.text), failure.outcome, failure.detail
        own = isinstance(returned, ToolResult) and returned.success is False and call.text == said
        kept_aside = call.change.kept_aside()
        if kept_aside:
            call.text = f"{call.text}\n{kept_aside}"
        call.result = returned if own else ToolResult[Any].error(call.text)
        self._record_attempt(call)
        if failure.raising is not None:
            raise failure.raising

    def _bounded(self, call: _Call, text: str) -> str:
        """What is sent of a text, which is kept where it is too long."""
        if len(text) <= self._result_limit:
            return text
        from wink.runtime._spill import read_result_tool, shortened

        if call.tool is read_result_tool():
            return text  # a page has a limit of its own
        return shortened(self._session, call.request.name, call.call_id, text, self._result_limit)

    def _record_attempt(self, call: _Call) -> None:
        try:
            if call.transaction is not None:
                call.transaction.record_attempt(self._entry(call, call.transaction.logged(), call.change.files))
            elif self._session.recorder is not None:
                cast("Recorder", self._session.recorder).attempt(self._entry(call, (), ()))
        except Exception:  # the call has its outcome; the record's trouble must not change it
            _log.exception("tool %r: could not record the attempt", call.request.name)

    def _release(self, call: _Call) -> None:
        """Do all of what ends a call; an interruption goes on when the turn has been given back."""
        interrupt: BaseException | None = None
        for end in reversed(call.ends):
            try:
                end()
            except Exception:  # foreign code: a resource's close
                _log.exception("tool %r: could not clean up after the call", call.request.name)
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _publish(self, call: _Call) -> None:
        result = call.result if call.result is not None else ToolResult[Any].error("")
        event = ToolInvoked(
            prompt_name=self._name,
            name=call.request.name,
            params=call.params,
            result=result,
            rendered_output=call.text,
            success=call.outcome == "committed",
            call_id=call.call_id,
            started_at=call.started_at,
            duration=timedelta(seconds=time.perf_counter() - call.started),
            decisions=call.verdicts,
            change=call.change,
            error=call.error,
        )
        try:
            self._session.publish(event, kept=event.for_log())
        except HandleRevoked:
            # A thread that an ended call left behind: the session's log is closed to it, the subscribers are not.
            self._session.dispatcher.dispatch(event)

    def _reply(self, call: _Call) -> ToolReply:
        result = _known(call.result)
        return ToolReply(call.call_id, call.request.name, call.text, call.outcome == "committed", result)

    def _entry(self, call: _Call, deltas: tuple[SliceDelta, ...], changes: tuple[FileChange, ...]) -> CommitEntry:
        arguments = call.request.arguments
        return CommitEntry(
            transaction_id=call.call_id if call.transaction is None else call.transaction.id,
            session=self._session.name,
            call_id=call.call_id,
            tool=call.request.name,
            prompt=self._name,
            arguments=arguments if isinstance(arguments, str) else json_text(arguments),
            outcome=call.outcome,
            rendered=call.text,
            started_at=call.started_at,
            duration=timedelta(seconds=time.perf_counter() - call.started),
            decisions=call.verdicts,
            deltas=deltas,
            changes=changes,
            effects="workspace" if call.tool is None else call.tool.effects,
        )

    @property
    def _name(self) -> str:
        return str(self._rendered.prompt_name)

    def _unknown(self, name: str) -> str:
        names = [tool.name for tool in self._rendered.tools]
        if not names:
            return f"there is no tool {name!r}; this prompt has no tools"
        from difflib import get_close_matches

        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}? The" if close else "; the"
        return f"there is no tool {name!r}{hint} tools are: {', '.join(names)}"


def _known(value: Any) -> Any:
    """A step's product that an earlier step has set; the order of `_execute` is the proof."""
    assert value is not None, "a step ran before the one that it needs"
    return value
