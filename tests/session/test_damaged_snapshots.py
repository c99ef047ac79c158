"""Whatever becomes of a stored snapshot: it is read, or one kind of error says why not, and the session is as it was."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.session.test_restore_law import Item, Logged, Moved, Row, Said, new_session, state_of

from wink.errors import SnapshotRestoreError
from wink.session import Snapshot

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def whole() -> dict[str, Any]:
    """A snapshot of everything that a session can hold."""
    session = new_session()
    for event in (Item(1), Item(2), Row("a", 1), Row("b", 2), Moved("a", 1), Logged(1)):
        session.dispatch(event)
    session.publish(Said(1))
    return json.loads(session.snapshot().to_json())


WHOLE = whole()


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places in a JSON value."""
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        found += paths(one, (*path, key))
    return found


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The snapshot with one to three places removed, or with something else in them."""
    value = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 3))):
        places = paths(value)
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        at: Any = value
        for key in way:
            at = at[key]
        if draw(st.booleans()):
            del at[last]
        else:
            at[last] = draw(json_values)
    return json.dumps(value)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged(), st.booleans())
@example(json.dumps(WHOLE | {"tags": {"a": None}}), True)
@example(json.dumps(WHOLE | {"slices": {"a": 1}}), True)
@example(json.dumps(WHOLE | {"created_at": "0001-01-01T00:00:00+23:59"}), True)
def test_a_damaged_snapshot_is_read_or_refused(text: str, strict: bool) -> None:
    """And nothing in between: no other exception, and no half of it in the session."""
    session = new_session()
    session.dispatch(Item(7))
    before, logged = state_of(session), session[Logged].all()
    refusal: SnapshotRestoreError | None = None
    try:
        snapshot = Snapshot.from_json(text)
        session.restore(snapshot, preserve_logs=False, unknown="refuse" if strict else "keep")
    except SnapshotRestoreError as error:
        refusal = error
    if refusal is not None:
        assert str(refusal).startswith("cannot restore the state: ")
        assert (state_of(session), session[Logged].all()) == (before, logged)
        return
    # What was read can be written again, and read again.
    again = Snapshot.from_json(session.snapshot().to_json())
    other = new_session()
    other.restore(again, preserve_logs=False)
    assert state_of(other) == state_of(session)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(json.dumps(WHOLE)) - 1))
def test_a_snapshot_that_was_cut_off_is_refused(length: int) -> None:
    """A disk was full, or a program was killed while it wrote."""
    with pytest.raises(SnapshotRestoreError, match="it is no JSON"):
        Snapshot.from_json(json.dumps(WHOLE)[:length])


@settings(deadline=None)
@given(st.binary(max_size=40) | st.text(max_size=40) | json_values.map(json.dumps))
def test_anything_else_is_refused_as_well(text: str | bytes) -> None:
    """Files get mixed up."""
    with pytest.raises(SnapshotRestoreError, match=r"pass what Snapshot.to_json\(\) gave"):
        Snapshot.from_json(text)
