"""`restore(snapshot())` gives the state back, whatever happened in between: calls, failed calls, calls inside calls.

A history is data. `play` does it to a session, with real tools and a real executor; `Model.play` does it to dictionaries
and lists, and knows only that a failed call leaves the state as it was, and logs as they are.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wink.errors import ReducerError, ToolValidationError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.session import (
    Replace,
    Session,
    SlicePolicy,
    SliceView,
    Snapshot,
    reducer,
    replace_latest,
    replace_latest_by,
    upsert_by,
)

LIMIT = 40
"""A total above this makes its reducer raise."""


@dataclass(frozen=True, slots=True)
class Item:
    number: int


@dataclass(frozen=True, slots=True)
class Row:
    key: str
    number: int


@dataclass(frozen=True, slots=True)
class Moved:
    key: str
    number: int


@dataclass(frozen=True, slots=True)
class Last:
    number: int


@dataclass(frozen=True, slots=True)
class Logged:
    number: int


@dataclass(frozen=True, slots=True)
class Said:
    """Published, not dispatched."""

    number: int


@dataclass(frozen=True, slots=True)
class Total:
    value: int = 0

    @reducer(on=Item)
    def add(self, event: Item) -> Total:
        if self.value + event.number > LIMIT:
            raise ValueError("too much")
        return replace(self, value=self.value + event.number)


STATE = (Item, Row, Moved, Last, Total)
LOGS = (Logged, Said)
Event = Item | Row | Moved | Last | Logged


@dataclass(frozen=True)
class Publish:
    number: int


@dataclass(frozen=True)
class Clear:
    """Rows with this key, and items below this number."""

    key: str
    number: int


@dataclass(frozen=True)
class Seed:
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class BackAndForth:
    """A snapshot, then this, then back."""

    actions: tuple[Any, ...]
    as_json: bool


@dataclass(frozen=True)
class Call:
    """A tool call that does this; in the end it succeeds, returns an error, or raises."""

    actions: tuple[Any, ...]
    ending: Literal["ok", "error", "raise"]
    result: int


numbers, keys = st.integers(0, 9), st.sampled_from("abc")
events = st.one_of(
    st.builds(Item, numbers),
    st.builds(Row, keys, numbers),
    st.builds(Moved, keys, numbers),
    st.builds(Last, numbers),
    st.builds(Logged, numbers),
)
simple = st.one_of(
    events,
    st.builds(Publish, numbers),
    st.builds(Clear, keys, numbers),
    st.builds(Seed, st.lists(numbers, max_size=3).map(tuple)),
)
actions = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(Call, st.lists(inner, max_size=4).map(tuple), st.sampled_from(["ok", "error", "raise"]), numbers),
        st.builds(BackAndForth, st.lists(inner, max_size=4).map(tuple), st.booleans()),
    ),
    max_leaves=12,
)
histories = st.lists(actions, max_size=8)


# -- the session


def new_session() -> Session:
    return prepared(Session(slice_config={Logged: SlicePolicy.LOG}))


def prepared(session: Session) -> Session:
    session[Row].register(Row, upsert_by(lambda row: row.key))
    session[Moved].register(Moved, replace_latest_by(lambda moved: moved.key))
    session[Last].register(Last, replace_latest)
    session[Item].register(Item, lambda view, event: Replace((*view, event)) if event.number % 2 else _append(event))
    session.install(Total, initial=Total())
    return session


def _append(event: Item) -> Any:
    from wink.session import Append

    return Append(event)


@dataclass(frozen=True)
class Number:
    """Which of the planned calls this is."""

    number: int


class Player:
    """Does histories to a session, calls through an executor."""

    def __init__(self, session: Session) -> None:
        self.session, self.plans = session, list[Call]()
        tool = Tool[Number, Item](name="do", description="Do what is planned.", handler=self._handle)
        section = MarkdownSection("T", "x", tools=[tool])
        resources = {Filesystem: InMemoryFilesystem()}
        self.prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section], resources=resources))
        rendered = self.prompt.render(session=session)
        self.executor = ToolExecutor(prompt=self.prompt, rendered=rendered, session=session)

    def play(self, history: Sequence[Any]) -> None:
        for action in history:
            self._do(action)

    def _do(self, action: Any) -> None:
        session = self.session
        match action:
            case Publish():
                session.publish(Said(action.number))
            case Clear():
                session[Row].clear(lambda row: row.key == action.key)
                session[Item].clear(lambda item: item.number < action.number)
            case Seed():
                session[Item].seed(map(Item, action.numbers))
            case Call():
                self.plans.append(action)
                self.executor.execute(ToolCall("do", {"number": len(self.plans) - 1}))
            case BackAndForth():
                before = session.snapshot()
                self.play(action.actions)
                session.restore(Snapshot.from_json(before.to_json()) if action.as_json else before)
            case _:
                with contextlib.suppress(ReducerError):
                    session.dispatch(action)

    def _handle(self, params: Number, *, context: ToolContext) -> ToolResult[Item]:
        plan = self.plans[params.number]
        assert context.session is self.session
        self.play(plan.actions)
        if plan.ending == "raise":
            raise ToolValidationError("planned")
        return ToolResult.ok(Item(plan.result)) if plan.ending == "ok" else ToolResult.error("planned")


def state_of(session: Session) -> dict[type, tuple[Any, ...]]:
    return {cls: session[cls].all() for cls in STATE}


def logs_of(session: Session) -> dict[type, tuple[Any, ...]]:
    return {cls: session[cls].all() for cls in LOGS}


# -- the model


class Model:
    """The plainest thing that behaves as a session should."""

    def __init__(self) -> None:
        self.state: dict[type, tuple[Any, ...]] = dict.fromkeys(STATE, ())
        self.logs: dict[type, list[Any]] = {cls: [] for cls in LOGS}
        self.calls: list[bool] = []

    def play(self, history: Sequence[Any]) -> None:
        for action in history:
            self._do(action)

    def _do(self, action: Any) -> bool:
        state = self.state
        match action:
            case Item():
                total = (state[Total] or (Total(),))[0].value + action.number
                if total > LIMIT:
                    return False
                self.state = {**state, Item: (*state[Item], action), Total: (Total(total),)}
            case Row():
                rows = {row.key: row for row in state[Row]} | {action.key: action}
                self.state = {**state, Row: tuple(rows.values())}
            case Moved():
                others = tuple(moved for moved in state[Moved] if moved.key != action.key)
                self.state = {**state, Moved: (*others, action)}
            case Last():
                self.state = {**state, Last: (action,)}
            case Logged():
                self.logs[Logged].append(action)
            case Publish():
                self.logs[Said].append(Said(action.number))
            case Clear():
                rows = tuple(row for row in state[Row] if row.key != action.key)
                items = tuple(item for item in state[Item] if item.number >= action.number)
                self.state = {**state, Row: rows, Item: items}
            case Seed():
                self.state = {**state, Item: tuple(map(Item, action.numbers))}
            case BackAndForth():
                self.play(action.actions)
                self.state = state
            case Call():
                self.play(action.actions)
                stands = action.ending == "ok" and self._do(Item(action.result))
                if not stands:
                    self.state = state
                self.calls.append(stands)
        return True


# -- the laws


def agree(session: Session, model: Model) -> None:
    assert state_of(session) == model.state
    assert logs_of(session) == {cls: tuple(items) for cls, items in model.logs.items()}
    assert [event.success for event in session[ToolInvoked]] == model.calls


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories)
def test_a_session_does_what_the_model_does(history: list[Any]) -> None:
    """Whatever the calls do, and however they end."""
    session, model = new_session(), Model()
    Player(session).play(history)
    model.play(history)
    agree(session, model)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories, histories, st.booleans())
def test_restoring_a_snapshot_gives_the_state_back(before: list[Any], after: list[Any], as_json: bool) -> None:
    """State goes back, logs stay; and with `preserve_logs=False` they go back too."""
    session = new_session()
    player = Player(session)
    player.play(before)
    state, logs, snapshot = state_of(session), logs_of(session), session.snapshot()
    text = snapshot.to_json()
    player.play(after)
    later = logs_of(session)
    calls = len(session[ToolInvoked])

    back = Snapshot.from_json(text) if as_json else snapshot
    session.restore(back)
    assert (state_of(session), logs_of(session), len(session[ToolInvoked])) == (state, later, calls)
    session.restore(back)
    assert state_of(session) == state
    session.restore(back, preserve_logs=False)
    assert (state_of(session), logs_of(session)) == (state, logs)
    player.play(after)
    session.restore(snapshot, preserve_logs=False)
    assert (state_of(session), logs_of(session)) == (state, logs)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories, histories)
def test_another_session_goes_on_from_json_as_the_first_one_does(before: list[Any], after: list[Any]) -> None:
    """What a snapshot holds is all that the future depends on; and what is written down again is the same."""
    session, other = new_session(), new_session()
    Player(session).play(before)
    text = session.snapshot().to_json()
    other.restore(Snapshot.from_json(text), preserve_logs=False)
    assert list(_slices(other.snapshot().to_json())) == list(_slices(text))

    Player(session).play(after)
    Player(other).play(after)
    assert (state_of(other), logs_of(other)) == (state_of(session), logs_of(session))
    for key in "abc":
        assert other[Row].get(key) == session[Row].get(key)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories, histories, histories)
def test_it_does_not_matter_when_the_types_become_known(before: list[Any], after: list[Any], later: list[Any]) -> None:
    """A process restores before it has built the prompt whose sections register the slices."""
    session, other = new_session(), Session(slice_config={Logged: SlicePolicy.LOG})
    Player(session).play(before)
    snapshot = Snapshot.from_json(session.snapshot().to_json())
    other.restore(snapshot, preserve_logs=False)
    middle = other.snapshot()
    prepared(other)

    for history in (after, later):
        Player(session).play(history)
        Player(other).play(history)
        assert (state_of(other), logs_of(other)) == (state_of(session), logs_of(session))
    session.restore(snapshot, preserve_logs=False)
    other.restore(middle, preserve_logs=False)
    assert (state_of(other), logs_of(other)) == (state_of(session), logs_of(session))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories, histories, st.sampled_from(["ok", "error", "raise"]))
def test_a_call_may_restore_and_still_be_taken_back(before: list[Any], inside: list[Any], ending: Any) -> None:
    """Restoring inside of a call is a write like any other."""
    session, model = new_session(), Model()
    history = [*before, Call((BackAndForth(tuple(inside), as_json=False), *inside), ending, 1)]
    Player(session).play(history)
    model.play(history)
    agree(session, model)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories, histories)
def test_a_clone_and_its_original_do_not_meet(before: list[Any], after: list[Any]) -> None:
    """Both share what was there, and neither sees what the other writes."""
    session = new_session()
    Player(session).play(before)
    twin, state = session.clone(), state_of(session)
    assert state_of(twin) == state
    Player(twin).play(after)
    assert state_of(session) == state
    Player(session).play(after)
    assert (state_of(twin), logs_of(twin)) == (state_of(session), logs_of(session))


def _slices(text: str) -> Iterator[Any]:
    """Slices with something in them, calls left out: an event knows when it was."""
    for entry in sorted(json.loads(text)["slices"], key=lambda entry: entry["type"]):
        if entry["items"] and not entry["type"].startswith("wink."):
            yield entry


def test_views_are_what_reducers_are_given() -> None:
    """The type that reducers name in their annotations."""

    def keep(view: SliceView[Item], event: Item) -> Replace[Item]:
        return Replace((*view.all(), event))

    session = Session()
    session[Item].register(Item, keep)
    session.dispatch(Item(1))
    assert session[Item].all() == (Item(1),)
