"""What is given up leaves the history, and what stays is as good as before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plugins.history.tests.conftest import fsck, git
from tests.states import state_of
from tests.workspace.test_undo import tree
from tests.workspace.working import call

from wink.errors import HistoryDamaged, UndoConflict
from wink.workspace import Workspace

TOP = Path(__file__).parents[3]


def work(workspace: Workspace, count: int, *, folds: int = 2) -> None:
    for number in range(count):
        call(workspace, lambda files, _, number=number: files.write_bytes("a", os.urandom(2000) + b"%d" % number))
        if number % folds == 0:
            workspace.fold()


def size(store: Path) -> int:
    return sum(path.stat().st_size for path in (store / "objects").rglob("*") if path.is_file())


def commits(store: Path, *what: str) -> list[str]:
    return git(store, "log", "--format=%H", *what).splitlines()


def test_old_commits_leave_and_the_others_keep_their_ids(workspace: Workspace, root: Path, store: Path) -> None:
    """The record refers to them, and a person may have noted one."""
    (root / "a").write_text("theirs")
    work(workspace, 8)
    workspace.fold()
    before, was = commits(store), size(store)

    workspace.gc(calls=3)

    fsck(store)
    assert commits(store) == before[:4]  # the oldest of them is what the others are compared with
    assert len(list(store.glob("objects/pack/*.pack"))) == 1
    assert size(store) < was * 0.7
    assert len(commits(store, "refs/wink/attributes")) == 2
    states = [tree(root)]
    for _ in range(3):
        workspace.undo()
        states.append(tree(root))
    with pytest.raises(UndoConflict, match="not kept any more"):
        workspace.undo(n=1)
    assert len({str(state) for state in states}) == 4
    work(workspace, 3)
    workspace.fold()
    fsck(store)


def test_everything_can_be_given_up(workspace: Workspace, root: Path, store: Path) -> None:
    """And then one begins anew from what there is."""
    work(workspace, 4)

    done = workspace.gc(calls=0)

    assert (done.calls, done.bytes_left) == (3, 0)
    fsck(store)
    assert len(commits(store)) == 1
    call(workspace, lambda files, _: files.write("a", "new"))
    workspace.fold()
    fsck(store)
    assert len(commits(store)) == 2
    workspace.gc(calls=0)
    fsck(store)
    assert len(commits(store)) == 1
    git(store, "gc", "--prune=now", "--quiet")
    fsck(store)


def test_what_a_checkpoint_needs_is_kept(workspace: Workspace, root: Path, store: Path) -> None:
    """However old it is: that is what somebody gave it a name for."""
    (root / "b").write_text("theirs")
    work(workspace, 3)
    workspace.checkpoint("named")
    before = tree(root)
    work(workspace, 5)
    call(workspace, lambda files, _: files.delete("b"))
    workspace.fold()

    done = workspace.gc(calls=0)

    fsck(store)
    assert done.bytes_left == 2001 + 6
    git(store, "gc", "--prune=now", "--quiet")
    assert workspace.gc(calls=0).bytes == 0
    workspace.restore("named")
    assert tree(root) == before
    workspace.undo()
    fsck(store)


def test_checkpoint_of_everything_survives(workspace: Workspace, root: Path, store: Path) -> None:
    """It depends on no commit."""
    (root / "b").write_text("theirs")
    work(workspace, 2)
    workspace.checkpoint("all", full=True)
    before = tree(root)
    (root / "b").unlink()
    work(workspace, 2)

    workspace.gc(calls=0)

    fsck(store)
    workspace.restore("all")
    assert tree(root) == before


def test_dry_run_does_nothing(workspace: Workspace, store: Path) -> None:
    """It only tells."""
    work(workspace, 4)
    before = sorted((str(path), path.stat().st_ino) for path in store.rglob("*"))

    told = workspace.gc(calls=1, dry_run=True)

    assert sorted((str(path), path.stat().st_ino) for path in store.rglob("*")) == before
    assert workspace.gc(calls=1) == told


def test_damaged_history_is_left_alone(workspace: Workspace, root: Path, store: Path) -> None:
    """What can still be read of it may be all that somebody has."""
    work(workspace, 4)
    workspace.fold()
    git(store, "gc", "--quiet")
    (pack,) = store.glob("objects/pack/*.pack")
    data = pack.read_bytes()
    pack.chmod(0o600)
    pack.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))

    with pytest.raises(HistoryDamaged):
        workspace.gc(calls=1)

    assert pack.exists()


def test_killed_at_every_step_it_is_simply_run_again(tmp_path: Path) -> None:
    """Nothing that was to stay is lost, and git finds nothing wrong at any time."""
    command = [sys.executable, "-W", "error", "-m", "plugins.history.tests.killed_drops", str(tmp_path)]

    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("write"), st.sampled_from("abc"), st.binary(max_size=3)),
            st.tuples(st.sampled_from(("fold", "checkpoint")), st.just(""), st.just(b"")),
            st.tuples(st.just("gc"), st.integers(0, 3).map(str), st.just(b"")),
        ),
        max_size=15,
    )
)
@settings(max_examples=25, deadline=None)
def test_as_many_calls_as_were_to_stay_can_be_undone(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, bytes]]
) -> None:
    """And each checkpoint can be restored, whatever was given up."""
    root = tmp_path_factory.mktemp("root")
    (root / "a").write_text("theirs")
    states, named, sure = [tree(root)], dict[str, object](), 0
    with Workspace.open(root) as workspace:
        for kind, what, content in steps:
            if kind == "write":
                before = tree(root)
                call(workspace, lambda files, _, what=what, content=content: files.write_bytes(what, content))
                if tree(root) != before:
                    states.append(tree(root))
                    sure += 1
            elif kind == "checkpoint":
                name = f"c{len(named)}"
                workspace.checkpoint(name)
                named[name] = tree(root)
            elif kind == "fold":
                workspace.fold()
            else:
                workspace.gc(calls=int(what))
                sure = min(sure, int(what))
        for state in list(reversed(states[:-1]))[:sure]:
            workspace.undo()
            assert tree(root) == state
        for name, state in reversed(named.items()):
            if tree(root) != state:
                workspace.restore(name)
            assert tree(root) == state
        workspace.fold()
    if (state_of(root) / "store.git").exists():
        fsck(state_of(root) / "store.git")


def test_a_checkpoint_is_restored_over_calls_that_wrote_the_same_once_more(workspace: Workspace, root: Path) -> None:
    """The last one found another file than the first one left, with the same content: that was known only of what is given up."""
    before = tree(root)
    workspace.checkpoint("named")
    for content in (b"", b"", b"\0"):
        call(workspace, lambda files, _, content=content: files.write_bytes("a", content))
    workspace.gc(calls=0)

    workspace.restore("named")

    assert tree(root) == before
