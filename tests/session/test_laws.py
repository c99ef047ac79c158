"""Laws of sessions, tried on random histories."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from wink.session import (
    Replace,
    Session,
    SessionPart,
    SlicePolicy,
    SliceView,
    Snapshot,
    append_all,
    replace_latest_by,
    upsert_by,
)


@dataclass(frozen=True, slots=True)
class Item:
    number: int


@dataclass(frozen=True, slots=True)
class Row:
    key: str
    value: int


@dataclass(frozen=True, slots=True)
class Moved:
    key: str
    value: int


@dataclass(frozen=True, slots=True)
class Logged:
    number: int


@dataclass(frozen=True, slots=True)
class Total:
    value: int


def add(view: SliceView[Total], event: Item) -> Replace[Total]:
    now = view.latest()
    return Replace((Total((now.value if now else 0) + event.number),))


TYPES = (Item, Row, Moved, Logged, Total)


def new_session() -> Session:
    session = Session(slice_config={Logged: SlicePolicy.LOG})
    session[Row].register(Row, upsert_by(lambda row: row.key))
    session[Moved].register(Moved, replace_latest_by(lambda moved: moved.key))
    session[Item].register(Item, append_all)
    session[Total].register(Item, add)
    return session


def state(session: Session) -> dict[type, tuple[Any, ...]]:
    return {cls: session[cls].all() for cls in TYPES}


numbers = st.integers(0, 9)
keys = st.sampled_from("abc")
events = st.one_of(
    st.builds(Item, numbers), st.builds(Row, keys, numbers), st.builds(Moved, keys, numbers), st.builds(Logged, numbers)
)
histories = st.lists(events, max_size=12)


@settings(deadline=None)
@given(histories, histories)
def test_restoring_a_snapshot_gives_the_state_back(before: list[object], after: list[object]) -> None:
    """restore(snapshot()) == id, whatever happened in between, and also through JSON."""
    session = new_session()
    for event in before:
        session.dispatch(event)
    was, snapshot = state(session), session.snapshot()
    text = snapshot.to_json()
    for event in after:
        session.dispatch(event)
    session.restore(snapshot, preserve_logs=False)
    assert state(session) == was
    for event in after:
        session.dispatch(event)
    session.restore(Snapshot.from_json(text), preserve_logs=False)
    assert state(session) == was
    assert {cls: items for cls, items in snapshot.slices.items() if items} == {c: i for c, i in was.items() if i}


@settings(deadline=None)
@given(histories, histories)
def test_a_call_gives_what_direct_writes_give(before: list[object], inside: list[object]) -> None:
    """Staging changes when something stands, not what."""
    direct, staged = new_session(), new_session()
    for event in before:
        direct.dispatch(event)
        staged.dispatch(event)
    part = staged.begin()
    token = part.enter()
    for event in inside:
        direct.dispatch(event)
        staged.dispatch(event)
        assert state(staged) == state(direct)
        for cls in TYPES:
            assert len(staged[cls]) == len(direct[cls])
            assert staged[cls].latest() == direct[cls].latest()
        for key in "abc":
            assert staged[Row].get(key) == direct[Row].get(key)
    part.exit(token)
    part.publish()
    assert state(staged) == state(direct)


@settings(deadline=None)
@given(histories, histories)
def test_deltas_rebuild_the_state(before: list[object], inside: list[object]) -> None:
    """A record that applies them holds what the session holds."""
    session = new_session()
    kept: dict[str, dict[object, object]] = {}
    fresh = iter(range(10**9))

    def record(deltas: Any) -> None:
        for delta in deltas:
            rows = kept.setdefault(delta.type_name, {})
            if delta.op == "replace":
                rows.clear()
            assert (delta.keys is not None) or delta.op != "upsert"
            for key, item in zip(delta.keys or [None] * len(delta.items), delta.items, strict=True):
                rows[next(fresh) if key is None else key] = item

    session.direct_recorder = record
    for event in before:
        session.dispatch(event)
    part = session.begin()
    token = part.enter()
    for event in inside:
        session.dispatch(event)
    part.exit(token)
    record(part.prepare())
    part.publish()
    for cls in TYPES:
        assert tuple(kept.get(f"{__name__}:{cls.__qualname__}", {}).values()) == session[cls].all()


class Savepoints(RuleBasedStateMachine):
    """Nested calls against the plainest model: a stack of copies."""

    def __init__(self) -> None:
        super().__init__()
        self.session = new_session()
        self.models: list[dict[str, Any]] = [{"items": [], "rows": {}, "logged": [], "total": None}]
        self.parts: list[tuple[SessionPart, Any]] = []
        self.snapshots: list[tuple[Snapshot, dict[str, Any]]] = []

    @property
    def model(self) -> dict[str, Any]:
        return self.models[-1]

    def copy(self) -> dict[str, Any]:
        model = self.model
        return {**model, "items": list(model["items"]), "rows": dict(model["rows"])}

    @rule(number=numbers)
    def append(self, number: int) -> None:
        self.session.dispatch(Item(number))
        self.model["items"].append(Item(number))
        self.model["total"] = (self.model["total"] or 0) + number

    @rule(key=keys, number=numbers)
    def upsert(self, key: str, number: int) -> None:
        self.session.dispatch(Row(key, number))
        self.model["rows"][key] = Row(key, number)

    @rule(number=numbers)
    def log(self, number: int) -> None:
        self.session.dispatch(Logged(number))
        self.model["logged"].append(Logged(number))  # one list, shared by all models: never rolled back

    @rule(number=numbers)
    def clear_some(self, number: int) -> None:
        self.session[Item].clear(lambda item: item.number < number)
        self.model["items"] = [item for item in self.model["items"] if item.number >= number]

    @rule(key=keys)
    def clear_row(self, key: str) -> None:
        self.session[Row].clear(lambda row: row.key == key)
        self.model["rows"].pop(key, None)

    @rule(values=st.lists(numbers, max_size=3))
    def seed(self, values: list[int]) -> None:
        self.session[Item].seed(map(Item, values))
        self.model["items"] = list(map(Item, values))

    @precondition(lambda self: len(self.parts) < 4)
    @rule()
    def begin(self) -> None:
        part = self.session.begin()
        self.parts.append((part, part.enter()))
        self.models.append(self.copy())

    @precondition(lambda self: self.parts)
    @rule()
    def commit(self) -> None:
        part, token = self.parts.pop()
        part.exit(token)
        part.revoke()
        part.prepare()
        part.publish()
        inner = self.models.pop()
        self.models[-1] = inner

    @precondition(lambda self: self.parts)
    @rule()
    def roll_back(self) -> None:
        part, token = self.parts.pop()
        part.exit(token)
        part.undo()
        self.models.pop()

    @rule()
    def snapshot(self) -> None:
        self.snapshots.append((self.session.snapshot(), self.copy()))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        snapshot, model = data.draw(st.sampled_from(self.snapshots))
        self.session.restore(snapshot)
        self.models[-1] = {**model, "items": list(model["items"]), "rows": dict(model["rows"])}

    @invariant()
    def session_is_as_the_model_says(self) -> None:
        model, session = self.model, self.session
        assert session[Item].all() == tuple(model["items"])
        assert session[Row].all() == tuple(model["rows"].values())
        assert session[Logged].all() == tuple(model["logged"])
        assert session[Total].all() == (() if model["total"] is None else (Total(model["total"]),))
        assert session[Item].latest() == (model["items"][-1] if model["items"] else None)
        assert session[Row].latest() == next(reversed(model["rows"].values()), None)
        assert len(session[Row]) == len(model["rows"])
        for key in "abc":
            assert session[Row].get(key) == model["rows"].get(key)

    def teardown(self) -> None:
        while self.parts:
            self.roll_back()


Savepoints.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSavepoints = Savepoints.TestCase


def test_many_threads_on_one_session_lose_nothing() -> None:
    """Calls that commit, calls that are undone, direct writes and readers, all at once."""
    session = new_session()
    ready = threading.Barrier(12)
    failures: list[BaseException] = []
    rounds = 60

    def caller(worker: int) -> None:
        for turn in range(rounds):
            part = session.begin()
            token = part.enter()
            session.dispatch(Item(1))
            session.dispatch(Row(f"{worker}", turn))
            session.dispatch(Logged(worker))
            assert session[Row].get(f"{worker}") == Row(f"{worker}", turn)
            part.exit(token)
            part.revoke()
            if turn % 3 == 2:
                part.undo()
            else:
                part.prepare()
                part.publish()

    def writer(worker: int) -> None:
        for _ in range(rounds):
            session.dispatch(Item(1))
            session.publish(Moved("k", worker))

    def reader(_worker: int) -> None:
        for _ in range(rounds):
            before = session.snapshot()
            assert len(before.slices.get(Total, ())) <= 1
            total = sum(item.number for item in before.slices.get(Item, ()))
            latest = before.slices.get(Total, (Total(0),))
            # The two slices change in one step, so no snapshot may fall between them.
            assert latest == () or latest[0].value == total
            session[Row].all()

    def run(job: Any, worker: int) -> None:
        try:
            ready.wait()
            job(worker)
        except BaseException as error:
            failures.append(error)

    jobs = [caller] * 6 + [writer] * 3 + [reader] * 3
    threads = [threading.Thread(target=run, args=(job, worker)) for worker, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    committed = 6 * (rounds - rounds // 3) + 3 * rounds
    assert len(session[Item]) == committed
    assert session[Total].all() == (Total(committed),)
    assert Counter(event.number for event in session[Logged]) == Counter(dict.fromkeys(range(6), rounds))
    last = max(turn for turn in range(rounds) if turn % 3 != 2)
    assert {row.key: row.value for row in session[Row]} == {f"{worker}": last for worker in range(6)}
