"""What a call writes waits in its part: seen by the call, published when it commits, gone when it does not."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from wink.errors import HandleRevoked, ReducerError
from wink.session import (
    Append,
    Replace,
    Session,
    SessionPart,
    SliceDelta,
    SlicePolicy,
    SliceView,
    append_all,
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
class Count:
    value: int


@dataclass(frozen=True, slots=True)
class Add:
    amount: int


@dataclass(frozen=True, slots=True)
class Seen:
    what: str


NAME = f"{__name__}:"


@contextmanager
def call(session: Session) -> Iterator[SessionPart]:
    """A call is current inside the block; what becomes of it is up to the test."""
    part = session.begin()
    token = part.enter()
    try:
        yield part
    finally:
        part.exit(token)


def count_up(view: SliceView[Count], event: Add) -> Replace[Count]:
    now = view.latest()
    return Replace((Count((now.value if now else 0) + event.amount),))


def counting() -> Session:
    session = Session()
    session[Count].register(Add, count_up)
    return session


def texts(session: Session) -> list[str]:
    return [note.text for note in session[Note]]


def test_call_sees_its_own_writes_and_others_do_not() -> None:
    """Half of a call is nobody else's business."""
    session = Session()
    session.dispatch(Note("before"))
    with call(session) as part:
        session.dispatch(Note("mine"))
        assert texts(session) == ["before", "mine"]
        assert session[Note].latest() == Note("mine")
    assert texts(session) == ["before"]
    part.publish()
    assert texts(session) == ["before", "mine"]


def test_undo_drops_what_the_call_wrote() -> None:
    """A failing call never happened."""
    session = Session()
    session.dispatch(Note("before"))
    with call(session) as part:
        session[Note].clear()
        session.dispatch(Note("mine"))
        assert texts(session) == ["mine"]
    part.undo()
    part.undo()
    assert texts(session) == ["before"]


def test_undo_after_prepare_drops_it_too() -> None:
    """The record may refuse the commit."""
    session = Session()
    with call(session) as part:
        session.dispatch(Note("mine"))
    part.prepare()
    part.undo()
    assert texts(session) == []
    session.dispatch(Note("after"))
    assert texts(session) == ["after"]


def test_undo_drops_only_the_calls_own_writes() -> None:
    """Somebody else may have published meanwhile."""
    session = Session()
    with call(session) as part:
        session.dispatch(Note("mine"))
    session.dispatch(Note("theirs"))
    part.undo()
    assert texts(session) == ["theirs"]


def test_log_slices_stay_when_the_call_is_undone() -> None:
    """A record of what happened is true whatever comes of the call."""
    session = Session(slice_config={Seen: SlicePolicy.LOG})
    with call(session) as part:
        session.dispatch(Seen("a"))
        session.publish(Note("published"))
        session.dispatch(Count(1))
    assert session[Seen].all() == (Seen("a"),)
    part.undo()
    assert session[Seen].all() == (Seen("a"),)
    assert texts(session) == ["published"]
    assert session[Count].all() == ()
    assert part.logged() == (SliceDelta(NAME + "Seen", "extend", (Seen("a"),), None, "log"),)


def test_log_written_in_an_inner_call_is_told_to_the_record_of_the_outer_one() -> None:
    """There is one entry a call of the model."""
    session = Session(slice_config={Seen: SlicePolicy.LOG})
    with call(session) as outer:
        with call(session) as inner:
            session.dispatch(Seen("inner"))
        inner.undo()
    assert [delta.items for delta in outer.prepare()] == [(Seen("inner"),)]
    outer.publish()


def test_one_event_may_go_to_state_and_log() -> None:
    """The state rolls back, the log does not."""
    session = Session()
    session[Note].register(Add, lambda _view, event: Append(Note(str(event.amount))))
    session[Seen].register(Add, lambda _view, event: Append(Seen(str(event.amount))), policy=SlicePolicy.LOG)
    with call(session) as part:
        session.dispatch(Add(1))
    part.undo()
    assert session[Note].all() == ()
    assert session[Seen].all() == (Seen("1"),)


# -- deltas


