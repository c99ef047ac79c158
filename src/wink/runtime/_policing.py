"""Ask policies about a call, and tell them how it ended. What is in doubt is denied."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast

from wink.limits import is_interruption
from wink.policies import PolicyDecision, ToolPolicy
from wink.runtime._call import PolicyVerdict
from wink.runtime._outcomes import CallFailed, failed_after, fails_with_words
from wink.runtime._waiting import Blocking, HandlerTimedOut, Waiting, drive
from wink.tools import Tool, ToolContext, ToolResult

POLICY_SECONDS: Final = 5.0
"""How long one policy may take, where its thread can be left behind."""


async def ask(
    policies: Sequence[ToolPolicy], tool: Tool[Any, Any], params: Any, context: ToolContext, waiting: Waiting
) -> tuple[PolicyVerdict, ...]:
    """The verdict of each policy, up to and including the first that denies; one that asks a person denies nothing yet.

    One that does not answer in time denies.
    """
    if not policies:
        return ()
    asked = _Round(context)

    def work() -> None:
        for policy in asked.each(policies):
            verdict = _verdict(asked.name, policy, tool, params, context)
            asked.verdicts += (verdict,)
            if not verdict.allowed and not verdict.asks:
                return

    if not await asked.run(work, policies, waiting):
        reason = f"policy {asked.name!r} denied {tool.name}: it did not answer within {POLICY_SECONDS:g} s"
        return (*asked.verdicts, PolicyVerdict(asked.name, False, reason))
    return asked.verdicts


def ask_now(
    policies: Sequence[ToolPolicy], tool: Tool[Any, Any], params: Any, context: ToolContext
) -> tuple[PolicyVerdict, ...]:
    """The same on this thread, for whoever waits for nothing else."""
    return drive(ask(policies, tool, params, context, Blocking()))


async def tell(
    policies: Sequence[ToolPolicy],
    tool: Tool[Any, Any],
    params: Any,
    result: ToolResult[Any],
    context: ToolContext,
    waiting: Waiting,
) -> None:
    """Let the policies that govern a tool learn from its success; one that raises, or takes too long, fails the call."""
    if not policies:
        return
    told = _Round(context)

    def work() -> None:
        for policy in told.each(policies):
            _tell_one(told.name, policy, tool, params, result, context)

    if not await told.run(work, policies, waiting):
        raise CallFailed(
            f"{tool.name} was taken back: policy {told.name!r} did not learn of it within "
            f"{POLICY_SECONDS:g} s; nothing was changed"
        )


class _Round:
    """One round through policies: which one is at work, since when, and what those before it have said."""

    __slots__ = ("_context", "_is_over", "_since", "name", "verdicts")

    def __init__(self, context: ToolContext) -> None:
        self._context, self._since, self._is_over = context, time.monotonic(), False
        self.name = ""
        self.verdicts: tuple[PolicyVerdict, ...] = ()

    def each(self, policies: Sequence[ToolPolicy]) -> Iterator[ToolPolicy]:
        """One policy after the other, until the round is over: a thread that was left behind asks no more of them."""
        for policy in policies:
            if self._is_over:
                return
            self.name, self._since = type(policy).__name__, time.monotonic()
            self.name = _name(policy)
            yield policy

    async def run(self, work: Callable[[], None], policies: Sequence[ToolPolicy], waiting: Waiting) -> bool:
        """Go round; whether every policy was in time."""
        if all(map(_is_immediate, policies)):
            work()
            return True
        try:
            await waiting.policies(work, self._left)
        except HandlerTimedOut:
            self._is_over = True
            if self._context.deadline is not None:
                self._context.deadline.check()
            return False
        return True

    def _left(self) -> float:
        left = self._since + POLICY_SECONDS - time.monotonic()
        deadline = self._context.deadline
        return left if deadline is None else min(left, deadline.remaining().total_seconds())


def blocking(verdicts: Sequence[PolicyVerdict]) -> tuple[PolicyVerdict, ...]:
    """The verdict that denies the call, alone; or those that leave it to a person; nothing where all allow."""
    for verdict in verdicts:
        if not verdict.allowed:
            last = verdicts[-1]
            return (last,) if not last.allowed and not last.asks else tuple(one for one in verdicts if one.asks)
    return ()


def _verdict(name: str, policy: ToolPolicy, tool: Tool[Any, Any], params: Any, context: ToolContext) -> PolicyVerdict:
    try:
        decision: Any = policy.check(tool, params, context=context)
        if isinstance(decision, PolicyDecision):
            # Only True allows: what is merely truthy may be anything.
            if decision.allowed is True:
                return PolicyVerdict(name, True, decision.reason)
            reason: Any = decision.reason
            asks = decision.asks is True
            if not (isinstance(reason, str) and reason.strip()):
                did = f"asked about {tool.name}" if asks else f"denied {tool.name}"
                reason = f"policy {name!r} {did} and gave no reason"
            return PolicyVerdict(name, False, reason, asks)
    except BaseException as error:  # foreign code
        if is_interruption(error):
            raise
        return PolicyVerdict(
            name, False, f"policy {name!r} denied {tool.name}: its check raised {type(error).__name__}"
        )
    _closed(decision)
    kind = type(decision).__name__
    return PolicyVerdict(
        name, False, f"policy {name!r} denied {tool.name}: its check returned {kind}, not a PolicyDecision"
    )


def _tell_one(
    name: str, policy: ToolPolicy, tool: Tool[Any, Any], params: Any, result: ToolResult[Any], context: ToolContext
) -> None:
    try:
        returned = cast("object", policy.on_result(tool, params, result, context=context))
    except BaseException as error:  # foreign code
        if fails_with_words(error):
            raise
        raise failed_after(tool.name, f"policy {name!r} could not learn of it", error) from error
    if returned is not None and _closed(returned):
        raise CallFailed(
            f"{tool.name} was taken back: policy {name!r} could not learn of it, "
            f"its on_result is asynchronous; nothing was changed"
        )


def _closed(returned: object) -> bool:
    """Whether a policy's method is an `async def`: never awaited, so that it must not be reported as lost."""
    close = getattr(returned, "close", None)
    if close is None or not hasattr(returned, "cr_frame"):
        return False
    close()
    return True


def _is_immediate(policy: ToolPolicy) -> bool:
    """Whether a policy says of itself that it waits for nothing: then a thread for it, to be left behind, is saved."""
    try:
        return getattr(policy, "is_immediate", False) is True
    except BaseException as error:  # foreign code
        if is_interruption(error):
            raise
        return False


def _name(policy: ToolPolicy) -> str:
    try:
        return str(policy.name)
    except BaseException as error:  # foreign code
        if is_interruption(error):
            raise
        return type(policy).__name__
