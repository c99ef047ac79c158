"""Any sequence of calls, outside edits, tries, accepts, undos, redos and restores, beside a model that only looks at the files.

Whoever drives the workspace, directly or through something built on it, is given to the machine as `Hands`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.workspace.test_undo import tree
from tests.workspace.working import call

from wink.errors import MergeConflict, MergeRefused, NothingToUndo, NothingTried, TryConflict, UndoConflict
from wink.filesystem import Filesystem, merging
from wink.workspace import Reverted, Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Try

OUT = ("/nowhere/", "../../../nowhere/")
"""Where links lead to, out of the workspace: to nothing, so that nothing is written through one by a program of a test."""
PATHS = ("a", "b", "d", "d/a", "d/b", "d/e", "d/e/a")
Tree = dict[str, Any]
Delta = dict[str, tuple[Any, Any]]
Done = tuple[int, tuple[int, ...]]

steps = st.lists(
    st.tuples(
        st.sampled_from(("write", "delete", "move", "mkdir", "chmod", "link")),
        st.sampled_from(PATHS),
        st.sampled_from(PATHS),
        st.sampled_from(("", "x", "y", "long")),
    ),
    min_size=1,
    max_size=4,
)


def carry_out(files: Filesystem, step: tuple[str, str, str, str]) -> None:
    kind, path, other, text = step
    try:
        match kind:
            case "write":
                files.write(path, text * 30_000 if text == "long" else text)
            case "delete":
                files.delete(path, recursive=True)
            case "move":
                files.move(path, other, overwrite=True)
            case "mkdir":
                files.mkdir(path, parents=True)
            case "link":
                make_link(files, path, f"{OUT[bool(text)]}{text}")
            case _:
                with files._transaction.changing(path) as change_set:  # type: ignore[attr-defined]
                    change_set.chmod(path, 0o755 if files.stat(path).is_directory else 0o600)
    except OSError:
        pass  # what cannot be done is not done; calls do such things


def make_link(files: Filesystem, path: str, target: str) -> None:
    """As a program makes one; no tool makes one that leads out."""
    with merging(files._transaction, path) as taken:  # type: ignore[attr-defined]
        taken.take_link(path, target)


def as_shell(step: tuple[str, str, str, str]) -> str:
    """The same for a program that runs in a try."""
    kind, path, other, text = step
    text = text * 3_000 if text == "long" else text
    match kind:
        case "write":
            return f"printf %s '{text}' > {path} || true"
        case "delete":
            return f"rm -rf {path}"
        case "move":
            return f"mv -fT {path} {other} || true"
        case "mkdir":
            return f"mkdir -p {path} || true"
        case "link":
            return f"ln -sT {OUT[bool(text)]}{text} {path} || true"
        case _:
            return f"test -d {path} && chmod 755 {path} || chmod 600 {path} || true"


class Hands(Protocol):
    """What a person does to a workspace.

    Each gives the number of the new call and those of the calls that it took back, and raises what `Workspace` raises.
    """

    def undo_one(self, number: int) -> Done: ...
    def undo_last(self, n: int) -> Done: ...
    def redo(self) -> Done: ...
    def restore(self, checkpoint: str) -> Done: ...
    def accept(self, name: str, paths: tuple[str, ...]) -> int | None: ...
    def drop(self, name: str) -> None: ...
    def close(self) -> None: ...


class Direct:
    """A program's hands: the workspace's own methods."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace.open(root)

    def undo_one(self, number: int) -> Done:
        return _done(self.workspace.undo(number))

    def undo_last(self, n: int) -> Done:
        return _done(self.workspace.undo(n=n))

    def redo(self) -> Done:
        return _done(self.workspace.redo())

    def restore(self, checkpoint: str) -> Done:
        return _done(self.workspace.restore(checkpoint))

    def accept(self, name: str, paths: tuple[str, ...]) -> int | None:
        return Try(self.workspace, name).accept(*paths).call

    def drop(self, name: str) -> None:
        Try(self.workspace, name).drop()

    def close(self) -> None:
        self.workspace.close()


def _done(reverted: Reverted) -> Done:
    assert reverted.call is not None
    return reverted.call, reverted.calls


@dataclass
class Tried:
    """What a try holds, and which paths somebody has touched since it was made."""

    changes: Delta
    all: Tree
    written: frozenset[str]
    """What its program named: a file that it wrote anew with what was in it is in the way of whoever changes that, too."""
    touched: set[str] = field(default_factory=set)

    def within(self, place: str) -> Delta:
        return {path: change for path, change in self.changes.items() if is_in(path, place)}


