"""Slices: reading, reducers, policies, and what happens when a reducer is wrong."""

from __future__ import annotations

import logging
import pickle
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from wink.errors import ReducerError, SessionError, SliceTypeError
from wink.session import (
    Append,
    Clear,
    ClearSlice,
    Extend,
    InitializeSlice,
    Replace,
    Session,
    SlicePolicy,
    SliceView,
    Upsert,
    append_all,
    reducer,
    replace_latest,
    replace_latest_by,
    upsert_by,
)


@dataclass(frozen=True, slots=True)
class Note:
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    path: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Total:
    count: int


@dataclass(frozen=True)
class AddStep:
    step: str


@dataclass(frozen=True)
class Finish:
    pass


def notes(session: Session) -> list[str]:
    return [note.text for note in session[Note]]


def test_slice_without_reducers_keeps_every_event() -> None:
    """Recording something takes no preparation."""
    session = Session()
    session.dispatch(Note("a"))
    session.dispatch(Note("b"))

    assert session[Note].all() == (Note("a"), Note("b"))
    assert session[Note].latest() == Note("b")
    assert session[Note].where(lambda note: note.text < "b") == (Note("a"),)
    assert len(session[Note]) == 2
    assert session[Page].latest() is None
    assert session[Page].all() == ()
    assert "Note" in repr(session[Note])


def test_several_reducers_see_what_the_one_before_left() -> None:
    """They run in the order of their registration, in one step."""
    session = Session()
    session[Note].register(Note, append_all)
    session[Note].register(Note, lambda view, event: Append(Note(f"{len(view)}{event.text}")))
    session[Total].register(Note, lambda view, _event: Replace((Total(len(view) + 7),)))

    session.dispatch(Note("a"))

    assert notes(session) == ["a", "1a"]
    assert session[Total].latest() == Total(7)


def test_registering_a_reducer_again_changes_nothing() -> None:
    """Two prompts may bring the same section."""
    session = Session()
    session[Note].register(Note, append_all)
    session[Note].register(Note, append_all)
    session.dispatch(Note("a"))
    assert notes(session) == ["a"]


@pytest.mark.parametrize(
    ("op", "left"),
    [
        (Append(Note("x")), ["a", "b", "x"]),
        (Extend((Note("x"), Note("y"))), ["a", "b", "x", "y"]),
        (Extend(()), ["a", "b"]),
        (Replace((Note("x"),)), ["x"]),
        (Clear(), []),
        (Clear(lambda note: note.text == "a"), ["b"]),
        (Upsert("k", Note("x")), ["a", "b", "x"]),
    ],
    ids=["append", "extend", "extend by nothing", "replace", "clear", "clear some", "upsert"],
)
def test_operations_do_what_they_say(op: object, left: list[str]) -> None:
    """The whole vocabulary of a reducer."""
    session = Session()
    session[Note].seed([Note("a"), Note("b")])
    session[Note].register(Finish, lambda _view, _event: op)  # type: ignore[arg-type,return-value]
    session.dispatch(Finish())
    assert notes(session) == left


def test_replace_latest_keeps_one() -> None:
    """Singleton state."""
    session = Session()
    session[Note].register(Note, replace_latest)
    session.dispatch(Note("a"))
    session.dispatch(Note("b"))
    assert notes(session) == ["b"]


def test_upsert_by_keeps_places_and_replace_latest_by_moves_to_the_end() -> None:
    """The one difference between the two."""
    events = [Page("a", "1"), Page("b", "1"), Page("a", "2")]
    keeps, moves = Session(), Session()
    keeps[Page].register(Page, upsert_by(lambda page: page.path))
    moves[Page].register(Page, replace_latest_by(lambda page: page.path))
    for event in events:
        keeps.dispatch(event)
        moves.dispatch(event)
    assert keeps[Page].all() == (Page("a", "2"), Page("b", "1"))
    assert moves[Page].all() == (Page("b", "1"), Page("a", "2"))
    assert keeps[Page].latest() == Page("b", "1")
    assert keeps[Page].get("a") == Page("a", "2")
    assert keeps[Page].get("zzz") is None


