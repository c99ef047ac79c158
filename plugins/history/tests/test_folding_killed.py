"""A fold may be killed anywhere, and two processes may fold at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from plugins.history.tests.conftest import fsck, git
from plugins.history.tests.killed_folds import made
from tests.states import state_of
from tests.workspace.test_undo import tree

from wink.workspace import Workspace

TOP = Path(__file__).parents[3]


def test_killed_at_every_step_a_fold_is_simply_run_again(tmp_path: Path) -> None:
    """Nothing is lost, nothing is there twice, git finds nothing wrong, and each call can be taken back."""
    command = [sys.executable, "-W", "error", "-m", "plugins.history.tests.killed_folds", str(tmp_path)]

    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_several_processes_fold_at_once(tmp_path: Path) -> None:
    """One does it, or each a part; the others find nothing to do."""
    root = tmp_path / "work"
    states = made(root)
    program = "import sys; from wink.workspace import Workspace; w = Workspace.open(sys.argv[1]); w.fold(); w.close()"

    running = [subprocess.Popen([sys.executable, "-W", "error", "-c", program, str(root)]) for _ in range(4)]

    assert [process.wait() for process in running] == [0] * 4
    fsck(state_of(root) / "store.git")
    with Workspace.open(root) as workspace:
        workspace.fold()
        assert len(git(state_of(root) / "store.git", "log", "--format=%s").splitlines()) == 5
        workspace.undo(n=4)
    assert tree(root) == states[0]
