"""What policies remember about a session."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wink.session import Session, SliceView, Upsert

__all__ = ["PolicyState", "invoked_tools", "policy_state", "remember"]


@dataclass(frozen=True, slots=True)
class PolicyState:
    """Part of one policy's memory: calls that have succeeded in this session.

    Instances live in the session's slice of this type, and several of them with one `policy_name` add up, so that a
    policy appends only what is new. Those of the policies that come with wink are added up at once: there is one for each
    of them, `session[PolicyState].get(name)`. `policy_state` reads either kind.
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


def remember(session: "Session", news: PolicyState) -> None:
    """Add `news` to what its policy remembers, in the one item that the policy has."""
    states = session[PolicyState]
    states.register(PolicyState, add_up)
    states.append(news)


def add_up(view: "SliceView[PolicyState]", news: PolicyState) -> "Upsert[PolicyState]":
    """Put `news` and the item of the same policy together; a reducer, so that two calls side by side lose nothing."""
    from wink.session import Upsert

    known = view.get(news.policy_name)
    if known is not None:
        tools, keys = known.invoked_tools | news.invoked_tools, known.invoked_keys | news.invoked_keys
        news = PolicyState(news.policy_name, tools, keys)
    return Upsert(news.policy_name, news)
