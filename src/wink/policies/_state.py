"""What policies remember about a session."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["PolicyState", "invoked_tools", "policy_state"]


@dataclass(frozen=True, slots=True)
class PolicyState:
    """Part of one policy's memory: calls that have succeeded in this session.

    Instances live in the session's slice of this type, and several of them with one `policy_name` add up. A policy
    therefore appends what is new instead of rewriting what it knows, and a session's ten-thousandth call costs what its
    first did. Read them through `policy_state`.
    """

    policy_name: str
    invoked_tools: frozenset[str] = frozenset()
    invoked_keys: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a tool and the key, such as a path, that it was called with."""


def policy_state(session: "Session", name: str) -> PolicyState:
    """Everything that the policy called `name` remembers about `session`; empty when it remembers nothing."""
    keys: set[tuple[str, str]] = set()
    for state in session[PolicyState].all():
        if state.policy_name == name:
            keys |= state.invoked_keys
    return PolicyState(name, frozenset(invoked_tools(session, name)), frozenset(keys))


def invoked_tools(session: "Session", name: str) -> set[str]:
    """The tools that the policy called `name` remembers; for checks, which run before every call."""
    tools: set[str] = set()
    for state in session[PolicyState].all():
        if state.policy_name == name:
            tools |= state.invoked_tools
    return tools