def test_items_that_were_there_before_get_keys_too() -> None:
    """A section may be installed when its slice is not empty any more."""
    session = Session()
    session[Page].seed([Page("a", "1"), Page("b", "1")])
    session[Page].register(Page, upsert_by(lambda page: page.path))
    assert session[Page].get("a") == Page("a", "1")
    session.dispatch(Page("a", "2"))
    assert session[Page].all() == (Page("a", "2"), Page("b", "1"))


def test_items_staged_before_the_registration_get_keys_too() -> None:
    """A nested prompt may install a section in the middle of a call."""
    session = Session()
    session[Page].append(Page("a", "1"))
    part = session.begin()
    token = part.enter()
    session.dispatch(Page("b", "1"))
    session[Page].register(Page, upsert_by(lambda page: page.path))
    session.dispatch(Page("b", "2"))
    session.dispatch(Page("a", "2"))
    assert session[Page].all() == (Page("a", "2"), Page("b", "2"))
    part.exit(token)
    part.publish()
    assert session[Page].all() == (Page("a", "2"), Page("b", "2"))
    assert session[Page].get("b") == Page("b", "2")


def test_seeding_a_keyed_slice_keeps_one_item_a_key() -> None:
    """Otherwise `get` and `all` would tell different stories."""
    session = Session()
    session[Page].register(Page, upsert_by(lambda page: page.path))
    session[Page].seed([Page("a", "1"), Page("b", "1"), Page("a", "2")])
    assert session[Page].all() == (Page("a", "2"), Page("b", "1"))


@pytest.mark.parametrize("key", ["a", 1, ("a", 1), None, SlicePolicy.LOG, True], ids=repr)
def test_any_value_can_be_a_key(key: object) -> None:
    """Keys are stored as text, and found again by value."""
    session = Session()
    session.stage(Note, [Upsert(key, Note("x")), Upsert("other", Note("y"))])
    assert session[Note].get(key) == Note("x")


def test_key_without_a_value_is_refused() -> None:
    """An address in memory would never be found again."""
    with pytest.raises(SliceTypeError, match="cannot be stored; use text"):
        Session().stage(Note, [Upsert(object(), Note("x"))])


def test_append_asks_the_slices_own_reducers_only() -> None:
    """`session[T].append` is about T."""
    session = Session()
    session[Note].register(Note, replace_latest)
    session[Total].register(Note, lambda view, _event: Append(Total(len(view))))
    session[Note].append(Note("a"))
    session[Note].append(Note("b"))
    assert notes(session) == ["b"]
    assert session[Total].all() == ()


def test_events_for_slices() -> None:
    """What `seed` and `clear` do can be said with events too."""
    session = Session()
    session.dispatch(InitializeSlice(Note, (Note("a"), Note("b"))))
    session.dispatch(ClearSlice(Note, lambda note: note.text == "a"))
    assert notes(session) == ["b"]
    session[Note].seed(Note("c"))
    assert notes(session) == ["c"]
    session[Note].clear()
    assert notes(session) == []


# -- reducers as methods


@dataclass(frozen=True)
class Plan:
    steps: tuple[str, ...] = ()
    done: bool = False

    @reducer(on=AddStep)
    def add(self, event: AddStep) -> Plan:
        return replace(self, steps=(*self.steps, event.step))

    @reducer(on=Finish)
    def finish(self, _event: Finish) -> Replace[Plan]:
        return Replace((replace(self, done=True),))


def test_methods_of_a_state_are_its_reducers() -> None:
    """State and what changes it are read in one place; a method gives the new state or an operation."""
    session = Session()
    session.install(Plan, initial=Plan)
    session.install(Plan, initial=Plan)
    session.dispatch(AddStep("one"))
    session.dispatch(AddStep("two"))
    session.dispatch(Finish())
    assert session[Plan].all() == (Plan(("one", "two"), done=True),)
    assert session[AddStep].all() == ()


def test_initial_may_be_a_state() -> None:
    """A frozen value needs no factory."""
    session = Session()
    session.install(Plan, initial=Plan(("zero",)))
    session.dispatch(AddStep("one"))
    assert session[Plan].latest() == Plan(("zero", "one"))


