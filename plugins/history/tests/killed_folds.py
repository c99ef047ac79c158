"""Kill a fold at each of its steps, and see that everything is as good as before; prints how many steps there are.

A program of its own, since it forks: `python -m plugins.history.tests.killed_folds DIRECTORY`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from plugins.history.tests.conftest import fsck, git
from tests.states import state_of
from tests.workspace.test_undo import tree
from tests.workspace.working import call

from wink.workspace import Workspace

STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.truncate", "os.listdir", "os.chmod", "fcntl.flock", "sql"}
WORK = ("a.txt", "b/c.txt", "b/d.bin")


def made(root: Path) -> list[dict[str, object]]:
    """A workspace with calls that are not folded; its tree before each of them and after all."""
    root.mkdir()
    (root / "a.txt").write_text("theirs\n")
    states = [tree(root)]
    with Workspace.open(root) as workspace:
        for number in range(3):
            contents = {path: os.urandom(3000) if path.endswith("bin") else b"%d\n" % number for path in WORK}
            call(workspace, lambda files, _, new=contents: [files.write_bytes(path, new[path]) for path in new])
            states.append(tree(root))
        call(workspace, lambda files, _: files.delete("b", recursive=True))
        states.append(tree(root))
    return states


def die_in(work: Callable[[Workspace], object], root: Path, at: int) -> int | None:
    """Do some work in another process, killed before its step `at`; gives the number of steps if it was not."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        count, is_active = 0, False

        def step(event: str, _: object) -> None:
            nonlocal count
            if is_active and event in STEPS:
                count += 1
                if count == at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(step)
        with Workspace.open(root) as workspace:
            workspace._upkeep.history()  # type: ignore[attr-defined] - what is imported would be steps too
            connection = workspace.record.folds._ledger.database.writable()  # type: ignore[attr-defined]
            connection.set_trace_callback(
                lambda text: sys.audit("sql") if not text.startswith(("SELECT", "--")) else None
            )
            is_active = True
            work(workspace)
            is_active = False
        os.write(write, b"%d" % count)
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    said = os.read(read, 100)
    os.close(read)
    assert bool(said) == (status == 0), status
    return int(said) if said else None


def check(root: Path, states: list[dict[str, object]], at: int) -> None:
    store = state_of(root) / "store.git"
    if (store / "HEAD").exists():
        fsck(store)
    with Workspace.open(root) as workspace:
        if at % 2:
            workspace.fold()
            assert [name for name in os.listdir(state_of(root) / "staged") if not name.startswith("times.")] == []
        for state in reversed(states[:-1]):
            workspace.undo()
            assert tree(root) == state
        workspace.fold()
    fsck(store)
    # Of the process that was killed while it tried how fine times are there.
    assert [name for name in os.listdir(state_of(root) / "staged") if not name.startswith("times.")] == []
    assert [name for name in os.listdir(store / "objects/pack") if not name.startswith("pack-")] == []
    told = git(store, "log", "--reverse", "--format=%s").splitlines()
    assert told[0] == "found: a.txt"
    assert len(told) == 9


def main(place: Path) -> None:
    import wink_history._archive
    import wink_history._fold
    import wink_history._tidy  # noqa: F401 - imports would be steps too

    # So that what is noted in one step ends among the transactions of a fold.
    import_module("wink.record._folds").NOTED_AT_ONCE = 3

    at, steps = 0, None
    while steps is None:
        at += 1
        root = place / f"at{at}"
        states = made(root)
        steps = die_in(Workspace.fold, root, at)
        check(root, states, at)
        shutil.rmtree(root)
    print(steps)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
