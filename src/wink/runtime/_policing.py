"""Ask policies about a call, and tell them how it ended. What is in doubt is denied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from wink.policies import PolicyDecision, ToolPolicy
from wink.runtime._call import PolicyVerdict
from wink.tools import Tool, ToolContext, ToolResult


def ask(
    policies: Sequence[ToolPolicy], tool: Tool[Any, Any], params: Any, context: ToolContext
) -> tuple[PolicyVerdict, ...]:
    """The verdict of each policy, up to and including the first that denies."""
    verdicts: list[PolicyVerdict] = []
    for policy in policies:
        verdict = _verdict(policy, tool, params, context)
        verdicts.append(verdict)
        if not verdict.allowed:
            break
    return tuple(verdicts)


def tell(
    policies: Sequence[ToolPolicy], tool: Tool[Any, Any], params: Any, result: ToolResult[Any], context: ToolContext
) -> None:
    """Let every policy of the prompt learn from a success; one that raises fails the call."""
    for policy in policies:
        policy.on_result(tool, params, result, context=context)


def denial(verdicts: Sequence[PolicyVerdict]) -> PolicyVerdict | None:
    """The verdict that denies the call, if one does."""
    return verdicts[-1] if verdicts and not verdicts[-1].allowed else None


def _verdict(policy: ToolPolicy, tool: Tool[Any, Any], params: Any, context: ToolContext) -> PolicyVerdict:
    name = _name(policy)
    try:
        decision = cast("object", policy.check(tool, params, context=context))
    except Exception as error:  # foreign code
        return PolicyVerdict(
            name, False, f"policy {name!r} denied {tool.name}: its check raised {type(error).__name__}"
        )
    if isinstance(decision, PolicyDecision):
        reason = decision.reason
        if not decision.allowed and not (isinstance(reason, str) and reason.strip()):
            reason = f"policy {name!r} denied {tool.name} and gave no reason"
        return PolicyVerdict(name, decision.allowed, reason)
    close = getattr(decision, "close", None)
    if close is not None and hasattr(decision, "cr_frame"):
        close()  # an `async def check`: never awaited, so that it must not be reported as lost
    given = type(decision).__name__
    return PolicyVerdict(
        name, False, f"policy {name!r} denied {tool.name}: its check returned {given}, not a PolicyDecision"
    )


def _name(policy: ToolPolicy) -> str:
    try:
        return str(policy.name)
    except Exception:  # foreign code
        return type(policy).__name__
