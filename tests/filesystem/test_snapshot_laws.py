"""Whatever happens, a snapshot brings back the very tree that there was, and a diff tells what lies between two trees."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from tests.filesystem.backends import Backend, Disk, Recorded

from wink.errors import SnapshotMismatch
from wink.filesystem import FileChange, Filesystem, FilesystemSnapshot
from wink.filesystem.memory._entries import Directory, File

PATHS = ("a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "f/g")
KINDS: dict[str, Callable[[], Backend]] = {
    "memory": Backend,
    "openat2-exchange": lambda: Disk("openat2-exchange"),
    "walk-portable": lambda: Disk("walk-portable"),
    "workspace": lambda: Recorded("openat2-exchange"),
}
Tree = dict[str, tuple[str, int, bytes | str | None]]
"""Of each path its kind, its permission bits where they count, and its content or where it leads."""


def tree(backend: Backend) -> Tree:
    """What there is, seen from outside where there is an outside."""
    if isinstance(backend, Disk):
        return {
            str(path.relative_to(backend.place)): _seen(path)
            for path in backend.place.rglob("*")
            if ".wink" not in path.parts[len(backend.place.parts) :]
        }
    return dict(_inside(backend.root._transaction.tree.store.top, ""))


def _inside(directory: Directory, above: str) -> Iterator[tuple[str, tuple[str, int, bytes | str | None]]]:
    for name, entry in directory.entries.items():
        path = above + name
        if isinstance(entry, Directory):
            yield path, ("directory", entry.mode, None)
            yield from _inside(entry, path + "/")
        elif isinstance(entry, File):
            yield path, ("file", entry.node.mode, entry.content)
        else:
            yield path, ("link", 0, entry.target)


def _seen(path: Path) -> tuple[str, int, bytes | str | None]:
    if path.is_symlink():
        return "link", 0, os.readlink(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    return ("directory", mode, None) if path.is_dir() else ("file", mode, path.read_bytes())


def facts(changes: tuple[FileChange, ...]) -> dict[str, tuple[Any, Any]]:
    """Both sides of each change, in the words of a tree."""
    assert len({change.path for change in changes}) == len(changes)
    return {change.path: (_side(change.before), _side(change.after)) for change in changes}


def _side(version: Any) -> tuple[str, int, bytes | str | None] | None:
    if version is None:
        return None
    if version.kind == "link":
        return "link", 0, version.target
    return version.kind, version.mode, version.content() if version.kind == "file" else None


def difference(one: Tree, other: Tree) -> dict[str, tuple[Any, Any]]:
    """The model of a diff."""
    return {
        path: (one.get(path), other.get(path)) for path in one.keys() | other.keys() if one.get(path) != other.get(path)
    }


def change(files: Filesystem, kind: str, path: str, other: str, text: str) -> None:
    """One operation, which may be impossible: then nothing is left of it."""
    try:
        match kind:
            case "write":
                files.write(path, text)
            case "append":
                files.write(path, text, mode="append")
            case "delete":
                files.delete(path, recursive=True)
            case "move":
                files.move(path, other, overwrite=True)
            case "mkdir":
                files.mkdir(path, parents=True)
            case "link":
                with files._transaction.changing(path) as change_set:
                    change_set.symlink(path, "a")
            case _:
                is_directory = files.stat(path).is_directory
                with files._transaction.changing(path) as change_set:
                    change_set.chmod(path, 0o750 if is_directory else 0o600)
    except (OSError, ValueError):
        pass


@dataclass
class Taken:
    """A snapshot, the tree that there was, and the call that it was taken in."""

    snapshot: FilesystemSnapshot
    tree: Tree
    part: object = None


class Machine(RuleBasedStateMachine):
    """Takes and restores snapshots among changes, calls, calls in calls, and their rollbacks."""

    make: Callable[[], Backend] = Backend

    def __init__(self) -> None:
        super().__init__()
        self.backend = type(self).make()
        self.backend.open()
        self.backend.do(lambda files: files.write("a", "first"))
        self.taken: list[Taken] = []
        self.begun: list[Tree] = []
        self.may_be_lost: list[Taken] = []

    def teardown(self) -> None:
        while self.backend.parts:
            self.backend.abort()
        self.backend.close()

    @rule(
        steps=st.lists(
            st.tuples(
                st.sampled_from(("write", "append", "delete", "move", "mkdir", "link", "chmod")),
                st.sampled_from(PATHS),
                st.sampled_from(PATHS),
                st.sampled_from(("", "x", "y\n", "z" * 3000)),
            ),
            min_size=1,
            max_size=4,
        )
    )
    def work(self, steps: list[tuple[str, str, str, str]]) -> None:
        if self.backend.parts:
            for step in steps:
                change(self.backend.files, *step)
        else:
            self.backend.begin()
            for step in steps:
                change(self.backend.files, *step)
            self.backend.commit()

    @rule()
    def take(self) -> None:
        part = self.backend.parts[-1] if self.backend.parts else None
        self.taken.append(Taken(self.backend.files.snapshot(), tree(self.backend), part))

    @precondition(lambda self: len(self.backend.parts) < 3)
    @rule()
    def begin(self) -> None:
        self.begun.append(tree(self.backend))
        self.backend.begin()

    @precondition(lambda self: self.backend.parts)
    @rule()
    def commit(self) -> None:
        self.begun.pop()
        before = tree(self.backend)
        part = self.backend.parts[-1]
        self.backend.commit()
        self.ended(part, lost=False)
        assert tree(self.backend) == before

    @precondition(lambda self: self.backend.parts)
    @rule()
    def abort(self) -> None:
        part = self.backend.parts[-1]
        self.backend.abort()
        self.ended(part, lost=True)
        assert tree(self.backend) == self.begun.pop()

    def ended(self, part: object, *, lost: bool) -> None:
        """Snapshots of a call that has ended are those of the one around it now, if there is one."""
        outer = self.backend.parts[-1] if self.backend.parts else None
        for one in self.taken:
            if one.part is part:
                one.part = outer
                if outer is None or lost:
                    self.may_be_lost.append(one)
        if outer is None:
            self.may_be_lost.clear()
            self.taken = [one for one in self.taken if one.part is None and one not in self.may_be_lost]
            self.taken = [one for one in self.taken if type(one.snapshot.mark).__name__ != "Position"]

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def restore(self, data: Any) -> None:
        wanted = data.draw(st.sampled_from(self.taken))
        before = tree(self.backend)
        try:
            self.backend.files.restore(wanted.snapshot)
        except SnapshotMismatch:
            assert any(one is wanted for one in self.may_be_lost)
            assert tree(self.backend) == before
            self.taken.remove(wanted)
        else:
            assert tree(self.backend) == wanted.tree

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def diff(self, data: Any) -> None:
        one = data.draw(st.sampled_from(self.taken))
        until = data.draw(st.sampled_from([None, *self.taken]))
        try:
            changes = self.backend.files.diff(one.snapshot, None if until is None else until.snapshot)
        except SnapshotMismatch:
            assert any(lost is one or lost is until for lost in self.may_be_lost)
            return
        assert facts(changes) == difference(one.tree, tree(self.backend) if until is None else until.tree)


@pytest.mark.parametrize("kind", KINDS)
def test_snapshots_bring_back_what_was_and_diffs_tell_it(kind: str) -> None:
    """On every kind of filesystem, in calls and outside of them, in any order."""
    machine = type("Chosen", (Machine,), {"make": staticmethod(KINDS[kind])})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=100 if kind == "memory" else 15,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
