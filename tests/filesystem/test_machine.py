"""Anything that can happen to files, in any order, on every filesystem at once, against a dictionary.

`WINK_LAWS=2000` tries that many programs instead of a few.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from tests.filesystem.backends import THEIRS, Backend, fill
from tests.filesystem.comparing import Comparing
from tests.filesystem.injected import Death, failing
from tests.filesystem.model import Fails, Model, Thing, parent_of
from tests.filesystem.operations import (
    CONTENTS,
    MODES,
    OPERATIONS,
    PATHS,
    carry_out,
    imagine,
    meddle,
    outcome,
    sides,
    told,
)

from wink.errors import RollbackFailed
from wink.filesystem import Filesystem
from wink.testing import exactly

PROGRAMS = int(os.environ.get("WINK_LAWS", "20"))


class Machine(Comparing):
    """Calls, calls within calls, and what happens between and around them."""

    # -- operations

    @rule(operation=OPERATIONS)
    def operate(self, operation: Any) -> None:
        """Every filesystem does, or refuses, what the model does or refuses."""
        self.apply(operation, lambda backend: outcome(lambda: backend.do(lambda files: carry_out(operation, files))))

    @rule(operation=OPERATIONS, after=st.integers(0, 25))
    def operate_on_a_failing_disk(self, operation: Any, after: int) -> None:
        """An operation during which the disk is full for a moment has happened or has not; it can be tried again."""

        broken: list[Backend] = []

        def run(backend: Backend) -> tuple[str, object]:
            if backend.is_host:
                before = self.tree(backend)
                with failing(after, dies=False) as hit:
                    first = outcome(lambda: backend.do(lambda files: carry_out(operation, files)))
                if first[0] == "RollbackFailed":
                    # What it had begun could not be taken back either. Whoever opens the files next does it.
                    broken.append(backend)
                    if backend.parts:
                        return self.all[0].last
                    backend.die()
                    backend.take_turn()
                elif not hit or "No space left" not in str(first[1]):
                    return first
                assert self.tree(backend) == before, (backend.name, hit)
            return outcome(lambda: backend.do(lambda files: carry_out(operation, files)))

        self.apply(operation, run)
        if broken and self.opened:
            self.model.tree = self.opened[0][0]
            self.opened.clear()
            for backend in reversed(self.all):  # or the first call stays the current one
                if backend in broken:
                    backend.die()
                    backend.take_turn()
                while backend.parts:
                    backend.abort()
        if broken:
            self.forget()

    def apply(self, operation: Any, run: Callable[[Backend], tuple[str, object]]) -> None:
        """Let all do the same, and compare."""
        start = self.moment() if not self.opened else None
        expected = Model(self.model.copy())
        try:
            imagine(operation, expected)
            is_done = True
        except Fails:
            is_done = False
        outcomes: dict[str, tuple[str, object]] = {}
        for backend in self.all:
            outcomes[backend.name] = backend.last = run(backend)
        assert len(set(map(repr, outcomes.values()))) == 1, (operation, outcomes)
        result = outcomes["memory"]
        if operation[0] == "edit" and (b"\r" in self.content(operation[1]) or "\r" in operation[3]):
            # What becomes of newlines is another law; here all have to agree.
            if result[0] == "done":
                self.model.put(operation[1], self.all[0].files.read_bytes(operation[1]), parents=False)
        else:
            assert (result[0] == "done") == is_done, (operation, result)
            self.model = expected
        if start is not None:
            self.committed(start)

    def content(self, path: str) -> bytes:
        try:
            return self.model.file(path).content
        except Fails:
            return b""

    # -- calls

    @precondition(lambda self: len(self.opened) < 3)
    @rule()
    def begin(self) -> None:
        """A call, or one within a call."""
        if not self.opened:
            self.before_call = self.moment()
        self.opened.append((self.model.copy(), [exactly(backend.files) for backend in self.all]))
        for backend in self.all:
            backend.begin()

    @precondition(lambda self: self.opened)
    @rule()
    def commit(self) -> None:
        """What was done stands."""
        self.changes_are_the_difference()
        self.opened.pop()
        self.inner_snapshots = [kept for kept in self.inner_snapshots if kept[0] <= len(self.opened)]
        for backend in reversed(self.all):
            backend.commit()
        if not self.opened and self.before_call is not None:
            self.committed(self.before_call)

    @precondition(lambda self: self.opened)
    @rule()
    def abort(self) -> None:
        """What was done has not been: bytes, modes, links, empty directories and times are as before."""
        self.changes_are_the_difference()
        before, states = self.opened.pop()
        self.inner_snapshots = [kept for kept in self.inner_snapshots if kept[0] <= len(self.opened)]
        for backend, state in reversed(list(zip(self.all, states, strict=True))):
            backend.abort()
            assert self.without_theirs(exactly(backend.files)) == self.without_theirs(state), backend.name
        self.model.tree = before

    @precondition(lambda self: self.opened)
    @rule(operation=OPERATIONS, after=st.integers(0, 25))
    def die_in_a_call(self, operation: Any, after: int) -> None:
        """Whoever opens the files next finds them as they were before the call."""
        for backend in self.hosts:
            with failing(after, dies=True):
                try:
                    outcome(lambda backend=backend: backend.do(lambda files: carry_out(operation, files)))
                except Death:
                    pass
        self.model.tree = self.opened[0][0]
        self.opened.clear()
        for backend in reversed(self.all):
            backend.die()
            backend.take_turn()
        self.forget()

    @precondition(lambda self: len(self.opened) == 1)
    @rule(after=st.integers(0, 12))
    def die_while_committing(self, after: int) -> None:
        """All of the call or nothing of it is there."""
        before = self.opened.pop()[0]
        either = [self.shown(before), self.shown(self.model.tree)]
        for backend in reversed(self.all):
            try:
                with failing(after, dies=backend.is_host) if backend.is_host else failing(1 << 30, dies=False):
                    backend.commit()
            except (Death, RollbackFailed):  # a process that is gone takes nothing back either
                backend.die()
            backend.take_turn()
            assert self.tree(backend) in either, backend.name
            fill(backend.root, self.model.tree)
        self.forget()

    @precondition(lambda self: not self.opened)
    @rule()
    def reopen(self) -> None:
        """Everything is there the next time."""
        for backend in self.all:
            backend.reopen()
        self.forget()

    # -- the way back

    @precondition(lambda self: not self.opened)
    @rule()
    def snapshot(self) -> None:
        """Remember a state, and let go of an old one now and then."""
        self.snapshots = [*self.snapshots[-2:], self.moment()]

    @precondition(lambda self: not self.opened and self.snapshots)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """Older or newer, it is all as it was then."""
        tree, snapshots = data.draw(st.sampled_from(self.snapshots))
        start = self.moment()
        for backend, snapshot in zip(self.all, snapshots, strict=True):
            backend.root.restore(snapshot)
        self.model.tree = dict(tree)
        self.committed(start)

    @precondition(lambda self: not self.opened and self.snapshots)
    @rule(data=st.data())
    def compare(self, data: st.DataObject) -> None:
        """A diff is the difference, to another snapshot or to now, forwards or backwards."""
        tree, snapshots = data.draw(st.sampled_from(self.snapshots))
        other = data.draw(st.none() | st.sampled_from(self.snapshots))
        later = self.model.tree if other is None else other[0]
        texts = {}
        for number, backend in enumerate(self.all):
            found = told(backend.root.diff(snapshots[number], other and other[1][number]))
            assert [(path, old, new) for path, _, old, new, _ in found] == sides(tree, later), backend.name
            texts[backend.name] = found
        assert len(set(map(repr, texts.values()))) == 1, texts

    @precondition(lambda self: not self.opened and self.past)
    @rule()
    def undo(self) -> None:
        """The last change is taken back."""
        now = self.moment()
        tree, snapshots = self.past.pop()
        for backend, snapshot in zip(self.all, snapshots, strict=True):
            backend.undo(snapshot)
        self.model.tree = dict(tree)
        self.future.append(now)

    @precondition(lambda self: not self.opened and self.future)
    @rule()
    def redo(self) -> None:
        """The last undo is taken back."""
        now = self.moment()
        tree, snapshots = self.future.pop()
        for backend, snapshot in zip(self.all, snapshots, strict=True):
            backend.redo(snapshot)
        self.model.tree = dict(tree)
        self.past.append(now)

    @precondition(lambda self: self.opened)
    @rule()
    def snapshot_in_a_call(self) -> None:
        """A place among the call's own changes."""
        moment = self.model.copy(), [backend.files.snapshot() for backend in self.all]
        self.inner_snapshots = [*self.inner_snapshots[-2:], (len(self.opened), moment)]

    @precondition(lambda self: self.opened and (self.inner_snapshots or self.snapshots))
    @rule(data=st.data())
    def restore_in_a_call(self, data: st.DataObject) -> None:
        """To a place in the call or in those around it, or to a snapshot from before it."""
        choices = [moment for _, moment in self.inner_snapshots] + self.snapshots
        tree, snapshots = choices[data.draw(st.integers(0, len(choices) - 1))]
        for backend, snapshot in zip(self.all, snapshots, strict=True):
            backend.files.restore(snapshot)
        self.model.tree = dict(tree)
        self.changes_are_the_difference()

    # -- others

    @precondition(lambda self: not self.opened)
    @rule(
        how=st.sampled_from(["save", "save-anew", "remove", "mkdir", "chmod"]), path=PATHS, content=CONTENTS, mode=MODES
    )
    def somebody_edits(self, how: str, path: str, content: bytes, mode: int) -> None:
        """What a person does counts at once, whatever it is."""
        tree, thing = self.model.tree, self.model.tree.get(path)
        above = parent_of(path)
        if above and tree.get(above, Thing("file")).kind != "directory":
            return
        if how.startswith("save"):
            if thing is not None and thing.kind != "file":
                return
            kept = thing.mode if thing is not None and how == "save" else 0o644
            tree[path] = Thing("file", kept, content)
        elif how == "mkdir":
            if thing is not None:
                return
            tree[path] = Thing("directory", 0o755)
        elif thing is None:
            return
        elif how == "remove":
            if len(self.model.beneath(path)) > 1:
                return
            del tree[path]
        else:
            if thing.kind == "link":
                return
            tree[path] = replace(thing, mode=mode | 0o700)
        for backend in self.all:
            meddle((how, path, content, mode | 0o700), backend.shared or backend.root)
        self.forget()

    @rule(name=st.sampled_from(["x", "y"]), content=CONTENTS)
    def somebody_saves(self, name: str, content: bytes) -> None:
        """Where no call writes: it is theirs, whatever becomes of calls, and is nobody's change."""
        self.theirs[name] = content
        for backend in self.all:
            if backend.shared:
                (backend.shared / THEIRS).mkdir(exist_ok=True)
                (backend.shared / THEIRS / name).write_bytes(content)

    # -- looking

    @rule(path=PATHS, offset=st.integers(0, 3), limit=st.none() | st.integers(0, 3))
    def look(self, path: str, offset: int, limit: int | None) -> None:
        """Every way of looking at a path gives the same everywhere."""
        looks: list[Callable[[Filesystem], object]] = [
            lambda files: files.read(path, offset, limit),
            lambda files: files.read_bytes(path, offset, limit),
            lambda files: files.stat(path),
            lambda files: files.exists(path),
            lambda files: [entry for entry in files.list(path) if entry.name != THEIRS],  # a link may lead to the root
            lambda files: files.fingerprint(path),
            lambda files: files.locate(path, "a"),
            lambda files: files.open_read(path).read(),
        ]
        for number, use in enumerate(looks):
            self.all_see_the_same((number, path), use)
        self.look_is_the_models(path, offset, limit)

    @rule(
        pattern=st.sampled_from(["**", "*", "**/*.txt", "a/**", "*/b", "{a,b}/*", "**/[ab]"]),
        word=st.sampled_from(["a", "^b$", "[^a]b", "é", "lo+ng", "a$"]),
    )
    def search(self, pattern: str, word: str) -> None:
        """Everything is found that is there, and nothing else."""
        for use in (
            lambda files: [match for match in files.glob(pattern) if not match.path.startswith(THEIRS)],
            lambda files: [match for match in files.grep(word) if not match.path.startswith(THEIRS)],
        ):
            self.all_see_the_same((pattern, word), use)
        if pattern == "**":
            assert {match.path for match in self.all[0].files.glob("**", limit=100_000)} == set(self.model.tree)


def test_nothing_tells_one_filesystem_from_another() -> None:
    """The law that all the others are parts of."""
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=PROGRAMS,
            stateful_step_count=30,
            deadline=None,
            # Finding the shortest program takes longer than a test may.
            phases=[Phase.generate, Phase.shrink] if "WINK_LAWS" in os.environ else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_link_to_a_file_is_no_directory_by_its_own_name_everywhere() -> None:
    """The overlay named what it leads to."""
    machine = Machine()
    try:
        machine.start(seed=[("delete", "a", False), ("symlink", "b", "a"), ("write", "a", b"", "overwrite")])
        machine.look(limit=None, offset=0, path="b")
    finally:
        machine.teardown()
