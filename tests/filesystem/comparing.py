"""All filesystems and the model, side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant
from tests.filesystem.backends import THEIRS, Backend, all_backends
from tests.filesystem.model import Fails, Missing, Model, Tree
from tests.filesystem.operations import OPERATIONS, imagine, outcome, sides, told

from wink.filesystem import Filesystem, FilesystemSnapshot
from wink.testing import exactly

Moment = tuple[Tree, list[FilesystemSnapshot]]
"""What the model held, and the snapshot that each filesystem took then."""


class Comparing(RuleBasedStateMachine):
    """Knows what everything should be, and sees whether it is."""

    def __init__(self) -> None:
        super().__init__()
        self.umask = os.umask(0o022)
        self.all: list[Backend] = all_backends()
        self.hosts = [backend for backend in self.all if backend.is_host]
        self.model = Model()
        self.opened: list[tuple[Tree, list[Any]]] = []
        self.before_call: Moment | None = None
        self.snapshots: list[Moment] = []
        self.inner_snapshots: list[tuple[int, Moment]] = []
        self.past: list[Moment] = []
        self.future: list[Moment] = []
        self.theirs: dict[str, bytes] = {}

    @initialize(seed=st.lists(OPERATIONS, max_size=6))
    def start(self, seed: list[Any]) -> None:
        """The same files everywhere, which for overlays are those below."""
        for operation in seed:
            with suppress(Fails):
                imagine(operation, self.model)
        for backend in self.all:
            backend.start(self.model.tree)

    def teardown(self) -> None:
        try:
            while self.opened:
                self.abort()
            self.trees_are_the_model()
        finally:
            for backend in self.all:
                backend.close()
            os.umask(self.umask)

    @invariant()
    def trees_are_the_model(self) -> None:
        """Whatever happened, all of it is the same everywhere."""
        shown = self.shown(self.model.tree)
        for backend in self.all:
            assert self.tree(backend) == shown, backend.name
            if backend.shared and self.theirs:
                found = {path.name: path.read_bytes() for path in (backend.shared / THEIRS).iterdir()}
                assert found == self.theirs, backend.name

    def tree(self, backend: Backend) -> dict[str, object]:
        """All that a filesystem shows, times apart."""
        found = self.without_theirs(exactly(backend.files))
        return {path: tuple(entry._replace(modified_at=None)) for path, entry in found.items()}

    def shown(self, tree: Tree) -> dict[str, object]:
        """What a filesystem shows of a tree."""
        model, found = Model(tree), dict[str, object]()
        for path, thing in tree.items():
            if thing.kind != "link":
                content = thing.content if thing.kind == "file" else None
                found[path] = (thing.kind, thing.mode, None, content, None)
                continue
            try:
                leads = model.at(path) is not None
            except (Fails, Missing):
                leads = False
            found[path] = ("link", None, None, None, thing.target if leads else None)
        return found

    def changes_are_the_difference(self) -> None:
        """Of the innermost call: each path that is not as it was, and no other."""
        before = self.opened[-1][0]
        expected = sides(before, self.model.tree)
        texts: dict[str, object] = {}
        for backend in self.all:
            changes = backend.parts[-1].changes()
            found = told(changes)
            assert [(path, old, new) for path, _, old, new, _ in found] == expected, backend.name
            texts[backend.name] = found
            for change in changes:
                if change.moved_from is not None:
                    assert change.moved_from in before
                    assert change.before is None
        assert len(set(map(repr, texts.values()))) == 1, texts

    def without_theirs(self, state: dict[str, Any]) -> dict[str, Any]:
        return {path: entry for path, entry in state.items() if path.split("/")[0] != THEIRS}

    def moment(self) -> Moment:
        """The state now, to come back to."""
        return self.model.copy(), [backend.root.snapshot() for backend in self.all]

    def committed(self, start: Moment) -> None:
        """A change stands that can be taken back."""
        if self.model.tree != start[0]:
            self.past = [*self.past[-3:], start]
            self.future.clear()

    def forget(self) -> None:
        """Nothing of what was can be come back to."""
        self.snapshots.clear()
        self.inner_snapshots = []
        self.past.clear()
        self.future.clear()
        self.before_call = None

    def all_see_the_same(self, what: object, use: Callable[[Filesystem], object]) -> None:
        outcomes = {backend.name: outcome(lambda backend=backend: use(backend.files)) for backend in self.all}
        assert len(set(map(repr, outcomes.values()))) == 1, (what, outcomes)

    def look_is_the_models(self, path: str, offset: int, limit: int | None) -> None:
        files = self.all[0].files
        try:
            thing = self.model.at(path)
        except Fails:
            return
        if thing is not None and thing.kind == "file":
            end = len(thing.content) if limit is None else offset + limit
            assert files.read_bytes(path, offset, limit) == thing.content[offset:end]
        if thing is not None and thing.kind == "directory":
            assert [entry.name for entry in files.list(path)] == self.model.names(path)
