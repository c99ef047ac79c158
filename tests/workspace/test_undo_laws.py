"""Any sequence of calls, outside edits, tries, undos, redos and restores ends in the model's state, or in a named conflict."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from tests.workspace.laws import Machine, carry_out
from tests.workspace.test_undo import Note, Plan, Task, everything, prepared, tree
from tests.workspace.working import call

from wink.filesystem import Filesystem
from wink.session import Session
from wink.workspace import Workspace


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
