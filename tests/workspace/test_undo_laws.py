"""Any sequence of calls, outside edits, undos, redos and restores ends in the model's state, or in a named conflict."""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.workspace.test_undo import Note, Plan, Task, everything, prepared, tree
from tests.workspace.working import call

from wink.errors import NothingToUndo, UndoConflict
from wink.filesystem import Filesystem
from wink.session import Session
from wink.workspace import Workspace

PATHS = ("a", "b", "d", "d/a", "d/b", "d/e", "d/e/a")
Tree = dict[str, Any]
Delta = dict[str, tuple[Any, Any]]

steps = st.lists(
    st.tuples(
        st.sampled_from(("write", "delete", "move", "mkdir", "chmod")),
        st.sampled_from(PATHS),
        st.sampled_from(PATHS),
        st.sampled_from(("", "x", "y", "long")),
    ),
    min_size=1,
    max_size=4,
)


def carry_out(files: Filesystem, step: tuple[str, str, str, str]) -> None:
    kind, path, other, text = step
    try:
        match kind:
            case "write":
                files.write(path, text * 30_000 if text == "long" else text)
            case "delete":
                files.delete(path, recursive=True)
            case "move":
                files.move(path, other, overwrite=True)
            case "mkdir":
                files.mkdir(path, parents=True)
            case _:
                with files._access.changing(path) as frame:  # type: ignore[attr-defined]
                    frame.chmod(path, 0o755 if files.stat(path).is_directory else 0o600)
    except OSError:
        pass  # what cannot be done is not done; calls do such things


class Machine(RuleBasedStateMachine):
    """Knows what each transaction changed from looking at the tree before and after it, and at nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.root = self.place / "work"
        self.root.mkdir()
        (self.root / "a").write_text("first")
        self.workspace = Workspace.open(self.root)
        self.deltas: dict[int, Delta] = {}
        self.checkpoints: list[int] = []
        self.expected = tree(self.root)

    def teardown(self) -> None:
        self.workspace.close()
        shutil.rmtree(self.place)

    def took(self, number: int, before: Tree) -> None:
        after = tree(self.root)
        paths = before.keys() | after.keys()
        self.deltas[number] = {
            path: (before.get(path), after.get(path)) for path in paths if before.get(path) != after.get(path)
        }
        self.expected = after

    def model(self, numbers: list[int]) -> Tree | None:
        """The tree after these calls were taken back; None for a conflict."""
        now = dict(self.expected)
        chains: dict[str, list[tuple[Any, Any]]] = {}
        for number in sorted(numbers):
            for path, change in self.deltas[number].items():
                chains.setdefault(path, []).append(change)
        wanted: Tree = {}
        for path, chain in chains.items():
            first, last = chain[0][0], chain[-1][1]
            if now.get(path) == first:
                continue
            broken = any(one[1] != two[0] for one, two in pairwise(chain))
            if broken or now.get(path) != last:
                return None
            wanted[path] = first
        now.update({path: value for path, value in wanted.items() if value is not None})
        for path in sorted((path for path, value in wanted.items() if value is None), reverse=True):
            if not any(other.startswith(path + "/") for other in now):
                del now[path]
        for path, value in wanted.items():
            above = os.path.dirname(path)
            if value is not None and above and (now.get(above) or (None, b""))[1] is not None:
                return None
            if value is not None and value[1] is not None and any(other.startswith(path + "/") for other in now):
                return None
        return now

    @rule(work=steps)
    def call(self, work: Any) -> None:
        before = tree(self.root)
        number = call(self.workspace, lambda files, _: [carry_out(files, step) for step in work])
        self.took(number, before)

    @rule(path=st.sampled_from(PATHS), text=st.sampled_from((None, "x", "mine")))
    def somebody_else(self, path: str, text: str | None) -> None:
        place = self.root / path
        try:
            if text is None:
                place.unlink()
            else:
                place.write_text(text)
        except OSError:
            pass
        self.expected = tree(self.root)

    @precondition(lambda self: self.deltas)
    @rule(data=st.data())
    def undo_one(self, data: Any) -> None:
        number = data.draw(st.sampled_from(sorted(self.deltas)))
        self.attempt([number], lambda: self.workspace.undo(number))

    @rule(n=st.integers(1, 3))
    def undo_last(self, n: int) -> None:
        try:
            calls = list(self.workspace.undo(n=n, dry_run=True).calls)
        except UndoConflict:
            before = tree(self.root)
            try:
                self.workspace.undo(n=n)
            except UndoConflict:
                assert tree(self.root) == before
            else:
                raise AssertionError("a dry run saw a conflict that was none")
        except NothingToUndo:
            return
        else:
            self.attempt(calls, lambda: self.workspace.undo(n=n))

    @rule()
    def redo(self) -> None:
        self.attempt(None, self.workspace.redo)

    @rule()
    def checkpoint(self) -> None:
        self.workspace.checkpoint(f"c{len(self.checkpoints)}")
        self.checkpoints.append(max(self.deltas, default=0))

    @precondition(lambda self: self.checkpoints)
    @rule(data=st.data())
    def restore(self, data: Any) -> None:
        index = data.draw(st.integers(0, len(self.checkpoints) - 1))
        since = [number for number in self.deltas if number > self.checkpoints[index]]
        self.attempt(since, lambda: self.workspace.restore(f"c{index}"))

    @rule()
    def open_again(self) -> None:
        self.workspace.close()
        self.workspace = Workspace.open(self.root)

    def attempt(self, numbers: list[int] | None, act: Any) -> None:
        before, done = tree(self.root), None
        try:
            done = act()
        except NothingToUndo:
            assert tree(self.root) == before
            return
        except UndoConflict as conflict:
            found = conflict
        else:
            found = None
        if found is not None:
            assert found.conflicts
            assert tree(self.root) == before
            assert numbers is None or self.model(numbers) is None, found
            return
        assert done is not None
        model = self.model(list(done.calls) if numbers is None else numbers)
        assert tree(self.root) == model
        self.took(done.call, before)

    @invariant()
    def nothing_else_changes(self) -> None:
        assert tree(self.root) == self.expected


def test_files_end_as_the_model_says() -> None:
    """The model is a few lines over snapshots of the tree, and knows nothing of wink."""
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=int(os.environ.get("WINK_UNDO_EXAMPLES", "25")),
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# What the state machine found once.


def test_content_that_was_moved_away_is_found_before_it_goes(tmp_path: Path) -> None:
    """Undoing the move removes the only place at which the file's content was."""
    (tmp_path / "a").write_text("first")
    with Workspace.open(tmp_path) as workspace:
        call(workspace, lambda files, _: files.move("a", "b"))
        call(workspace, lambda files, _: files.write("a", ""))
        workspace.undo(n=2)
        assert tree(tmp_path).keys() == {"a"}
        assert (tmp_path / "a").read_text() == "first"
        call(workspace, lambda files, _: (files.move("a", "b"), files.write("a", "")))
        workspace.undo()
        assert tree(tmp_path).keys() == {"a"}
        assert (tmp_path / "a").read_text() == "first"