def test_deltas_say_how_each_slice_changed() -> None:
    """A record stores the change, not the slice."""
    session = Session()
    session[Page].register(Page, upsert_by(lambda page: page.path))
    session[Count].seed(Count(1))
    session[Note].seed([Note("a"), Note("b")])
    with call(session) as part:
        session.dispatch(Note("c"))
        session.dispatch(Page("x", "1"))
        session.dispatch(Page("y", "1"))
        session.dispatch(Page("x", "2"))
        session[Count].clear()
        session[Seen].all()
    assert part.prepare() == (
        SliceDelta(NAME + "Note", "extend", (Note("c"),), None, "state"),
        SliceDelta(NAME + "Page", "upsert", (Page("x", "2"), Page("y", "1")), ("x", "y"), "state"),
        SliceDelta(NAME + "Count", "replace", (), None, "state"),
    )
    part.publish()


def test_replacing_a_keyed_slice_tells_its_keys() -> None:
    """They must be there when the slice is loaded again."""
    session = Session()
    session[Page].register(Page, upsert_by(lambda page: page.path))
    with call(session) as part:
        session[Page].seed([Page("x"), Page("y")])
        session[Page].clear(lambda page: page.path == "x")
    assert part.prepare() == (SliceDelta(NAME + "Page", "replace", (Page("y"),), ("y",), "state"),)
    part.publish()
    assert session[Page].get("y") == Page("y")


def test_call_that_wrote_nothing_has_no_delta() -> None:
    """Most calls only read."""
    session = Session()
    with call(session) as part:
        session[Note].all()
    assert part.prepare() == ()
    part.publish()


def test_direct_writes_are_told_before_they_stand() -> None:
    """A record that cannot store them must be able to refuse them."""
    session, stored = Session(), []
    session.direct_recorder = stored.append
    session.dispatch(Note("a"))
    assert stored == [(SliceDelta(NAME + "Note", "extend", (Note("a"),), None, "state"),)]

    def refuse(_deltas: tuple[SliceDelta, ...]) -> None:
        raise OSError("disk full")

    session.direct_recorder = refuse
    with pytest.raises(OSError, match="disk full"):
        session.dispatch(Note("b"))
    assert texts(session) == ["a"]
    session.direct_recorder = None
    session.dispatch(Note("c"))
    assert texts(session) == ["a", "c"]


# -- savepoints


def test_inner_call_commits_into_the_outer_one() -> None:
    """Nested calls stand or fall with the call around them."""
    session = Session()
    with call(session) as outer:
        session.dispatch(Note("outer"))
        with call(session) as inner:
            assert inner.parent is outer
            session.dispatch(Note("inner"))
            assert texts(session) == ["outer", "inner"]
        assert texts(session) == ["outer"]
        assert inner.prepare() == ()
        inner.publish()
        assert texts(session) == ["outer", "inner"]
    assert texts(session) == []
    outer.publish()
    assert texts(session) == ["outer", "inner"]


def test_inner_call_can_be_undone_alone() -> None:
    """A nested call that fails leaves what the outer one did."""
    session = counting()
    with call(session) as outer:
        session.dispatch(Add(1))
        with call(session) as inner:
            session.dispatch(Add(10))
            assert session[Count].latest() == Count(11)
        inner.undo()
        assert session[Count].latest() == Count(1)
    outer.publish()
    assert session[Count].all() == (Count(1),)


def test_inner_calls_of_two_sessions_are_kept_apart() -> None:
    """A nested prompt may have a session of its own."""
    one, two = Session(), Session()
    with call(one) as outer:
        with call(two) as inner:
            one.dispatch(Note("one"))
            two.dispatch(Note("two"))
            assert inner.parent is None
            assert inner.outer is outer
            assert inner.session is two
        inner.publish()
        assert texts(two) == ["two"]
    outer.undo()
    assert texts(one) == []
    assert texts(two) == ["two"]


def test_sibling_that_published_first_is_not_overwritten() -> None:
    """Two inner calls may run at the same time."""
    session = counting()
    with call(session) as outer:
        first, second = session.begin(), session.begin()
        for part in (first, second):
            token = part.enter()
            session.dispatch(Add(1))
            part.exit(token)
        first.publish()
        second.publish()
        assert session[Count].latest() == Count(2)
    outer.publish()
    assert session[Count].latest() == Count(2)


