"""Any sequence of calls, undos, redos and restores over every kind of slice, beside a model that only knows items.

The model is that of `laws`: a call is what it made of each item, and going back is each item's way back, unless a later call
that stays has come in between. An item is known by its key, or where it has none by its text, which no other has. Nothing
comes back into a slice that a later call, which stays, has replaced.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.workspace.laws import Delta, delta
from tests.workspace.test_undo import Last, Note, Plan, Task, prepared
from tests.workspace.working import call

from wink.errors import NothingToUndo, UndoConflict
from wink.filesystem import Filesystem, Stamp
from wink.session import Session
from wink.workspace import Reverted, Workspace

State = dict[Any, Any]

steps = st.lists(
    st.one_of(
        st.sampled_from((Note, Plan, Last)),
        st.tuples(st.just(Task), st.sampled_from("ab")),
        st.tuples(st.just("clear"), st.sampled_from((Note, Plan, Task))),
        st.tuples(st.just("write"), st.sampled_from("ab")),
        st.tuples(st.just("read"), st.sampled_from("ab")),
    ),
    min_size=1,
    max_size=2,
)


class Slices(RuleBasedStateMachine):
    """Slices in which one item is appended, put under its key, or put in the place of all others."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp()
        self.workspace = Workspace.open(self.root)
        self.session = prepared(self.workspace.session())
        self.deltas: dict[int, Delta] = {}
        self.replaced: dict[int, set[type]] = {}
        self.took_back: dict[int, tuple[int, ...]] = {}
        self.checkpoints: list[int] = []
        self.numbers = count(1)
        self.expected = self.state()

    def teardown(self) -> None:
        self.workspace.close()
        shutil.rmtree(self.root)

    def state(self) -> State:
        """The items that belong to the slices as they were, each under what it is known by."""
        items: State = {(kind, item): True for kind in (Note, Plan) for item in self.session[kind].all()}
        return items | {(Task, item.name): item.state for item in self.session[Task].all()}

    def everything(self) -> list[tuple[object, ...]]:
        return [self.session[kind].all() for kind in (Note, Plan, Task, Last, Stamp)]

    def model(self, numbers: list[int]) -> State | None:
        """The items after these calls were taken back; None for a conflict."""
        now, chains = dict(self.expected), dict[Any, list[tuple[int, tuple[Any, Any]]]]()
        for number in sorted(numbers):
            for known, change in self.deltas[number].items():
                chains.setdefault(known, []).append((number, change))
        for known, chain in chains.items():
            if any(one[1] != two[0] for (_, one), (_, two) in pairwise(chain)):
                return None
            if self.expected.get(known) != chain[-1][1][1]:
                return None
            first, (before, _) = chain[0]
            if before is not None and known not in self.expected and self.was_replaced_since(known[0], first, numbers):
                return None
            now[known] = before
        return {known: value for known, value in now.items() if value is not None}

    def was_replaced_since(self, kind: type, first: int, numbers: list[int]) -> bool:
        """Whether a later call that stays has put all of a slice's items aside."""
        undone: set[int] = set()
        for number in sorted(self.took_back, reverse=True):
            if number not in undone:
                undone.update(self.took_back[number])
        later = {number for number, kinds in self.replaced.items() if number > first and kind in kinds}
        return bool(later - undone - set(numbers))

    @rule(work=steps)
    def call(self, work: list[Any]) -> None:
        replaced: set[type] = set()

        def carry_out(files: Filesystem, session: Session) -> None:
            for step in work:
                if isinstance(step, type):
                    session.dispatch(step(str(next(self.numbers))))
                    replaced.update({step} & {Plan})
                elif step[0] is Task:
                    session.dispatch(Task(step[1], str(next(self.numbers))))
                elif step[0] == "clear":
                    session[step[1]].clear()
                    replaced.add(step[1])
                elif step[0] == "write":
                    files.write(step[1], str(next(self.numbers)))
                elif files.exists(step[1]):
                    files.read(step[1])

        before = self.expected
        number = call(self.workspace, carry_out)
        self.replaced[number] = replaced
        self.took(number, before)

    @precondition(lambda self: self.deltas)
    @rule(data=st.data())
    def undo_one(self, data: Any) -> None:
        number = data.draw(st.sampled_from(sorted(self.deltas)))
        self.attempt(lambda: self.workspace.undo(number), [number])

    @rule(n=st.integers(1, 3))
    def undo_last(self, n: int) -> None:
        self.attempt(lambda: self.workspace.undo(n=n))

    @rule()
    def redo(self) -> None:
        self.attempt(self.workspace.redo)

    @precondition(lambda self: self.deltas)
    @rule()
    def undo_and_undo_that(self) -> None:
        """An undo of an undo is the identity, of what is judged leniently too."""
        before = self.everything()
        done = self.attempt(self.workspace.undo)
        if done is not None and (done.changes or self.everything() != before):
            number = done.call
            assert self.attempt(lambda: self.workspace.undo(number)) is not None
        assert self.everything() == before

    @rule()
    def checkpoint(self) -> None:
        self.workspace.checkpoint(f"c{len(self.checkpoints)}")
        self.checkpoints.append(max(self.deltas, default=0))

    @precondition(lambda self: self.checkpoints)
    @rule(data=st.data())
    def restore(self, data: Any) -> None:
        name = data.draw(st.integers(0, len(self.checkpoints) - 1))
        self.attempt(lambda: self.workspace.restore(f"c{name}"))

    @rule()
    def open_again(self) -> None:
        self.workspace.close()
        self.workspace = Workspace.open(self.root)
        self.session = prepared(self.workspace.session())

    def attempt(self, act: Any, numbers: list[int] | None = None) -> Reverted | None:
        before, found = self.expected, self.everything()
        try:
            done = act()
        except NothingToUndo:
            assert self.everything() == found
            return None
        except UndoConflict as problem:
            in_the_way = [what.rpartition(":")[2] for what in problem.paths if ":" in what]
        else:
            in_the_way, number = None, done.call or 0
        if in_the_way is not None:
            assert self.everything() == found
            assert not {"Last", "Stamp"} & set(in_the_way)
            assert not in_the_way or numbers is None or self.model(numbers) is None
            return None
        assert self.state() == self.model(list(done.calls))
        self.took_back[number] = done.calls
        self.took(number, before)
        return done

    def took(self, number: int, before: State) -> None:
        self.expected = self.state()
        self.deltas[number] = delta(before, self.expected)

    @invariant()
    def latest_is_one(self) -> None:
        assert len(self.session[Last].all()) <= 1

    @invariant()
    def nothing_else_changes(self) -> None:
        assert self.state() == self.expected


