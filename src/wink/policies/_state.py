"""What policies remember about a session."""

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wink.session import Session, SliceView, Upsert

__all__ = ["MOST_KEYS", "PolicyState", "invoked_tools", "policy_state", "remember"]

MOST_KEYS: Final = 256
"""How many keys one item holds."""


@dataclass(frozen=True, slots=True)
class PolicyState:
    """Part of one policy's memory: calls that have succeeded in this session.

    Instances live in the session's slice of this type, and several of them with one `policy_name` add up, so that a
    policy appends only what is new. Those of the policies that come with wink are added up at once: there is one for each
    of them, `session[PolicyState].get(name)`, and another for every 256 keys. `policy_state` reads either kind.
    """

    policy_name: str
    invoked_tools: frozenset[str] = frozenset()
    """Tools that the policy was told of, each of which has succeeded."""
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
    """Add `news` to what its policy remembers, in the item that the policy has; nothing is written that is known."""
    if _is_known(session, news):
        return
    states = session[PolicyState]
    states.register(PolicyState, add_up)
    states.append(news)


def add_up(view: "SliceView[PolicyState]", news: PolicyState) -> "Upsert[PolicyState]":
    """Put `news` and the item of the same policy together; a reducer, so that two calls side by side lose nothing.

    An item with `MOST_KEYS` is full, and another is begun: a call must not cost more the more others there were.
    """
    from wink.session import Upsert

    for key in _parts(news.policy_name):
        known = view.get(key)
        if known is None:
            return Upsert(key, news)
        if len(known.invoked_keys) < MOST_KEYS or not news.invoked_keys:
            tools, keys = known.invoked_tools | news.invoked_tools, known.invoked_keys | news.invoked_keys
            return Upsert(key, PolicyState(news.policy_name, tools, keys))
    raise AssertionError("there is always another part")


def _is_known(session: "Session", news: PolicyState) -> bool:
    """Whether the policy's own items have all of `news`."""
    states, tools, keys = session[PolicyState], news.invoked_tools, news.invoked_keys
    for key in _parts(news.policy_name):
        known = states.get(key)
        if known is None:
            return False
        tools, keys = tools - known.invoked_tools, keys - known.invoked_keys
        if not tools and not keys:
            return True
    raise AssertionError("there is always another part")


def _parts(name: str) -> "Iterator[str]":
    """Under which keys a policy's items are, in their order."""
    yield name
    for number in count(2):
        yield f"{name}\n{number}"