# -- a base that moved


def test_events_are_reduced_again_when_the_slice_has_moved() -> None:
    """Otherwise the slower of two calls would undo the faster one's work."""
    session = counting()
    parts = [session.begin(), session.begin()]
    for part in parts:
        token = part.enter()
        session.dispatch(Add(1))
        session.dispatch(Add(1))
        assert session[Count].latest() == Count(2)
        part.exit(token)
    for part in parts:
        part.prepare()
        part.publish()
    assert session[Count].all() == (Count(4),)


def test_deltas_tell_what_was_reduced_again() -> None:
    """The record must hold what the session holds."""
    session = counting()
    with call(session) as part:
        session.dispatch(Add(1))
    session.dispatch(Add(5))
    assert part.prepare()[0].items == (Count(6),)
    part.publish()


def test_writes_are_published_in_the_order_of_the_commits() -> None:
    """The log of a slice is the order in which things came to stand."""
    session = Session()
    with call(session) as slow:
        session.dispatch(Note("slow"))
    with call(session) as fast:
        session.dispatch(Note("fast"))
    fast.publish()
    slow.publish()
    assert texts(session) == ["fast", "slow"]


def test_reducer_that_refuses_the_moved_slice_fails_the_call() -> None:
    """`prepare` is the last place where a call may fail."""
    session = Session()

    def only_one(view: SliceView[Note], event: Add) -> Append[Note]:
        if len(view):
            raise ValueError("there is one already")
        return Append(Note(str(event.amount)))

    session[Note].register(Add, only_one)
    with call(session) as part:
        session.dispatch(Add(1))
    session.dispatch(Add(2))
    with pytest.raises(ReducerError, match="there is one already"):
        part.prepare()
    part.undo()
    assert texts(session) == ["2"]


@pytest.mark.parametrize("keyed", [False, True])
def test_call_reads_the_slice_as_it_was_when_it_first_wrote_to_it(keyed: bool) -> None:
    """A call's view of what it works on does not shift under its feet, also where views change in place."""
    session = Session()
    if keyed:
        session[Page].register(Page, upsert_by(lambda page: page.path))
    session.dispatch(Page("a"))
    part = session.begin()
    token = part.enter()
    session.dispatch(Page("mine"))
    inside = contextvars.copy_context()
    part.exit(token)
    session.dispatch(Page("theirs"))
    assert inside.run(session[Page].all) == (Page("a"), Page("mine"))
    part.publish()
    assert session[Page].all() == (Page("a"), Page("theirs"), Page("mine"))


# -- fencing


def test_call_that_has_ended_can_neither_read_nor_write() -> None:
    """A thread that was left behind gets an error, and changes nothing."""
    session = Session()
    with call(session) as part:
        session.dispatch(Note("mine"))
        left_behind = contextvars.copy_context()
        part.revoke()
        for use in (
            lambda: session.dispatch(Note("late")),
            lambda: session.publish(Note("late")),
            lambda: session[Note].seed(Note("late")),
            session[Note].all,
            session.snapshot,
            session.begin,
            session.reset,
        ):
            with pytest.raises(HandleRevoked, match="a call that has ended; nothing was changed"):
                use()
    part.publish()
    assert texts(session) == ["mine"]
    with pytest.raises(HandleRevoked):
        left_behind.run(session.dispatch, Note("late"))
    assert texts(session) == ["mine"]


def test_revoking_a_call_revokes_the_calls_inside_it() -> None:
    """The outer call's time is up, so theirs is too."""
    session = Session()
    with call(session) as outer:
        with call(session) as inner:
            session.dispatch(Note("inner"))
            outer.revoke()
            with pytest.raises(HandleRevoked):
                session.dispatch(Note("late"))
        with pytest.raises(HandleRevoked):
            inner.prepare()
        inner.undo()
    outer.publish()
    assert texts(session) == []


