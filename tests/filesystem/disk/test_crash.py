"""A process may die before any system call: recovery brings the tree back to exactly what it was."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import made_state, state_of

from wink.filesystem.disk._change_set import DiskChangeSet
from wink.filesystem.disk._store import DiskStore

from .conftest import Crash, Faults, State


def work(change_set: DiskChangeSet) -> None:
    """One of every kind of change, several to the same paths."""
    change_set.put("top.txt", b"changed")
    change_set.put("top.txt", b"changed again, and longer")
    change_set.put("src/a/1.txt", b"through its own name")
    change_set.put("link", b"through the link")
    change_set.put("src/a/new.txt", b"new")
    change_set.put("one-name.txt", b"written in place")
    change_set.mkdir("made")
    change_set.put("made/inside.txt", b"inside")
    change_set.delete("src/a/0.txt")
    change_set.put("src/a/0.txt", b"anew")
    change_set.delete("src/b", recursive=True)
    change_set.put("src/b", b"a file where a directory was")
    change_set.chmod("tool.sh", 0o600)
    change_set.chmod("src", 0o700)
    change_set.put("tool.sh", b"changed with its mode")
    change_set.symlink("fresh-link", "src/a")
    change_set.delete("link")
    change_set.move("src/a/2.txt", "made/moved.txt")
    change_set.put("made/moved.txt", b"changed after it was moved")
    change_set.move("src/a", "made/a")
    change_set.put("made/a/1.txt", b"in a moved directory")
    change_set.move("top.txt", "src/b", overwrite=True)
    change_set.delete("empty", recursive=True)
    change_set.delete("other-name.txt")
    large = change_set.stage()
    for _ in range(9):
        large.write(b"L" * 40_000)
    change_set.put("big.bin", large)


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
            change_set = store.begin("tx")
            work(change_set)
            change_set.undo(0)
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


def replace(change_set: DiskChangeSet) -> dict[str, str]:
    """Replace and delete files; gives the names in staging of what they were, by path."""
    change_set.put("top.txt", b"changed")
    change_set.delete("big.bin")
    change_set.delete("one-name.txt")
    change_set.delete("src", recursive=True)
    change_set.mkdir("src")
    change_set.mkdir("src/a")
    change_set.put("src/a/1.txt", b"anew")
    changes = {change.path: change.before for change in change_set.changes()}
    names = ("top.txt", "big.bin", "one-name.txt", "src/a/1.txt", "src/a/2.txt")
    return {name: str(changes[name].kept.staged) for name in names}  # type: ignore[union-attr]


@pytest.mark.parametrize("torn", [False, True], ids=["before", "within"])
def test_what_was_replaced_is_at_its_path_or_in_staging_after_a_crash_at_every_call(
    tree: Path,
    variant: dict[str, Any],
    torn: bool,
    faults: Faults,
    look: Callable[[Path], State],
) -> None:
    """An undo moves it back, and until that is committed nothing but its name may ever change."""
    made_state(tree)
    store = DiskStore(str(tree), **variant)
    change_set = store.begin("first")
    stored = replace(change_set)
    change_set.publish()
    store.close()
    os.utime(tree, ns=(10**18, 10**18))
    os.utime(tree / "src", ns=(10**18, 10**18))
    staging = state_of(tree) / "staged"
    before, kept = look(tree), stored_in(staging, look)
    dice = random.Random(7)
    point, done = 0, False
    while not done:
        store = DiskStore(str(tree), **variant)
        faults.arm(point, torn=torn)
        try:
            change_set = store.begin("tx")
            for path, staged in stored.items():
                assert change_set.put_stored(path, staged)
            change_set.undo(0)
            done = True
        except Crash:
            pass
        store.close()
        for _ in range(2):
            store = DiskStore(str(tree), **variant)
            faults.arm(dice.randrange(60), torn=torn)
            try:
                store.recover("first".__eq__)
            except Crash:
                pass
            store.close()
        faults.arm(None)
        store = DiskStore(str(tree), **variant)
        recovered = store.recover("first".__eq__)
        assert look(tree) == before, point
        assert stored_in(staging, look) == kept, point
        assert [one.conflicts for one in recovered] in ([], [()]), point
        assert not store.pending()
        store.close()
        point += 1
    assert point > 20


def stored_in(staging: Path, look: Callable[[Path], State]) -> State:
    """What is in staging, without the times of directories, which nobody asks for."""
    return {path: facts for path, facts in look(staging).items() if os.path.isfile(staging / path)}


def test_a_committed_way_back_stands_after_a_crash(tree: Path, variant: dict[str, Any]) -> None:
    """Its journal is still there, and the record says that it was committed: nothing is moved once more."""
    store = DiskStore(str(tree), **variant)
    inode, change_set = (tree / "big.bin").stat().st_ino, store.begin("first")
    stored = replace(change_set)
    change_set.publish()
    change_set = store.begin("tx")
    for path, staged in stored.items():
        assert change_set.put_stored(path, staged)
    change_set.prepare()
    change_set.leave()
    store.close()

    store = DiskStore(str(tree), **variant)
    store.recover(lambda _: True)

    assert (tree / "big.bin").stat().st_ino == inode
    assert (tree / "top.txt").read_bytes() == b"top\r\n"
    assert (tree / "src/a/1.txt").stat().st_nlink == 1
    assert not any((state_of(tree) / "staged" / staged).exists() for staged in list(stored.values())[1:])
    store.close()


def test_a_person_who_saves_over_what_comes_back_loses_nothing_to_the_rollback(
    tree: Path, variant: dict[str, Any]
) -> None:
    """In place or by a rename: theirs is kept in the conflicts, like theirs in any rollback."""
    store = DiskStore(str(tree), **variant)
    change_set = store.begin("first")
    stored = replace(change_set)
    change_set.publish()
    change_set = store.begin("tx")
    for path, staged in stored.items():
        assert change_set.put_stored(path, staged)
    (tree / "top.txt").write_bytes(b"a person's, in place")
    (tree / "new").write_bytes(b"a person's, by a rename")
    (tree / "new").rename(tree / "big.bin")

    change_set.undo(0)

    conflicts = state_of(tree) / "conflicts"
    kept = {path.read_bytes() for path in conflicts.iterdir()}
    assert kept == {b"a person's, in place", b"a person's, by a rename"}
    assert (tree / "top.txt").read_bytes() == b"changed"
    assert {one.path for one in change_set.conflicts} == {"top.txt", "big.bin"}
    store.close()
