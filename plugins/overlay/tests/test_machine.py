"""Anything that can be done to an overlay, in any order, against two dictionaries: what it shows, and what is below.

`WINK_LAWS=2000` tries that many programs instead of a few.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.filesystem.model import DIRECTORY, Fails, Model, Thing, Tree, differing
from tests.filesystem.operations import step

from wink.filesystem import Filesystem, FileTransaction, HostFilesystem, InMemoryFilesystem
from wink_overlay import OverlayFilesystem

PROGRAMS = int(os.environ.get("WINK_LAWS", "25"))

NAMES = st.sampled_from(["a", "b", "c.txt", "d é"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LINES = st.sampled_from(["", "a", "b", "a\n", "a\nb\n", "b\na\nb", "é\n"])
CONTENTS = st.one_of(LINES.map(str.encode), st.sampled_from([b"\0\1", b"\xff\n"]))
TARGETS = st.one_of(NAMES, st.sampled_from([".", "..", "../a", "a/b", "b/.."]))
TREES = st.dictionaries(PATHS, st.one_of(CONTENTS, st.none()), max_size=8)
PLAIN = st.one_of(
    st.tuples(st.just("write"), PATHS, CONTENTS, st.sampled_from(["overwrite", "overwrite", "create", "append"])),
    st.tuples(st.just("edit"), PATHS, st.sampled_from(["a", "b", "a\n"]), LINES, st.booleans()),
    st.tuples(st.just("mkdir"), PATHS, st.booleans(), st.booleans()),
    st.tuples(st.just("delete"), PATHS, st.booleans()),
    st.tuples(st.just("move"), PATHS, PATHS, st.booleans()),
    st.tuples(st.just("move"), PATHS, PATHS, st.booleans()),
    st.tuples(st.just("copy"), PATHS, PATHS, st.booleans()),
)
RICH = st.one_of(
    PLAIN,
    st.tuples(st.just("chmod"), PATHS, st.sampled_from([0o600, 0o644, 0o750, 0o755])),
    st.tuples(st.just("symlink"), PATHS, TARGETS),
)


def planted(entries: dict[str, bytes | None]) -> Model:
    """A model with these files and directories, as far as they fit together."""
    model = Model()
    for path, content in entries.items():
        try:
            if content is None:
                model.mkdir(path, parents=True, exist_ok=True)
            else:
                model.put(path, content, parents=True)
        except Fails:
            pass
    return model


def shown(files: Filesystem) -> Tree:
    """A filesystem as the model has it."""
    found: Tree = {}
    store = files.begin(writable=False).reading()
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        for name, kind in store.scan(directory):
            path = f"{directory}/{name}" if directory else name
            node = store.node(path, follow=False)
            assert node.kind == kind, path
            if kind == "directory":
                found[path] = Thing("directory", node.mode)
                waiting.append(path)
            elif kind == "link":
                found[path] = Thing("link", 0o777, target=node.target)
            else:
                content, node = store.read(path)
                assert content is not None
                assert node.size == len(content)
                found[path] = Thing("file", node.mode, content)
    return found


def plain(tree: Tree) -> Tree:
    """Without what a lower layer may not hold."""
    return {
        path: DIRECTORY if thing.kind == "directory" else Thing("file", 0o644, thing.content)
        for path, thing in tree.items()
    }


class Setting:
    """An overlay and its lower layer."""

    is_plain = False

    def __init__(self, tree: Tree) -> None:
        self.lower = self.make_lower()
        writer = self.writer()
        for path, thing in sorted(tree.items()):
            if thing.kind == "directory":
                writer.mkdir(path)
            else:
                writer.write_bytes(path, thing.content)
        self.open()

    def make_lower(self) -> Any:
        return InMemoryFilesystem(portable_names=False)

    def writer(self) -> Filesystem:
        return self.lower

    def open(self) -> None:
        self.files = OverlayFilesystem(self.lower, portable_names=False)

    def reopen(self) -> None:
        pass

    def below(self) -> Tree:
        return shown(self.writer())

    def close(self) -> None:
        self.files.close()


class OverFsspec(Setting):
    """fsspec's own files in memory, which know neither modes nor links."""

    is_plain = True

    def make_lower(self) -> Any:
        return MemoryFileSystem(global_store=False, skip_instance_cache=True)

    def writer(self) -> Any:
        class Writer:
            mkdir = self.lower.makedirs
            write_bytes = self.lower.pipe_file

        return Writer

    def below(self) -> Tree:
        found = self.lower.find("", withdirs=True, detail=True)
        return {
            path.lstrip("/"): DIRECTORY
            if info["type"] == "directory"
            else Thing("file", 0o644, self.lower.cat_file(path))
            for path, info in found.items()
            if path.strip("/")
        }