def test_slices_end_as_the_model_says() -> None:
    """Writes, undos, redos and restores in any order."""
    run_state_machine_as_test(
        Slices,
        settings=settings(
            max_examples=int(os.environ.get("WINK_UNDO_EXAMPLES", "40")),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_redo_after_a_later_call_leaves_the_latest_item_alone(tmp_path: Path) -> None:
    """A redo put a second item into a slice of one; the next undo found its place taken, and so did every other."""
    with Workspace.open(tmp_path) as workspace:
        session = prepared(workspace.session())
        for name in "ab":
            call(workspace, lambda files, s, name=name: (files.write(name, "x"), s.dispatch(Last(name))))
        workspace.undo()
        call(workspace, lambda files, s: (files.write("d", "x"), s.dispatch(Last("d"))))
        workspace.redo()
        assert session[Last].all() == (Last("d"),)
        workspace.undo()
        workspace.undo()
        assert sorted(os.listdir(tmp_path)) == [".wink", "a"]


@pytest.mark.parametrize("kind", [Plan, Note])
def test_what_was_replaced_since_does_not_come_back_beside_it(tmp_path: Path, kind: type[Plan | Note]) -> None:
    """Where a slice was empty there is no item by whose absence a redo could see that a later call has replaced it."""
    with Workspace.open(tmp_path) as workspace:
        session = prepared(workspace.session())
        call(workspace, lambda files, s: s.dispatch(kind("1")))
        workspace.undo()
        call(workspace, lambda files, s: s.dispatch(Plan("2")) if kind is Plan else s[Note].clear())
        before = session[kind].all()
        with pytest.raises(UndoConflict, match="c3"):
            workspace.redo()
        assert session[kind].all() == before
        workspace.undo(3)
        workspace.undo(2)
        assert session[kind].all() == (kind("1"),)
