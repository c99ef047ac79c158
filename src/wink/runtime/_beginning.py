"""The steps of a call until policies are asked about it: its tool, its arguments, its turn, its transaction."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from wink.errors import ParseError, RollbackFailed, WinkError, WorkspaceBusy, WorkspaceNeedsRecovery
from wink.filesystem import Filesystem
from wink.limits import BudgetTracker, Deadline, Heartbeat, RunContext, is_interruption, utc_now
from wink.runtime._call import READ_RESULT, ToolCall
from wink.runtime._outcomes import CallFailed, told
from wink.runtime._results import unknown_tool
from wink.runtime._stages import Begun, Judged, Parsed, Requested
from wink.runtime._waiting import LEASE_SECONDS, Waiting
from wink.session import Session
from wink.tools import AdapterLike, Tool, ToolContext
from wink.transactions import Outcome, Transaction, heartbeats_around, limits_around, turns_to_take

if TYPE_CHECKING:
    from wink.prompt import Prompt, RenderedPrompt

_call_ids: Final = itertools.count(1)

Ends = list[Callable[[], object]]
"""What ends a call, last first."""


class Surroundings(NamedTuple):
    """What all calls of one executor have around them; the limits are those of its run, without those of a call around it."""

    prompt: Prompt[Any]
    rendered: RenderedPrompt[Any]
    session: Session
    adapter: AdapterLike | None
    deadline: Deadline | None
    budget: BudgetTracker | None
    heartbeat: Heartbeat | None
    run: RunContext | None
    approvals: object

    def patience(self) -> float:
        """How many seconds a call may wait for its turn."""
        return LEASE_SECONDS if self.deadline is None else max(0.0, self.deadline.remaining().total_seconds())

    def requested(self, call: ToolCall) -> Requested:
        """The call as a model makes it, its tool looked up among those that the model was told of."""
        # Before the call is under way nothing may fail: a name of another type is that of no tool.
        name: Any = call.name
        tool = (self.rendered.tool(name) or _own_tool(name)) if isinstance(name, str) else None
        return Requested(call, call.call_id or f"call-{next(_call_ids)}", tool, utc_now(), time.perf_counter())

    def parse(self, asked: Requested) -> Parsed:
        """Read the arguments, all problems of which are told at once."""
        tool = asked.tool
        if tool is None:
            known = [tool.name for tool in self.rendered.tools]
            raise CallFailed(unknown_tool(asked.request.name, known), "refused")
        if tool.handler is None:
            raise CallFailed(f"{tool.name} cannot be called: it has no handler", "refused")
        root = self.prompt.resources.get_optional(Filesystem)
        try:
            return Parsed(asked, tool, root, tool.parse(asked.request.arguments))
        except ParseError as error:
            raise CallFailed(f"the arguments of {tool.name} are not valid: {error}", "refused") from error
        except BaseException as error:  # foreign code: `__post_init__` of the params
            if is_interruption(error):
                raise
            text = f"the arguments of {tool.name} are not valid: {type(error).__name__}"
            raise CallFailed(text, "refused", told(error)) from error

    async def take_turn(self, call: Parsed, waiting: Waiting, ends: Ends) -> None:
        """One mutating call at a time, from before the policies to the commit; what they saw then still holds."""
        if call.tool.effects not in ("workspace", "external"):
            return  # a read needs none, and what runs programs takes it to change files with what they did
        turns = turns_to_take(self.session, call.root)
        try:
            await waiting.turn(turns, self.patience())
        except (WorkspaceBusy, WorkspaceNeedsRecovery, RollbackFailed) as error:
            raise self.no_turn(call.tool, error, "was not run", "refused") from error
        ends.append(turns.release)

    def no_turn(self, tool: Tool[Any, Any], error: WinkError, what: str, outcome: Outcome) -> CallFailed:
        """What ends a call that did not get its turn."""
        if not isinstance(error, WorkspaceBusy):
            text = f"{tool.name} {what}: nothing can be changed until `wink recover` has been run"
            return CallFailed(text, outcome, str(error))
        if self.deadline is not None:
            self.deadline.check()
        text = f"{tool.name} {what}: another call has been busy for {error.waited_seconds:.0f} s; try again"
        return CallFailed(text, outcome, str(error))

    def begin(self, call: Parsed) -> Begun:
        """Begin the call's transaction."""
        resources, writable = self.prompt.resources.opened(), call.tool.effects != "read"
        # At once, so that no interruption finds a transaction which nobody knows of.
        return Begun(call, resources, Transaction(self.session, resources, root=call.root, writable=writable))

    def enter(self, call: Begun, ends: Ends) -> ToolContext:
        """Make the transaction the current one, and what its handler is given of it."""
        parsed, transaction = call.parsed, call.transaction
        transaction.run, transaction.call_id = "" if self.run is None else self.run.run_id, parsed.asked.call_id
        transaction.deadline, transaction.budget_tracker, transaction.heartbeat = self._limits(transaction.around)
        transaction.governed = parsed.tool.name, self.rendered.policies_for_tool(parsed.tool.name), self.approvals
        if parsed.tool.effects == "process":
            ends.append(transaction.wait_for_turn_late(turns_to_take(self.session, parsed.root), self.patience))
        files = transaction.filesystem
        scope = call.resources.call_scope({} if files is None else {Filesystem: files}, transaction.remember)
        ends.append(scope.close)
        context = ToolContext(
            prompt=self.prompt,
            rendered_prompt=self.rendered,
            # Where calls are made without one, handlers that evaluate prompts fail, and no others.
            adapter=cast("AdapterLike", self.adapter),
            session=self.session,
            deadline=transaction.deadline,
            budget_tracker=transaction.budget_tracker,
            heartbeat=transaction.heartbeat,
            run_context=self.run,
            call_id=parsed.asked.call_id,
            scope=scope,
        )
        transaction.enter()
        ends.append(transaction.leave)
        return context

    def check_limits(self, call: Judged) -> None:
        """Hold a call against its limits and those of the calls around it."""
        if call.transaction.around is not None:
            hearts, (deadline, budgets) = heartbeats_around(), limits_around()
        else:
            hearts = () if self.heartbeat is None else (self.heartbeat,)
            deadline, budgets = self.deadline, () if self.budget is None else (self.budget,)
        for heart in hearts:
            heart.beat()
        if deadline is not None:
            deadline.check()
        for budget in budgets:
            budget.check()

    def _limits(self, around: Transaction | None) -> tuple[Deadline | None, BudgetTracker | None, Heartbeat | None]:
        """The limits of this run; inside a call it has no more time than the call, and shares what it has none of."""
        deadline, budget, heartbeat = self.deadline, self.budget, self.heartbeat
        if around is None:
            return deadline, budget, heartbeat
        its_deadline, its_budgets = limits_around()
        if deadline is None or (its_deadline is not None and its_deadline.expires_at < deadline.expires_at):
            deadline = its_deadline
        if budget is None and its_budgets:
            budget = its_budgets[-1]
        return deadline, budget, around.heartbeat if heartbeat is None else heartbeat


def _own_tool(name: str) -> Tool[Any, Any] | None:
    """The tool that a shortened result speaks of, also where it was rendered before there was one."""
    if name != READ_RESULT:
        return None
    from wink.runtime._spill import read_result_tool

    return read_result_tool()