class OnDisk(Setting):
    """Directories of the host."""

    def make_lower(self) -> Any:
        self.place = Path(tempfile.mkdtemp())
        (self.place / "below").mkdir()
        return HostFilesystem(self.place / "below", portable_names=False)

    def open(self) -> None:
        fs = LocalFileSystem(skip_instance_cache=True)
        self.files = OverlayFilesystem(fs, str(self.place / "below"), upper=self.place / "upper", portable_names=False)

    def reopen(self) -> None:
        self.files.close()
        self.open()

    def close(self) -> None:
        super().close()
        self.lower.close()
        shutil.rmtree(self.place)


class Overlays(RuleBasedStateMachine):
    """Calls, savepoints, snapshots and commits to the lower layer, on one overlay."""

    make: Callable[[Tree], Setting] = Setting

    @initialize(entries=TREES)
    def begin_with(self, entries: dict[str, bytes | None]) -> None:
        self.model = planted(entries)
        self.below = self.model.copy()
        self.setting = self.make(self.below)
        self.parts: list[tuple[FileTransaction, Tree]] = []
        self.moments: list[tuple[Any, Tree]] = []

    @property
    def files(self) -> Filesystem:
        return self.parts[-1][0].handle if self.parts else self.setting.files

    @rule(data=st.data())
    def operate(self, data: st.DataObject) -> None:
        operation = data.draw(PLAIN if self.setting.is_plain else RICH)
        expected = Model(self.model.tree)
        try:
            _imagine(operation, expected)
        except Fails:
            with pytest.raises((OSError, ValueError)):
                _carry_out(operation, self.files)
            return
        _carry_out(operation, self.files)
        self.model = expected

    @precondition(lambda self: len(self.parts) < 3)
    @rule()
    def begin(self) -> None:
        if self.parts:
            part = self.files.begin()
        else:
            self.setting.files.write_lock.acquire(5)
            part = self.setting.files.begin()
        self.parts.append((part, self.model.copy()))

    @precondition(lambda self: self.parts)
    @rule(keep=st.booleans())
    def end(self, keep: bool) -> None:
        part, before = self.parts.pop()
        part.revoke()
        changes = {change.path: change for change in part.changes()}
        expected = differing(before, self.model.tree)
        assert expected <= changes.keys()
        for path in changes.keys() - expected:
            # Written over with the same content, which is not fetched to be compared.
            assert changes[path].kind == "modified"
            assert self.model.tree[path].kind == "file"
        for path in expected:
            kind = "created" if path not in before else "deleted" if path not in self.model.tree else "modified"
            assert changes[path].kind == kind
        if keep:
            part.prepare()
            part.publish()
        else:
            part.undo()
            self.model = Model(before)
        if not self.parts:
            self.setting.files.write_lock.release()

    @precondition(lambda self: not self.parts)
    @rule()
    def remember(self) -> None:
        self.moments.append((self.setting.files.snapshot(), self.model.copy()))

    @precondition(lambda self: not self.parts and self.moments)
    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        snapshot, tree = data.draw(st.sampled_from(self.moments))
        told = {change.path for change in self.setting.files.diff(snapshot)}
        assert differing(tree, self.model.tree) <= told
        self.setting.files.restore(snapshot)
        self.model = Model(tree)

    @precondition(lambda self: not self.parts)
    @rule()
    def reopen(self) -> None:
        self.setting.reopen()
        self.moments.clear()

    @precondition(lambda self: not self.parts)
    @rule()
    def commit_everything(self) -> None:
        changes = self.setting.files.commit()
        assert {change.path for change in changes} == differing(self.below, self.model.tree)
        self.below = self.model.copy()
        self.moments.clear()
        assert self.setting.files.diff() == ()

    @precondition(lambda self: not self.parts)
    @rule(path=PATHS)
    def commit_one(self, path: str) -> None:
        before = self.setting.below()
        try:
            changes = self.setting.files.commit(path)
        except OSError:
            assert self.setting.below() == before
            return
        for change in changes:
            if change.after is None:
                self.below.pop(change.path)
            else:
                self.below[change.path] = self.model.tree[change.path]
        for path in [above for change in changes for above in self.model.tree if change.path.startswith(above + "/")]:
            if changes and path not in self.below:
                self.below[path] = DIRECTORY
        self.moments.clear()

    @precondition(lambda self: not self.parts)
    @rule()
    def discard_everything(self) -> None:
        self.setting.files.discard()
        self.model = Model(self.below)
        assert self.setting.files.diff() == ()

    @invariant()
    def is_what_the_model_says(self) -> None:
        if not hasattr(self, "setting"):
            return
        assert shown(self.files) == self.model.tree
        below = self.setting.below()
        assert below == (plain(self.below) if self.setting.is_plain else self.below)

    @invariant()
    def differs_where_the_model_says(self) -> None:
        if hasattr(self, "setting") and not self.parts:
            assert {change.path for change in self.setting.files.diff()} == differing(self.below, self.model.tree)

    def teardown(self) -> None:
        if hasattr(self, "setting"):
            while self.parts:
                self.parts.pop()[0].undo()
            self.setting.close()