def test_revoke_waits_for_the_operation_that_is_under_way() -> None:
    """Afterwards nothing moves any more: either the write is in, or it never will be."""
    session = Session()
    started, proceed = threading.Event(), threading.Event()

    def slow(_view: SliceView[Note], event: Note) -> Append[Note]:
        started.set()
        assert proceed.wait(30)
        return Append(event)

    session[Note].register(Note, slow)
    part = session.begin()
    token = part.enter()
    worker = threading.Thread(target=contextvars.copy_context().run, args=(session.dispatch, Note("slow")))
    worker.start()
    assert started.wait(30)
    part.exit(token)
    revoked = threading.Event()
    revoker = threading.Thread(target=lambda: (part.revoke(), revoked.set()))
    revoker.start()
    assert not revoked.wait(0.05)
    proceed.set()
    revoker.join(30)
    worker.join(30)
    assert revoked.is_set()
    assert part.prepare()[0].items == (Note("slow"),)
    part.publish()


def test_threads_with_a_copied_context_share_the_call() -> None:
    """A sync handler runs on a worker when it has a timeout."""
    session = Session()
    with call(session) as part:
        worker = threading.Thread(target=contextvars.copy_context().run, args=(session.dispatch, Note("worker")))
        worker.start()
        worker.join()
        assert texts(session) == ["worker"]
        outsider = threading.Thread(target=session.dispatch, args=(Note("outsider"),))
        outsider.start()
        outsider.join()
    part.undo()
    assert texts(session) == ["outsider"]


def test_nothing_else_is_published_between_prepare_and_publish() -> None:
    """What was prepared still holds when the record has stored it."""
    session = counting()
    with call(session) as part:
        session.dispatch(Add(1))
    part.prepare()
    other = threading.Thread(target=session.dispatch, args=(Add(10),))
    other.start()
    other.join(0.05)
    assert other.is_alive()
    assert session[Count].latest() is None
    part.publish()
    other.join(30)
    assert session[Count].latest() == Count(11)


def test_locked_keeps_other_threads_from_publishing() -> None:
    """Reading and then writing is one step inside it."""
    session = Session()
    session.dispatch(Count(0))

    def work() -> None:
        for _ in range(100):
            with session.locked():
                now = session[Count].latest()
                assert now is not None
                session[Count].seed(Count(now.value + 1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session[Count].all() == (Count(400),)


def test_locked_in_a_call_does_not_hold_up_other_calls() -> None:
    """A handler that hangs while it holds the lock must not stop the session."""
    session = Session()
    with call(session), session.locked():
        other = threading.Thread(target=session.dispatch, args=(Note("other"),))
        other.start()
        other.join(30)
        assert not other.is_alive()
    assert texts(session) == ["other"]


# -- state as a whole, inside a call


def test_reset_inside_a_call_is_undone_with_it() -> None:
    """Logs stay: they could not come back."""
    session = Session(slice_config={Seen: SlicePolicy.LOG})
    session[Note].register(Note, append_all)
    session.dispatch(Note("a"))
    session.dispatch(Seen("a"))
    with call(session) as part:
        session.reset()
        assert texts(session) == []
        assert session[Seen].all() == (Seen("a"),)
    part.undo()
    assert texts(session) == ["a"]
    session.reset()
    assert texts(session) == []
    assert session[Seen].all() == ()
    session.dispatch(Note("registrations stay"))
    assert texts(session) == ["registrations stay"]


def test_restore_inside_a_call_is_undone_with_it() -> None:
    """A handler may try something, and go back to where it was."""
    session = Session()
    session.dispatch(Note("a"))
    with call(session) as part:
        session.dispatch(Note("b"))
        before = session.snapshot()
        session.dispatch(Note("c"))
        session.restore(before)
        session.dispatch(Note("d"))
        assert texts(session) == ["a", "b", "d"]
    assert texts(session) == ["a"]
    part.publish()
    assert texts(session) == ["a", "b", "d"]
    session.restore(before)
    assert texts(session) == ["a", "b"]


def test_deltas_cannot_be_prepared_by_a_call_whose_outer_call_has_ended() -> None:
    """What it wrote has nowhere to go; and the session is free again."""
    session = Session()
    outer = session.begin()
    token = outer.enter()
    inner = session.begin()
    outer.exit(token)
    outer.undo()
    with pytest.raises(HandleRevoked):
        inner.prepare()
    inner.undo()
    other = threading.Thread(target=session.dispatch, args=(Note("other"),))
    other.start()
    other.join(30)
    assert texts(session) == ["other"]
