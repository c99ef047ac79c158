"""Ask policies about a call, and tell them how it ended. What is in doubt is denied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from wink.policies import PolicyDecision, ToolPolicy
from wink.runtime._call import PolicyVerdict
from wink.runtime._outcomes import CallFailed, failed_after, fails_with_words
from wink.tools import Tool, ToolContext, ToolResult


def ask(
    policies: Sequence[ToolPolicy], tool: Tool[Any, Any], params: Any, context: ToolContext
) -> tuple[PolicyVerdict, ...]:
    """The verdict of each policy, up to and including the first that denies; one that asks a person denies nothing yet."""
    verdicts: list[PolicyVerdict] = []
    for policy in policies:
        verdict = _verdict(policy, tool, params, context)
        verdicts.append(verdict)
        if not verdict.allowed and not verdict.asks:
            break
    return tuple(verdicts)


def tell(
    policies: Sequence[ToolPolicy], tool: Tool[Any, Any], params: Any, result: ToolResult[Any], context: ToolContext
) -> None:
    """Let the policies that govern a tool learn from its success; one that raises fails the call."""
    for policy in policies:
        try:
            returned = cast("object", policy.on_result(tool, params, result, context=context))
        except Exception as error:  # foreign code
            if fails_with_words(error):
                raise
            raise failed_after(tool.name, f"policy {_name(policy)!r} could not learn of it", error) from error
        if returned is not None and _closed(returned):
            raise CallFailed(
                f"{tool.name} was taken back: policy {_name(policy)!r} could not learn of it, "
                f"its on_result is asynchronous; nothing was changed"
            )


def held(verdicts: Sequence[PolicyVerdict]) -> tuple[PolicyVerdict, ...]:
    """The verdict that denies the call, alone; or those that leave it to a person; nothing where all allow."""
    for verdict in verdicts:
        if not verdict.allowed:
            last = verdicts[-1]
            return (last,) if not last.allowed and not last.asks else tuple(one for one in verdicts if one.asks)
    return ()


def _verdict(policy: ToolPolicy, tool: Tool[Any, Any], params: Any, context: ToolContext) -> PolicyVerdict:
    name = _name(policy)
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
    except Exception as error:  # foreign code
        return PolicyVerdict(
            name, False, f"policy {name!r} denied {tool.name}: its check raised {type(error).__name__}"
        )
    _closed(decision)
    kind = type(decision).__name__
    return PolicyVerdict(
        name, False, f"policy {name!r} denied {tool.name}: its check returned {kind}, not a PolicyDecision"
    )


def _closed(returned: object) -> bool:
    """Whether a policy's method is an `async def`: never awaited, so that it must not be reported as lost."""
    close = getattr(returned, "close", None)
    if close is None or not hasattr(returned, "cr_frame"):
        return False
    close()
    return True


def _name(policy: ToolPolicy) -> str:
    try:
        return str(policy.name)
    except Exception:  # foreign code
        return type(policy).__name__
