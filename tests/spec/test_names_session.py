"""Programs that use the session as the specification names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.runtime import ToolCall, ToolExecutor
from wink.session import (
    Append,
    Clear,
    ClearSlice,
    DispatchResult,
    Extend,
    InitializeSlice,
    InProcessDispatcher,
    Replace,
    Session,
    SliceAccessor,
    SlicePolicy,
    SliceView,
    Snapshot,
    SnapshotRestoreError,
    SnapshotSerializationError,
    ToolInvoked,
    append_all,
    reducer,
    replace_latest,
    replace_latest_by,
    upsert_by,
)


@dataclass(frozen=True)
class Note:
    """An item, and an event."""

    name: str
    text: str = ""


@dataclass(frozen=True)
class Added:
    """An event."""

    number: int


@dataclass(frozen=True)
class Total:
    """State with reducers of its own."""

    number: int = 0

    @reducer(on=Added)
    def add(self, event: Added) -> Total:
        return replace(self, number=self.number + event.number)

    @reducer(on=Note)
    def start_again(self, event: Note) -> Replace[Total]:
        return Replace((Total(),))


def test_a_session_is_made_by_position_and_by_keyword() -> None:
    """What it is told it keeps; what it is not told it makes up."""
    dispatcher, parent, number, now = InProcessDispatcher(), Session(), uuid4(), datetime.now(UTC)

    by_position = Session(dispatcher, parent, number, now, {"user": "x"}, {Note: SlicePolicy.LOG})
    by_keyword = Session(
        dispatcher=dispatcher,
        parent=parent,
        session_id=number,
        created_at=now,
        tags={"user": "x"},
        slice_config={Note: SlicePolicy.LOG},
    )

    for session in (by_position, by_keyword):
        assert (session.dispatcher, session.parent) == (dispatcher, parent)
        assert (session.session_id, session.created_at, session.tags) == (number, now, {"user": "x"})
    assert parent.children == (by_position, by_keyword)
    assert Session().created_at.utcoffset() == timedelta(0)


def test_what_a_slice_can_do() -> None:
    """`session[T]` reads and writes the items of one type."""
    session = Session()
    notes = session[Note]
    assert isinstance(notes, SliceAccessor)
    assert (notes.all(), notes.latest()) == ((), None)

    notes.seed(Note("a"))
    notes.append(Note("b"))
    session.dispatch(Note("c"))
    assert [note.name for note in session[Note].all()] == ["a", "b", "c"]
    assert session[Note].latest() == Note("c")
    assert session[Note].where(lambda note: note.name > "a") == (Note("b"), Note("c"))
    notes.clear(lambda note: note.name == "b")
    assert notes.all() == (Note("a"), Note("c"))
    notes.seed([Note("x"), Note("y")])
    assert notes.all() == (Note("x"), Note("y"))
    notes.clear()
    assert notes.all() == ()


NOTES = (Note("a", "1"), Note("b", "1"), Note("a", "2"))


@pytest.mark.parametrize(
    ("reduce", "left"),
    [
        (append_all, NOTES),
        (replace_latest, NOTES[2:]),
        (replace_latest_by(lambda note: note.name), NOTES[1:]),
        (upsert_by(lambda note: note.name), (NOTES[2], NOTES[1])),
        (lambda view, event: Append(event), NOTES),
        (lambda view, event: Extend([event]), NOTES),
        (lambda view, event: Replace((*view.all(), event)), NOTES),
        (lambda view, event: Clear() if event.text == "2" else Append(event), ()),
        (lambda view, event: Clear(lambda note: note.name == "b") if view.latest() else Append(event), (NOTES[0],)),
    ],
)
def test_what_a_reducer_may_say(reduce: Callable[..., Any], left: tuple[Note, ...]) -> None:
    """The ready-made ones, and every operation."""
    session = Session()
    session[Note].register(Note, reduce)

    for note in NOTES:
        session.dispatch(note)

    assert session[Note].all() == left


def test_a_slice_follows_events_of_other_types() -> None:
    """A reducer is `(view, event)`; several slices may listen to one event."""
    session = Session()

    def count(view: SliceView[Total], event: Added) -> Replace[Total]:
        return Replace((Total((view.latest() or Total()).number + 1),))

    session[Total].register(Added, count)
    session[Added].register(Added, append_all, policy=SlicePolicy.LOG)
    session.dispatch(Added(5))
    session.dispatch(Added(5))

    assert (session[Total].latest(), len(session[Added].all())) == (Total(2), 2)


@pytest.mark.parametrize("initial", [Total(1), lambda: Total(1)])
def test_a_state_class_brings_its_reducers(initial: Any) -> None:
    """Methods return the next state, or an operation."""
    session = Session()
    session.install(Total, initial=initial)

    session.dispatch(Added(2))
    assert session[Total].latest() == Total(3)
    session.dispatch(Note("again"))
    assert session[Total].all() == (Total(),)


def test_slices_are_set_and_cleared_by_events() -> None:
    """For those who have a session to dispatch to and nothing else."""
    session = Session()

    session.dispatch(InitializeSlice(Note, [Note("a"), Note("b")]))
    session.dispatch(ClearSlice(Note, lambda note: note.name == "a"))
    assert session[Note].all() == (Note("b"),)
    session.dispatch(InitializeSlice(slice_type=Note, values=(Note("c"),)))
    assert session[Note].all() == (Note("c"),)
    session.dispatch(ClearSlice(slice_type=Note))
    assert session[Note].all() == ()


def test_snapshots_take_state_back_and_leave_logs() -> None:
    """Unless the logs are to go back as well."""
    session = Session(slice_config={Added: SlicePolicy.LOG})
    session.dispatch(Note("a"))
    before = session.snapshot()
    session.dispatch(Note("b"))
    session.dispatch(Added(1))

    session.restore(before)
    assert (session[Note].all(), session[Added].all()) == ((Note("a"),), (Added(1),))
    session.restore(before, preserve_logs=False)
    assert session[Added].all() == ()
    session.reset()
    assert session[Note].all() == ()


def test_snapshots_travel_as_json() -> None:
    """Into another session, with a version that is checked; what has no JSON form is refused by name."""

    @dataclass(frozen=True)
    class Odd:
        thing: object

    session = Session(tags={"user": "x"})
    session.dispatch(Note("a"))
    text = session.snapshot().to_json()
    other = Session()
    other.restore(Snapshot.from_json(text))

    assert other[Note].all() == (Note("a"),)
    read = Snapshot.from_json(text)
    assert (read.session_id, read.tags) == (session.session_id, {"user": "x"})
    assert read.created_at.utcoffset() == timedelta(0)
    with pytest.raises(SnapshotRestoreError):
        Snapshot.from_json(json.dumps(json.loads(text) | {"schema_version": 99}))
    session.dispatch(Odd(object()))
    with pytest.raises(SnapshotSerializationError, match="Odd"):
        session.snapshot().to_json()


def test_a_clone_goes_its_own_way() -> None:
    """With the items and the reducers, and a name of its own."""
    session = Session(tags={"user": "x"})
    session.install(Total, initial=Total())
    session.dispatch(Added(1))
    twin = session.clone()
    with session.locked():
        session.dispatch(Added(1))
    twin.dispatch(Added(5))

    assert (session[Total].latest(), twin[Total].latest(), twin.tags) == (Total(2), Total(6), {"user": "x"})
    assert twin.session_id != session.session_id


def test_the_dispatcher_tells_how_it_went() -> None:
    """A subscriber that fails keeps nothing from the others."""
    dispatcher, heard = InProcessDispatcher(), list[Note]()

    def fail(event: Note) -> None:
        raise ValueError(event.name)

    dispatcher.subscribe(Note, fail)
    dispatcher.subscribe(Note, heard.append)
    result = dispatcher.dispatch(Note("a"))

    assert isinstance(result, DispatchResult)
    assert (result.ok, result.handled_count, len(result.errors), heard) == (False, 2, 1, [Note("a")])
    with pytest.raises(ExceptionGroup):
        result.raise_if_errors()
    dispatcher.unsubscribe(Note, fail)
    dispatcher.dispatch(Note("b")).raise_if_errors()
    assert Session(dispatcher=dispatcher).dispatcher is dispatcher


def test_two_prompts_share_a_session_and_a_failing_call_loses_its_own_writes_only() -> None:
    """Values of results are appended to the slice of their type; what a failing call wrote is gone."""
    session = Session()
    session[Total].register(ToolInvoked, lambda view, event: Replace((Total((view.latest() or Total()).number + 1),)))

    def write(params: Note, *, context: ToolContext) -> ToolResult[Note]:
        context.session.dispatch(Added(1))
        return ToolResult.ok(params) if params.text else ToolResult.error("no text")

    for key in ("one", "two"):
        tool = Tool[Note, Note](name="write", description="Write it.", handler=write)
        prompt = Prompt(PromptTemplate(ns="spec", key=key, sections=[MarkdownSection("T", "x", tools=[tool])]))
        run = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        assert run.execute(ToolCall("write", {"name": key, "text": "t"})).success
        assert not run.execute(ToolCall("write", {"name": key})).success

    assert session[Note].all() == (Note("one", "t"), Note("two", "t"))
    assert session[Added].all() == (Added(1), Added(1))
    assert session[Total].latest() == Total(4)
    assert [event.prompt_name for event in session[ToolInvoked].all()] == ["one", "one", "two", "two"]
