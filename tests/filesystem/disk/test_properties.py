"""Laws: undoing gives back exactly what was, and the disk does what the memory store does."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.states import made_state

from wink.filesystem._change import FileChange
from wink.filesystem._store import ChangeSet, Store
from wink.filesystem.disk._store import DiskStore
from wink.filesystem.memory._store import MemoryStore

from .conftest import Crash, Faults, exact_state

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CONTENTS = st.sampled_from([b"", b"one", b"two", b"three\r\n" * 3])
OPERATIONS = st.one_of(
    st.tuples(st.just("put"), PATHS, CONTENTS, st.booleans()),
    st.tuples(st.just("put"), PATHS, CONTENTS, st.just(False)),
    st.tuples(st.just("mkdir"), PATHS),
    st.tuples(st.just("delete"), PATHS, st.booleans()),
    st.tuples(st.just("move"), PATHS, PATHS, st.booleans()),
    st.tuples(st.just("chmod"), PATHS, st.sampled_from([0o700, 0o740, 0o755])),
    st.tuples(st.just("symlink"), PATHS, st.sampled_from(["a", "b/c", "../a", "../../c"])),
)
PROGRAMS = st.lists(OPERATIONS, min_size=1, max_size=14)
VARIANTS: list[dict[str, Any]] = [
    {"resolver": "openat2", "exchange": True},
    {"resolver": "walk", "exchange": True},
    {"resolver": "walk", "exchange": False},
]
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def run(change_set: ChangeSet, operation: tuple[Any, ...]) -> str:
    """Do one thing; says what came of it."""
    name, path, *rest = operation
    position = change_set.position
    try:
        if name == "put":
            change_set.put(path, rest[0], exclusive=rest[1])
        elif name == "delete":
            change_set.delete(path, recursive=rest[0])
        elif name == "move":
            change_set.move(path, rest[0], overwrite=rest[1])
        else:
            getattr(change_set, name)(path, *rest)
    except OSError as error:
        assert change_set.position == position
        return type(error).__name__
    return "done"


def contents(store: Store, directory: str = "") -> dict[str, object]:
    """All that a store holds."""
    found: dict[str, object] = {}
    for name, kind in sorted(store.scan(directory)):
        path = f"{directory}/{name}" if directory else name
        node = store.node(path, follow=False)
        if kind == "directory":
            found[path] = node.mode
            found |= contents(store, path)
        elif kind == "link":
            found[path] = node.target
        else:
            stream, _ = store.open(path)
            with stream:
                found[path] = node.mode, stream.read()
    return found


@pytest.mark.parametrize("variant", VARIANTS, ids=["kernel", "walk", "portable"])
@QUICK
@given(seed=PROGRAMS, program=PROGRAMS, cut=st.integers(0, 14))
def test_the_disk_does_what_memory_does(variant: dict[str, Any], seed: list[Any], program: list[Any], cut: int) -> None:
    """Tools cannot tell where their files are: the same operations succeed, fail and report the same."""
    root = Path(tempfile.mkdtemp())
    try:
        disk, memory = DiskStore(str(root), **variant), MemoryStore()
        for store in (disk, memory):
            change_set = store.begin("seed")
            for operation in seed:
                run(change_set, operation)
            change_set.publish()
        assert contents(disk) == contents(memory)
        before = exact_state(root)
        on_disk, in_memory = disk.begin("tx"), memory.begin("tx")
        half = 0, 0
        for index, operation in enumerate(program):
            if index == cut:
                half = on_disk.position, in_memory.position
                half_way = contents(disk)
            assert run(on_disk, operation) == run(in_memory, operation), operation
        assert contents(disk) == contents(memory)
        for since in {(0, 0), half}:
            told, expected = on_disk.changes(since[0]), in_memory.changes(since[1])
            assert _plain(told) == _plain(expected), program
            assert {c.path: _texts(c) for c in told} == {c.path: _texts(c) for c in expected}
            origins = {c.path: c.moved_from for c in expected}
            # What was moved to a path, deleted there and made anew did not come from anywhere.
            assert all(c.moved_from in (None, origins[c.path]) for c in told)
        if half != (0, 0):
            on_disk.undo(half[0])
            assert contents(disk) == half_way
        on_disk.undo(0)
        assert exact_state(root) == before
        assert not disk.pending()
        disk.close()
    finally:
        shutil.rmtree(root)


def _plain(changes: tuple[FileChange, ...]) -> list[str]:
    return sorted(str(replace(change, moved_from=None)) for change in changes)


def _texts(change: Any) -> tuple[bytes | None, bytes | None]:
    return (change.before and change.before.content()), (change.after and change.after.content())


@pytest.mark.parametrize("variant", VARIANTS, ids=["kernel", "walk", "portable"])
@QUICK
@given(seed=PROGRAMS, program=PROGRAMS, deaths=st.lists(st.integers(0, 60), min_size=1, max_size=4), torn=st.booleans())
def test_whatever_was_done_and_wherever_it_died(
    variant: dict[str, Any], seed: list[Any], program: list[Any], deaths: list[int], torn: bool
) -> None:
    """Any operations, cut short anywhere, and recoveries cut short anywhere, leave the tree as it was."""
    root = Path(tempfile.mkdtemp())
    try:
        # Where a crash hits the making of the state itself, the root's time tells so.
        made_state(root)
        first = DiskStore(str(root), **variant)
        change_set = first.begin("seed")
        for operation in seed:
            run(change_set, operation)
        change_set.publish()
        first.close()
        before = exact_state(root)
        with Faults() as faults:
            for turn, left in enumerate(deaths):
                store = DiskStore(str(root), **variant)
                faults.arm(left, torn=torn)
                try:
                    if turn == 0:
                        change_set = store.begin("tx")
                        for operation in program:
                            run(change_set, operation)
                        change_set.undo(0)
                    else:
                        store.recover(lambda _: False)
                except Crash:
                    pass
                store.close()
        last = DiskStore(str(root), **variant)
        recovered = last.recover(lambda _: False)
        assert exact_state(root) == before
        assert not any(one.conflicts for one in recovered)
        assert not last.pending()
        last.close()
    finally:
        shutil.rmtree(root)