def _carry_out(operation: Any, files: Filesystem) -> None:
    kind, path, *rest = operation
    if kind == "write":
        files.write_bytes(path, *rest)
    elif kind == "edit":
        files.edit(path, rest[0], rest[1], replace_all=rest[2])
    elif kind in ("move", "copy"):
        getattr(files, kind)(path, rest[0], overwrite=rest[1])
    elif kind in ("mkdir", "delete"):
        getattr(files, kind)(path, *rest)
    else:
        step(files, kind, path, *rest)


def _imagine(operation: Any, model: Model) -> None:
    kind, path, *rest = operation
    if kind == "write" and rest[1] == "append":
        model.append(path, rest[0])
    elif kind == "write":
        model.put(path, rest[0], exclusive=rest[1] == "create", parents=True)
    elif kind == "edit":
        model.edit(path, rest[0], rest[1], replace_all=rest[2])
    elif kind == "mkdir":
        model.mkdir(path, parents=rest[0], exist_ok=rest[1])
    elif kind == "delete":
        model.delete(path, recursive=rest[0])
    elif kind == "move":
        model.move(path, rest[0], overwrite=rest[1])
    elif kind == "copy":
        model.copy_file(path, rest[0], overwrite=rest[1])
    else:
        getattr(model, kind)(path, *rest)


@pytest.mark.parametrize("setting", [Setting, OverFsspec, OnDisk])
def test_an_overlay_is_two_dictionaries(setting: type[Setting]) -> None:
    """Whatever is done, the overlay shows what a plain tree would, and the lower layer is what was committed to it."""

    class Machine(Overlays):
        make = staticmethod(setting)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=PROGRAMS,
            stateful_step_count=30,
            deadline=None,
            derandomize=PROGRAMS <= 25,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,),
            database=None,
            print_blob=False,
        ),
    )