def test_without_initial_events_pass_an_empty_slice_by() -> None:
    """There is nothing yet that a method could work on."""
    session = Session()
    session.install(Plan)
    session.dispatch(AddStep("one"))
    assert session[Plan].latest() is None
    session[Plan].seed(Plan())
    session.dispatch(AddStep("two"))
    assert session[Plan].latest() == Plan(("two",))


@dataclass
class Loose:
    @reducer(on=AddStep)
    def add(self, _event: AddStep) -> Loose:
        return self


@dataclass(frozen=True)
class Wrong:
    @reducer(on=AddStep)
    def add(self, _event: AddStep) -> Plan:
        return Plan()


@pytest.mark.parametrize(
    ("cls", "initial", "problem"),
    [(Loose, None, "must not change"), (Note, None, "no method is marked"), (Plan, 3, "initial is 3")],
)
def test_states_that_cannot_be_installed_are_refused(cls: type, initial: object, problem: str) -> None:
    """When they are installed, not when the first event comes."""
    with pytest.raises(SliceTypeError, match=problem):
        Session().install(cls, initial)


def test_method_that_returns_another_type_is_named() -> None:
    """The reader should find the method."""
    session = Session()
    session.install(Wrong, initial=Wrong)
    with pytest.raises(ReducerError, match=r"reducer Wrong\.add of slice Wrong failed on AddStep: it returned Plan"):
        session.dispatch(AddStep("x"))


# -- what goes wrong


def broken(_view: SliceView[Note], _event: Note) -> Append[Note]:
    raise KeyError("gone")


def nonsense(_view: SliceView[Note], _event: Note) -> Append[Note]:
    return "what?"  # type: ignore[return-value]


def alien(_view: SliceView[Note], _event: Note) -> Append[Note]:
    return Append(Page("x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (broken, "reducer broken of slice Note failed on Note: it raised KeyError: 'gone'"),
        (nonsense, "reducer nonsense of slice Note failed on Note: it returned 'what?'; return Append"),
        (alien, "reducer alien of slice Note failed on Note: it returned Append of a wrong item: it holds Note items"),
    ],
)
@pytest.mark.parametrize("in_call", [False, True])
def test_wrong_reducer_is_named_and_changes_nothing(wrong: object, problem: str, in_call: bool) -> None:
    """Slice, event and reducer are what one needs to find it; slices changed before it go back."""
    session = Session()
    session[Page].register(Note, lambda _view, _event: Append(Page("first")))
    session[Note].register(Note, wrong)  # type: ignore[arg-type]
    part = session.begin()
    token = part.enter() if in_call else None

    with pytest.raises(ReducerError) as caught:
        session.dispatch(Note("x"))

    assert str(caught.value).startswith(problem)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert session[Page].all() == ()
    assert session[Note].all() == ()
    if token is not None:
        part.exit(token)
    assert part.prepare() == ()
    part.publish()


def test_reducer_cannot_write_to_its_session() -> None:
    """It runs again when the slice has moved; effects would happen twice."""
    session = Session()

    def meddling(_view: SliceView[Note], event: Note) -> Append[Note]:
        session.dispatch(Page("x"))
        return Append(event)

    session[Note].register(Note, meddling)
    session[Page].register(Page, append_all)
    with pytest.raises(ReducerError, match="SessionError: a reducer wrote to its session"):
        session.dispatch(Note("a"))
    assert session[Page].all() == ()
    session.dispatch(Page("y"))
    assert session[Page].all() == (Page("y"),)


@dataclass(frozen=True)
class Special(Plan):
    pass


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda s: s[Note].append(Page("x")), "slice Note: it holds Note items, not Page"),
        (lambda s: s[Plan].append(Special()), "slice Plan: it holds Plan items, not Special"),
        (lambda s: s[Note].seed([Note("a"), 3]), "slice Note: it holds Note items, not int"),
        (lambda s: s.dispatch("text"), "slice str: its type is no dataclass"),
        (lambda s: s[Note("x")], "a slice is named by a class"),
    ],
)
def test_slices_hold_one_type(write: object, problem: str) -> None:
    """A wrong item would surface far away, when the state is stored or read back."""
    session = Session()
    with pytest.raises(SliceTypeError) as caught:
        write(session)  # type: ignore[operator]
    assert problem in str(caught.value)
    assert session[Note].all() == ()


