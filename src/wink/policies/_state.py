"""What policies remember about a session."""

from typing import TYPE_CHECKING

from wink.dataclass import dataclass

if TYPE_CHECKING:
    from wink.session import Session, SliceView, Upsert

__all__ = ["PolicyState", "invoked_tools", "policy_state", "remember"]


@dataclass(frozen=True, slots=True)
class PolicyState:
    """Part of one policy's memory: calls that have succeeded in this session.

    Instances live in the session's slice of this type, and several of them with one `policy_name` add up, so that a
    policy appends only what is new; `policy_state` adds them up. Those of the policies that come with wink are one for
    each pair, and for each tool without one: a call writes only what nobody knew, and an undo takes back exactly that.
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
    """The tools that the policy called `name` remembers; takes longer the more was remembered."""
    tools: set[str] = set()
    for state in session[PolicyState].all():
        if state.policy_name == name:
            tools |= state.invoked_tools
    return tools


def is_remembered(session: "Session", name: str, tool: str) -> bool:
    """Whether `remember` was told of the tool alone; for checks, which run before every call."""
    return session[PolicyState].get(_key(PolicyState(name, frozenset({tool})))) is not None


def remember(session: "Session", news: PolicyState) -> None:
    """Add `news` to what its policy remembers; nothing is written that is known."""
    states, name = session[PolicyState], news.policy_name
    facts = [PolicyState(name, frozenset({pair[0]}), frozenset({pair})) for pair in news.invoked_keys]
    alone = news.invoked_tools - {tool for tool, _ in news.invoked_keys}
    for fact in (*facts, *(PolicyState(name, frozenset({tool})) for tool in alone)):
        if states.get(_key(fact)) is None:
            states.register(PolicyState, _note)
            states.append(fact)


def _note(view: "SliceView[PolicyState]", news: PolicyState) -> "Upsert[PolicyState]":
    """A reducer, so that two calls side by side lose nothing."""
    from wink.session import Upsert

    del view
    return Upsert(_key(news), news)


def _key(fact: PolicyState) -> str:
    """Under which key the item is that has this and nothing else."""
    pairs = (text for pair in sorted(fact.invoked_keys) for text in pair)
    return "\n".join((fact.policy_name, *sorted(fact.invoked_tools), *pairs))
