"""A process may die before any system call: recovery brings the tree back to exactly what it was."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import made_state, state_of

from wink.filesystem._disk import DiskStore
from wink.filesystem._disk_frame import DiskFrame

from .conftest import Crash, Faults, State


def work(frame: DiskFrame) -> None:
    """One of every kind of change, several to the same paths."""
    frame.put("top.txt", b"changed")
    frame.put("top.txt", b"changed again, and longer")
    frame.put("src/a/1.txt", b"through its own name")
    frame.put("link", b"through the link")
    frame.put("src/a/new.txt", b"new")
    frame.put("one-name.txt", b"written in place")
    frame.mkdir("made")
    frame.put("made/inside.txt", b"inside")
    frame.delete("src/a/0.txt")
    frame.put("src/a/0.txt", b"anew")
    frame.delete("src/b", recursive=True)
    frame.put("src/b", b"a file where a directory was")
    frame.chmod("tool.sh", 0o600)
    frame.chmod("src", 0o700)
    frame.put("tool.sh", b"changed with its mode")
    frame.symlink("fresh-link", "src/a")
    frame.delete("link")
    frame.move("src/a/2.txt", "made/moved.txt")
    frame.put("made/moved.txt", b"changed after it was moved")
    frame.move("src/a", "made/a")
    frame.put("made/a/1.txt", b"in a moved directory")
    frame.move("top.txt", "src/b", overwrite=True)
    frame.delete("empty", recursive=True)
    frame.delete("other-name.txt")
    large = frame.stage()
    for _ in range(9):
        large.write(b"L" * 40_000)
    frame.put("big.bin", large)


@pytest.mark.parametrize("torn", [False, True], ids=["before", "within"])
def test_crash_at_every_call_is_undone_exactly(
    tree: Path,
    variant: dict[str, Any],
    torn: bool,
    faults: Faults,
    look: Callable[[Path], State],
    leftovers: Callable[[Path], list[str]],
) -> None:
    """Whatever call the process died at, in the work or in its rollback, and recoveries that die do not matter either."""
    # Where a crash hits the making of the state itself, the root's time tells so.
    made_state(tree)
    os.utime(tree, ns=(10**18, 10**18))
    before = look(tree)
    dice = random.Random(7)
    point, done = 0, False
    while not done:
        store = DiskStore(str(tree), **variant)
        faults.arm(point, torn=torn)
        try:
            frame = store.begin("tx")
            work(frame)
            frame.undo(0)
            done = True
        except Crash:
            pass
        store.close()
        for _ in range(2):
            store = DiskStore(str(tree), **variant)
            faults.arm(dice.randrange(60), torn=torn)
            try:
                store.recover(lambda _: False)
            except Crash:
                pass
            store.close()
        faults.arm(None)
        store = DiskStore(str(tree), **variant)
        recovered = store.recover(lambda _: False)
        after = look(tree)
        assert after == before, (
            point,
            {k: (before.get(k), after.get(k)) for k in before | after if before.get(k) != after.get(k)},
        )
        assert [r.conflicts for r in recovered] in ([], [()]), point
        if (state_of(tree) / "staged").exists():
            assert leftovers(tree) == [], point
            assert not (state_of(tree) / "conflicts").exists(), (point, os.listdir(state_of(tree) / "conflicts"))
        assert not store.pending()
        store.close()
        point += 1
    assert point > 100