def test_changed_mode_is_undone_although_the_same_content_was_written_again(tmp_path: Path) -> None:
    """A call that leaves everything as it was is no change, but the file is another one afterwards."""
    (tmp_path / "a").write_text("first")
    with Workspace.open(tmp_path) as workspace:
        for step in (("write", "a", "a", "x"), ("chmod", "a", "a", ""), ("write", "a", "a", "x")):
            call(workspace, lambda files, _, step=step: carry_out(files, step))
        workspace.undo(2)
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644
        workspace.redo()
        workspace.undo(n=2)

    assert (tmp_path / "a").read_text() == "first"


items = st.lists(
    st.one_of(
        st.builds(Note, st.sampled_from("ab")),
        st.builds(Plan, st.sampled_from("ab")),
        st.builds(Task, st.sampled_from("ab"), st.sampled_from("xy")),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=25, deadline=None)
@given(work=st.lists(st.one_of(items, st.integers(1, 3), st.just("redo"), st.just("open")), max_size=12))
def test_session_goes_back_and_forth_with_the_files(work: list[Any]) -> None:
    """Undo and redo are moves along the states that a session had, also through a fresh process' eyes."""
    with tempfile.TemporaryDirectory() as root:
        workspace = Workspace.open(root)
        session = prepared(workspace.session())
        done, undone = [everything(session)], list[list[Any]]()
        for step in work:
            if step == "open":
                workspace.close()
                workspace = Workspace.open(root)
                session = prepared(workspace.session())
            elif step == "redo":
                if undone:
                    workspace.redo()
                    done += reversed(undone.pop())
            elif isinstance(step, int):
                if len(done) > step:
                    workspace.undo(n=step)
                    undone.append([done.pop() for _ in range(step)])
            else:
                before = everything(session)

                def write(files: Filesystem, state: Session, step: Any = step) -> None:
                    for item in step:
                        state.dispatch(item)

                call(workspace, write)
                # A plan that is written again is another one, even where it says the same.
                if everything(session) != before or any(isinstance(item, Plan) for item in step):
                    undone.clear()
                done.append(everything(session))
            assert everything(session) == done[-1]
        workspace.close()