def test_failing_predicate_changes_nothing() -> None:
    """Foreign code runs before the first change."""
    session = Session()
    session[Note].seed([Note("a"), Note("b")])
    with pytest.raises(ZeroDivisionError):
        session[Note].clear(lambda note: note.text == "a" or bool(1 / 0))
    assert notes(session) == ["a", "b"]


# -- policies and the session itself


def test_policy_of_a_slice_is_decided_once() -> None:
    """Two sections that disagree about rollback are both wrong for one of them."""
    session = Session(slice_config={Page: SlicePolicy.LOG})
    session[Note].register(Note, append_all, policy=SlicePolicy.STATE)
    session[Note].register(Page, lambda _view, _event: Clear())
    with pytest.raises(SessionError, match="Note is STATE already and cannot become LOG"):
        session[Note].register(Finish, lambda _v, _e: Clear(), policy=SlicePolicy.LOG)
    with pytest.raises(SessionError, match="Page is LOG already"):
        session[Page].register(Page, append_all, policy=SlicePolicy.STATE)


def test_children_know_their_parent_and_tell_its_subscribers() -> None:
    """A nested prompt's events reach whoever watches the outer one."""
    parent = Session(tags={"user": "x"})
    child = Session(parent=parent)
    heard: list[object] = []
    parent.dispatcher.subscribe(Note, heard.append)
    child.publish(Note("from the child"))

    assert parent.children == (child,)
    assert child.parent is parent
    assert heard == [Note("from the child")]
    assert parent[Note].all() == ()
    assert dict(parent.tags) == {"user": "x"}


def test_session_knows_when_it_was_made() -> None:
    """Timestamps are timezone-aware UTC."""
    assert Session().created_at.tzinfo is UTC
    assert Session(created_at=datetime(2030, 1, 1, tzinfo=UTC)).created_at.year == 2030
    with pytest.raises(ValueError, match="no timezone"):
        Session(created_at=datetime(2030, 1, 1))  # noqa: DTZ001
    assert Session().session_id != Session().session_id
    assert repr(Session(name="default")) == "<Session default>"


def test_published_event_reaches_log_reducers_and_subscribers() -> None:
    """One call says it to all."""
    session, heard = Session(), []
    session[Total].register(Note, lambda view, _event: Replace((Total(len(view) + 1),)))
    session.dispatcher.subscribe(Note, heard.append)

    result = session.publish(Note("a"))

    assert result.ok
    assert result.handled_count == 1
    assert heard == [Note("a")]
    assert notes(session) == ["a"]
    assert session[Total].latest() == Total(1)


def test_log_may_keep_less_than_subscribers_hear() -> None:
    """An event may carry what is too large to keep."""
    session, heard = Session(), []
    session.dispatcher.subscribe(Note, heard.append)
    session.publish(Note("everything"), kept=Note("short"))
    assert notes(session) == ["short"]
    assert heard == [Note("everything")]


def test_reducer_that_fails_on_a_published_event_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The thing has happened; nobody can take it back."""
    session = Session()
    session[Note].register(Note, append_all)
    session[Page].register(Note, lambda _view, _event: 1 / 0)  # type: ignore[arg-type,return-value]
    with caplog.at_level(logging.ERROR, "wink.session"):
        session.publish(Note("a"))
    assert "ZeroDivisionError" in caplog.text
    assert notes(session) == ["a"]


def test_own_reducer_of_a_log_takes_the_place_of_appending() -> None:
    """So a log can be bounded."""
    session = Session()
    session[Note].register(Note, lambda view, event: Replace((*view.all()[-1:], event)), policy=SlicePolicy.LOG)
    for text in "abc":
        session.publish(Note(text))
    assert notes(session) == ["b", "c"]
