"""Snapshots and transactions by hand, outside the executor."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from wink.errors import RollbackFailed
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.resources import Binding, ResourceContext, ResourceRegistry
from wink.runtime import create_snapshot, restore_snapshot, tool_transaction
from wink.session import Append, Session, SlicePolicy


@dataclass(frozen=True, slots=True)
class Note:
    """State."""

    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A log."""

    text: str


class Counter:
    """A resource that can be restored."""

    def __init__(self, name: str = "") -> None:
        self.name, self.value = name, 0

    def snapshot(self) -> int:
        return self.value

    def restore(self, state: int) -> None:
        self.value = state


class Stuck(Counter):
    """A resource that says that it can be restored."""

    def restore(self, state: int) -> None:
        raise OSError("stuck")


@pytest.fixture
def session() -> Session:
    """A session with a log."""
    session = Session()
    session[Line].register(Line, lambda view, event: Append(event), policy=SlicePolicy.LOG)
    return session


@pytest.fixture
def resources() -> ResourceContext:
    """Files and resources, all in use."""
    registry = ResourceRegistry.of(
        Binding.instance(Counter, Counter()),
        Binding(Stuck, lambda _: Stuck()),
        Binding.instance(Filesystem, InMemoryFilesystem()),
    )
    context = registry.open()
    for kind in (Counter, Filesystem):
        context.get(kind)
    return context


def test_a_snapshot_brings_back_session_resources_and_files(session: Session, resources: ResourceContext) -> None:
    """One moment of everything; logs go on."""
    session.dispatch(Note("before"))
    resources.get(Filesystem).write("a.txt", "before")
    before = create_snapshot(session, resources, tag="mine")
    session.dispatch(Note("after"))
    session.dispatch(Line("after"))
    resources.get(Counter).value = 5
    resources.get(Filesystem).write("a.txt", "after")

    restore_snapshot(session, resources, before)

    assert before.tag == "mine"
    assert session[Note].all() == (Note("before"),)
    assert session[Line].all() == (Line("after"),)
    assert resources.get(Counter).value == 0
    assert resources.get(Filesystem).read("a.txt").content == "before"


def test_a_snapshot_can_be_restored_again_and_later_ones_after_it(session: Session, resources: ResourceContext) -> None:
    """Going back loses nothing that one may want to go forward to."""
    first = create_snapshot(session, resources)
    resources.get(Counter).value = 1
    session.dispatch(Note("one"))
    second = create_snapshot(session, resources)

    for snapshot, expected in ((first, 0), (second, 1), (first, 0), (second, 1)):
        restore_snapshot(session, resources, snapshot)
        assert (resources.get(Counter).value, len(session[Note])) == (expected, expected)


def test_a_snapshot_needs_no_resources(session: Session) -> None:
    """A session alone will do."""
    before = create_snapshot(session, None)
    session.dispatch(Note("after"))

    restore_snapshot(session, None, before)

    assert session[Note].all() == ()


def test_a_resource_that_cannot_be_restored_does_not_keep_the_others_from_it(
    session: Session, resources: ResourceContext
) -> None:
    """All that can go back goes back, and then one hears of the rest."""
    resources.get(Stuck)
    before = create_snapshot(session, resources)
    resources.get(Counter).value = 5
    session.dispatch(Note("after"))

    with pytest.raises(RollbackFailed, match=r"Stuck\.restore raised OSError: stuck"):
        restore_snapshot(session, resources, before)

    assert resources.get(Counter).value == 0
    assert session[Note].all() == ()


def test_a_block_that_raises_undoes_everything(session: Session, resources: ResourceContext) -> None:
    """Session, files and resources together; the log stays."""
    with pytest.raises(KeyboardInterrupt), tool_transaction(session, resources) as transaction:
        assert transaction.filesystem is not None
        transaction.filesystem.write("a.txt", "x")
        session.dispatch(Note("x"))
        session.dispatch(Line("x"))
        resources.get(Counter).value = 5
        raise KeyboardInterrupt

    assert not resources.get(Filesystem).exists("a.txt")
    assert session[Note].all() == ()
    assert session[Line].all() == (Line("x"),)
    assert resources.get(Counter).value == 0
    assert transaction.state == "rolled back"
    assert transaction.change.paths == ("a.txt",)


def test_blocks_nest(session: Session, resources: ResourceContext) -> None:
    """An inner block is a savepoint; an outer failure undoes it too."""
    counter = resources.get(Counter)

    with pytest.raises(ValueError, match="outer"), tool_transaction(session, resources):
        counter.value = 1
        with pytest.raises(ValueError, match="inner"), tool_transaction(session, resources):
            counter.value = 2
            session.dispatch(Note("dropped"))
            raise ValueError("inner")
        assert (counter.value, session[Note].all()) == (1, ())
        with tool_transaction(session, resources):
            counter.value = 3
            session.dispatch(Note("kept for now"))
        assert (counter.value, len(session[Note])) == (3, 1)
        raise ValueError("outer")

    assert (counter.value, session[Note].all()) == (0, ())


def test_a_block_over_a_session_alone(session: Session) -> None:
    """There need not be files or resources."""
    with tool_transaction(session, None) as transaction:
        session.dispatch(Note("x"))
        assert transaction.filesystem is None

    assert session[Note].all() == (Note("x"),)
    assert transaction.state == "committed"


def test_a_block_whose_files_cannot_be_written_leaves_the_turn_free(
    session: Session, resources: ResourceContext
) -> None:
    """Errors of the file layer are errors like any other."""
    filesystem = resources.get(Filesystem)

    with pytest.raises(FileNotFoundError), tool_transaction(session, resources) as transaction:
        assert transaction.filesystem is not None
        transaction.filesystem.write("a.txt", "x")
        transaction.filesystem.delete("nothing")

    assert not filesystem.exists("a.txt")
    assert not filesystem.write_lock.is_held