def is_in(path: str, place: str) -> bool:
    return not place or path == place or path.startswith(f"{place}/")


def delta(before: Tree, after: Tree) -> Delta:
    """What differs, by path."""
    paths = before.keys() | after.keys()
    return {path: (before.get(path), after.get(path)) for path in paths if before.get(path) != after.get(path)}


class Machine(RuleBasedStateMachine):
    """Knows what each transaction changed from looking at the tree before and after it, and at nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.root = self.place / "work"
        self.root.mkdir()
        (self.root / "a").write_text("first")
        self.workspace = Workspace.open(self.root)
        self.hands = self.hands_on(self.root)
        self.tried: dict[str, Tried] = {}
        self.made_tries = 0
        self.deltas: dict[int, Delta] = {}
        self.checkpoints: list[int] = []
        self.expected = tree(self.root)

    def hands_on(self, root: Path) -> Hands:
        """Who takes things back."""
        return Direct(root)

    def teardown(self) -> None:
        self.hands.close()
        self.workspace.close()
        shutil.rmtree(self.place)

    def took(self, number: int, before: Tree) -> None:
        self.expected = tree(self.root)
        self.deltas[number] = delta(before, self.expected)
        self.touched(self.deltas[number])

    def touched(self, paths: Iterable[str]) -> None:
        for one in self.tried.values():
            one.touched.update(paths)

    def model(self, numbers: list[int]) -> Tree | None:
        """The tree after these calls were taken back; None for a conflict."""
        now = dict(self.expected)
        chains: dict[str, list[tuple[Any, Any]]] = {}
        for number in sorted(numbers):
            for path, change in self.deltas[number].items():
                chains.setdefault(path, []).append(change)
        wanted: Tree = {}
        for path, chain in chains.items():
            first, last = chain[0][0], chain[-1][1]
            if now.get(path) == first:
                continue
            broken = any(one[1] != two[0] for one, two in pairwise(chain))
            if broken or now.get(path) != last:
                return None
            wanted[path] = first
        now.update({path: value for path, value in wanted.items() if value is not None})
        for path in sorted((path for path, value in wanted.items() if value is None), reverse=True):
            if not any(other.startswith(path + "/") for other in now):
                del now[path]
        for path, value in wanted.items():
            above = os.path.dirname(path)
            if value is not None and above and (now.get(above) or (None, b""))[1] is not None:
                return None
            if value is not None and value[1] is not None and any(other.startswith(path + "/") for other in now):
                return None
        return now

    @rule(work=steps)
    def call(self, work: Any) -> None:
        before = tree(self.root)
        number = call(self.workspace, lambda files, _: [carry_out(files, step) for step in work])
        self.took(number, before)
        # What was written and is as it was may be another file now.
        self.touched(path for _, *paths, _ in work for path in paths)

    @rule(work=steps)
    def failing_call(self, work: Any) -> None:
        call(self.workspace, lambda files, _: [carry_out(files, step) for step in work], fail=True)
        assert tree(self.root) == self.expected
        self.touched(path for _, *paths, _ in work for path in paths)

    @rule(path=st.sampled_from(PATHS), text=st.sampled_from((None, "x", "mine", "link")))
    def somebody_else(self, path: str, text: str | None) -> None:
        place = self.root / path
        try:
            if text is None:
                place.unlink()
            elif text == "link":
                place.symlink_to(OUT[0])
            else:
                place.write_text(text)
        except OSError:
            pass
        self.expected = tree(self.root)
        self.touched((path,))

    @precondition(lambda self: len(self.tried) < 2)
    @rule(work=steps)
    def try_something(self, work: Any) -> None:
        self.made_tries += 1
        name = f"t{self.made_tries}"
        script = "\n".join(as_shell(step) for step in work)
        scratch = self.place / "scratch"
        shutil.copytree(self.root, scratch, symlinks=True, ignore=shutil.ignore_patterns(".wink"))
        subprocess.run(["sh", "-c", script], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
        changes = delta(self.expected, tree(scratch))
        shutil.rmtree(scratch)

        attempt = Try(self.workspace, name)
        with attempt.use() as overlay:
            Sandbox().run(Command(("sh", "-c", script)), overlay)

        if changes:
            becomes = {path: after for path, (_, after) in changes.items()}
            self.tried[name] = Tried(changes, becomes, frozenset(path for _, *paths, _ in work for path in paths))
        elif attempt.exists:
            attempt.drop()

    @precondition(lambda self: self.tried)
    @rule(data=st.data())
    def accept(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.tried)))
        tried = self.tried[name]
        place = data.draw(st.sampled_from(("", *sorted(tried.changes))))
        before, chosen = tree(self.root), tried.within(place)
        try:
            number = self.hands.accept(name, (place,) if place else ())
        except NothingTried:
            assert all(before.get(path) == becomes for path, (_, becomes) in chosen.items())
            return
        except (TryConflict, MergeConflict, MergeRefused) as problem:
            assert tree(self.root) == before
            alone = not place and not any(
                is_in(one, other) or is_in(other, one)
                for one in tried.touched
                for other in {*tried.all, *tried.written}
            )
            if alone:
                raise AssertionError("nobody was in the way") from problem
            return
        after = tree(self.root)
        for path, (was, becomes) in chosen.items():
            assert before.get(path) in (was, becomes), path  # else somebody's work is lost
            assert after.get(path) == becomes, path
        for path, (_, becomes) in delta(before, after).items():
            # A file comes with the directories that it is in, those that an undo has taken away since included, and they
            # stay in the try as long as it has something in them.
            is_of_chosen = becomes == tried.all.get(path) or any(is_in(one, path) for one in chosen)
            assert path in chosen or (becomes is not None and becomes[1] is None and is_of_chosen), path
        if number is not None:
            self.took(number, before)
        rest = {path: change for path, change in tried.changes.items() if after.get(path) != change[1]}
        if rest and place:
            tried.changes = rest
        else:
            del self.tried[name]
            self.forget(name)

    @precondition(lambda self: self.tried)
    @rule(data=st.data())
    def drop(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.tried)))
        del self.tried[name]
        self.hands.drop(name)

    def forget(self, name: str) -> None:
        """Modes of directories alone may be left, which the model does not tell apart."""
        if Try(self.workspace, name).exists:
            self.hands.drop(name)

    @precondition(lambda self: self.deltas)
    @rule()
    def undo_and_undo_that(self) -> None:
        """An undo of an undo is the identity, whatever it was that was taken back."""
        before = tree(self.root)
        try:
            number, _ = self.hands.undo_last(1)
        except (NothingToUndo, UndoConflict):
            assert tree(self.root) == before
            return
        self.took(number, before)
        between = tree(self.root)
        try:
            number, _ = self.hands.undo_one(number)
        except NothingToUndo:
            assert between == before  # of directories that others use there is nothing to take back
            return
        assert tree(self.root) == before
        self.took(number, between)

    @precondition(lambda self: self.deltas)
    @rule(data=st.data())
    def undo_one(self, data: Any) -> None:
        number = data.draw(st.sampled_from(sorted(self.deltas)))
        self.attempt([number], lambda: self.hands.undo_one(number))

    @rule(n=st.integers(1, 3))
    def undo_last(self, n: int) -> None:
        try:
            calls = list(self.workspace.undo(n=n, dry_run=True).calls)
        except UndoConflict:
            before = tree(self.root)
            try:
                self.hands.undo_last(n)
            except UndoConflict:
                assert tree(self.root) == before
            else:
                raise AssertionError("a dry run saw a conflict that was none")
        except NothingToUndo:
            return
        else:
            self.attempt(calls, lambda: self.hands.undo_last(n))

    @rule()
    def redo(self) -> None:
        self.attempt(None, self.hands.redo)

    @rule()
    def checkpoint(self) -> None:
        self.workspace.checkpoint(f"c{len(self.checkpoints)}")
        self.checkpoints.append(max(self.deltas, default=0))

    @precondition(lambda self: self.checkpoints)
    @rule(data=st.data())
    def restore(self, data: Any) -> None:
        index = data.draw(st.integers(0, len(self.checkpoints) - 1))
        since = [number for number in self.deltas if number > self.checkpoints[index]]
        self.attempt(since, lambda: self.hands.restore(f"c{index}"))

    @rule()
    def open_again(self) -> None:
        self.workspace.close()
        self.workspace = Workspace.open(self.root)

    def attempt(self, numbers: list[int] | None, act: Any) -> None:
        before, done = tree(self.root), None
        try:
            done = act()
        except NothingToUndo:
            assert tree(self.root) == before
            return
        except UndoConflict as conflict:
            found = conflict
        else:
            found = None
        if found is not None:
            assert found.conflicts
            assert tree(self.root) == before
            assert numbers is None or self.model(numbers) is None, found
            return
        assert done is not None
        number, calls = done
        assert tree(self.root) == self.model(list(calls) if numbers is None else numbers)
        self.took(number, before)

    @invariant()
    def nothing_else_changes(self) -> None:
        assert tree(self.root) == self.expected
