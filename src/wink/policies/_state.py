"""What policies remember about a session."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["PolicyState", "policy_state"]


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

    def __or__(self, other: "PolicyState") -> "PolicyState":
        """Both memories in one, under the first one's name.

        >>> lint, test = PolicyState("order", frozenset({"lint"})), PolicyState("order", frozenset({"test"}))
        >>> sorted((lint | test).invoked_tools)
        ['lint', 'test']
        """
        return PolicyState(
            self.policy_name, self.invoked_tools | other.invoked_tools, self.invoked_keys | other.invoked_keys
        )


def policy_state(session: "Session", name: str) -> PolicyState:
    """Everything that the policy called `name` remembers about `session`; empty when it remembers nothing."""
    mine = [state for state in session[PolicyState].all() if state.policy_name == name]
    if len(mine) == 1:
        return mine[0]
    return PolicyState(
        name,
        frozenset[str]().union(*(state.invoked_tools for state in mine)),
        frozenset[tuple[str, str]]().union(*(state.invoked_keys for state in mine)),
    )
