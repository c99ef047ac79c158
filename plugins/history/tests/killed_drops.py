"""Kill a `gc` at each of its steps, and see that what was to stay is there; prints how many steps there are.

A program of its own, since it forks: `python -m plugins.history.tests.killed_drops DIRECTORY`.
"""

from __future__ import annotations

import os
import shutil
import sys
from datetime import timedelta
from pathlib import Path

from plugins.history.tests.conftest import fsck, git
from plugins.history.tests.killed_folds import die_in
from tests.states import state_of
from tests.workspace.test_undo import tree
from tests.workspace.working import call

import wink_history._archive
import wink_history._dropping
import wink_history._fold
import wink_history._tidy
from wink.limits import utc_now
from wink.workspace import Workspace


def made(root: Path) -> list[dict[str, object]]:
    root.mkdir()
    (root / "a").write_text("theirs")
    states = [tree(root)]
    with Workspace.open(root) as workspace:
        for number in range(5):
            content = b"%d" % number + os.urandom(50)
            call(workspace, lambda files, _, content=content: files.write_bytes("a", content))
            states.append(tree(root))
            if number == 0:
                workspace.checkpoint("named")
            if number % 2:
                workspace.fold()
    return states


def check(root: Path, states: list[dict[str, object]]) -> None:
    store = state_of(root) / "store.git"
    fsck(store)
    with Workspace.open(root) as workspace:
        workspace.gc(calls=2)
        fsck(store)
        assert not list(store.rglob("*tmp_*"))
        assert len(list(store.glob("objects/pack/*.pack"))) == 1
        assert len(git(store, "log", "--format=%s").splitlines()) == 3
        for state in states[-3:-1][::-1]:
            workspace.undo()
            assert tree(root) == state
        workspace.restore("named")
        assert tree(root) == states[1]
        workspace.fold()
    fsck(store)


def drop_yesterday(workspace: Workspace) -> None:
    """In the process that is killed: what it writes is never, by chance, what the next one writes."""
    wink_history._dropping.utc_now = lambda: utc_now() - timedelta(days=1)
    workspace.gc(calls=2)


def main(place: Path) -> None:
    at, steps = 0, None
    while steps is None:
        at += 1
        root = place / f"at{at}"
        states = made(root)
        steps = die_in(drop_yesterday, root, at)
        check(root, states)
        shutil.rmtree(root)
    print(steps)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
