"""What policies remember is an ordinary slice of the session."""

from hypothesis import given, settings
from hypothesis import strategies as st

from wink.policies import PolicyState, policy_state
from wink.serde import dumps, parse
from wink.session import Session

names = st.sampled_from(["lint", "test", "build", "deploy"])
states = st.builds(
    PolicyState,
    st.sampled_from(["order", "reads"]),
    st.frozensets(names),
    st.frozensets(st.tuples(names, st.text(max_size=3))),
)


def test_a_fresh_session_remembers_nothing() -> None:
    """Asking must not create anything either."""
    session = Session()

    assert policy_state(session, "order") == PolicyState("order")
    assert session[PolicyState].all() == ()


def test_policies_do_not_see_each_others_memory() -> None:
    """One slice holds the memory of all policies, so the name has to keep them apart."""
    session = Session()
    session[PolicyState].append(PolicyState("order", frozenset({"lint"})))

    assert policy_state(session, "reads") == PolicyState("reads")


@given(st.lists(states, max_size=8))
def test_parts_add_up_whatever_their_order(parts: list[PolicyState]) -> None:
    """A policy appends only what is new; nothing that it ever appended may get lost."""
    session, backwards = Session(), Session()
    for part in parts:
        session[PolicyState].append(part)
    for part in reversed(parts):
        backwards[PolicyState].append(part)

    state = policy_state(session, "order")

    mine = [part for part in parts if part.policy_name == "order"]
    assert state.invoked_tools == frozenset().union(*(part.invoked_tools for part in mine))
    assert state.invoked_keys == frozenset().union(*(part.invoked_keys for part in mine))
    assert state == policy_state(backwards, "order")


@settings(deadline=None)  # the first example imports what JSON needs
@given(states)
def test_memory_survives_being_stored(state: PolicyState) -> None:
    """A workspace keeps sessions between processes, as JSON."""
    assert parse(PolicyState, dumps(state)) == state


def test_memory_is_reset_and_restored_with_the_session() -> None:
    """A policy that remembered what the session has forgotten would allow calls that it should deny."""
    session = Session()
    before = session.snapshot()
    session[PolicyState].append(PolicyState("order", frozenset({"lint"})))

    after = session.snapshot()
    session.restore(before)
    assert policy_state(session, "order").invoked_tools == frozenset()

    session.restore(after)
    assert policy_state(session, "order").invoked_tools == {"lint"}

    session.reset()
    assert policy_state(session, "order").invoked_tools == frozenset()
