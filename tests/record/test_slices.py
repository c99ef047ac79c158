"""Whatever is done to a slice, loading it gives what it held."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wink.record import Record
from wink.session import Session, SliceDelta, upsert_by
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]


@dataclass(frozen=True, slots=True)
class Item:
    """An item with everything that JSON makes difficult."""

    key: str
    number: int
    ratio: float = 0.0
    tags: tuple[str, ...] = ()


keys = st.text(st.characters(codec=None, exclude_categories=()), max_size=3) | st.sampled_from("abc")
items = st.builds(
    Item,
    key=keys,
    number=st.integers(-(2**70), 2**70),
    ratio=st.floats(allow_nan=False, allow_infinity=False),
    tags=st.lists(keys, max_size=2).map(tuple),
)
unkeyed = st.tuples(st.sampled_from(["extend", "replace"]), st.lists(items, max_size=3), st.just(False))
keyed = st.tuples(st.sampled_from(["upsert", "replace"]), st.lists(items, max_size=3), st.just(True))
OPTIONS = {"max_examples": 60, "deadline": None}


def deltas_of(op: str, batch: list[Item], with_keys: bool) -> SliceDelta:
    if with_keys:
        batch = list({item.key: item for item in batch}.values())
    return SliceDelta(
        f"{__name__}:Item",
        op,  # type: ignore[arg-type]
        tuple(batch),
        tuple(item.key for item in batch) if with_keys else None,
        "state",
    )


def usual_entry(**different: Any) -> CommitEntry:
    entry = CommitEntry(
        "tx", "default", "call", "tool", "demo", "{}", "committed", "", datetime(2030, 1, 1, tzinfo=UTC), timedelta(0),
        (), (), (),
    )  # fmt: skip
    return replace(entry, **different)


@settings(**OPTIONS)
@given(st.lists(st.lists(unkeyed, max_size=3), max_size=6) | st.lists(st.lists(keyed, max_size=3), max_size=6))
def test_loading_gives_what_a_dictionary_would_hold(calls: list[list[tuple[str, list[Item], bool]]]) -> None:
    """A table of live items must be as good as replaying all of history."""
    model: dict[object, Item] = {}
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as place:
        record = Record(place)
        for call in calls:
            batch = tuple(deltas_of(*one) for one in call)
            record.commit(usual_entry(deltas=batch))
            for delta in batch:
                if delta.op == "replace":
                    model.clear()
                for position, item in enumerate(delta.items):
                    key = next(numbers) if delta.keys is None else delta.keys[position]
                    model[key] = item  # type: ignore[assignment]
        session = Session(name="default")
        record.adopt(session)

        assert session[Item].all() == tuple(model.values())
        record.close()


writes = st.lists(
    st.tuples(
        st.sampled_from(["dispatch", "append", "seed", "clear", "call", "rolled back"]), st.lists(items, max_size=3)
    ),
    max_size=8,
)


@settings(**OPTIONS)
@given(writes, st.booleans())
def test_reopened_session_holds_what_the_closed_one_held(done: list[tuple[str, list[Item]]], by_key: bool) -> None:
    """Through the session's own interface, inside of calls and outside."""
    with tempfile.TemporaryDirectory() as place:
        record = Record(place)
        session = opened(record, by_key=by_key)
        for what, batch in done:
            if what in {"call", "rolled back"}:
                part = session.begin()
                token = part.enter()
                for item in batch:
                    session.dispatch(item)
                part.exit(token)
                if what == "call":
                    record.commit(usual_entry(deltas=part.prepare()))
                    part.publish()
                else:
                    part.undo()
            elif what == "seed":
                session[Item].seed(batch)
            elif what == "clear":
                session[Item].clear(lambda item: item.number > 0)
            else:
                for item in batch:
                    session.dispatch(item) if what == "dispatch" else session[Item].append(item)
        held = session[Item].all()
        record.close()

        again = Record(place)
        assert opened(again, by_key=by_key)[Item].all() == held
        again.close()


def opened(record: Record, *, by_key: bool) -> Session:
    session = Session(name="default")
    if by_key:
        session[Item].register(Item, upsert_by(lambda item: item.key))
    record.adopt(session)
    return session
