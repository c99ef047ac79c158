"""Folding changes nothing but where things are kept, whatever calls and people do."""

from __future__ import annotations

import itertools
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test
from plugins.history.tests.conftest import fsck, git
from tests.states import state_of
from tests.workspace.test_undo import tree
from tests.workspace.test_undo_laws import Machine, carry_out
from tests.workspace.working import call

from wink.filesystem import Filesystem
from wink.workspace import Workspace
from wink_history._names import real_name

EXAMPLES = int(os.environ.get("WINK_FOLD_EXAMPLES", "15"))
_EVERYTHING = settings(
    max_examples=EXAMPLES, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)


class Folded(Machine):
    """The same calls, edits, undos and restores as elsewhere, with folds in between."""

    @rule(most=st.integers(1, 4) | st.none())
    def fold(self, most: int | None) -> None:
        self.workspace._upkeep.fold(most=most)  # type: ignore[attr-defined]

    @rule()
    def somebody_tidies_up(self) -> None:
        store = state_of(self.root) / "store.git"
        if store.exists():
            git(store, "gc", "--prune=now", "--quiet")

    def teardown(self) -> None:
        self.workspace.fold()
        store = state_of(self.root) / "store.git"
        if store.exists():
            fsck(store)
        super().teardown()


def test_undo_after_a_fold_is_undo_before_it() -> None:
    """The machine's model of undo knows nothing of folds."""
    run_state_machine_as_test(Folded, settings=_EVERYTHING)


NAMES = ("a", "d/b", "d", "d/e/c", ".gitignore", "Ö", "x y", "%wink%", "a.b", "a-b", "a0")
_numbers = itertools.count()
writes = st.tuples(
    st.sampled_from(("write", "write", "delete", "move", "mkdir", "chmod", "bytes", "link")),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(("", "x", "y", "long")),
)


def carry_out_more(files: Filesystem, step: tuple[str, str, str, str]) -> None:
    kind, path, other, text = step
    # Never the same twice: what a call overwrites with its like has not changed, and leaves no trace to follow.
    new = f"{next(_numbers)}"
    try:
        if kind == "bytes":
            files.write_bytes(path, bytes(range(256)) * len(text) + new.encode())
        elif kind == "write":
            files.write(path, (text * 30_000 if text == "long" else text) + new)
        elif kind == "link":
            with files._transaction.changing(path) as frame:  # type: ignore[attr-defined]
                frame.symlink(path, "a")
        else:
            carry_out(files, step)
    except OSError:
        pass


@given(
    calls=st.lists(st.lists(writes, min_size=1, max_size=5), min_size=1, max_size=8),
    portions=st.lists(st.integers(1, 3), max_size=4),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_each_commit_is_the_tree_as_its_call_left_it(
    calls: list[list[tuple[str, str, str, str]]], portions: list[int]
) -> None:
    """For the paths that wink touched; so the diffs between commits are those of the calls."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        trees: dict[str, dict[str, Any]] = {}
        with Workspace.open(root) as workspace:
            for work in calls:
                call(workspace, lambda files, _, work=work: [carry_out_more(files, step) for step in work])
                trees[workspace.calls(limit=1)[0].transaction_id] = tree(root)
            for most in portions:
                workspace._upkeep.fold(most=most)  # type: ignore[attr-defined]
            workspace.fold()
        store = state_of(root) / "store.git"
        if not store.exists():
            return
        fsck(store)
        for line in git(store, "log", "--format=%H %(trailers:key=Wink-Transaction,valueonly,separator=)").splitlines():
            commit, transaction = line.split()
            assert committed(store, commit) == simple(trees[transaction])


def committed(store: Path, commit: str) -> dict[str, tuple[str, bytes]]:
    found: dict[str, tuple[str, bytes]] = {}
    for entry in git(store, "ls-tree", "-r", "-t", "-z", commit).split("\0")[:-1]:
        facts, _, path = entry.partition("\t")
        mode, kind, oid = facts.split()
        name = "/".join(os.fsdecode(real_name(os.fsencode(part))) for part in path.split("/"))
        content = git(store, "cat-file", "blob", oid).encode(errors="surrogateescape") if kind == "blob" else b""
        found[name] = mode, content
    return found


def simple(files: dict[str, Any]) -> dict[str, tuple[str, bytes]]:
    """A tree as git would see it; this is written apart from wink."""
    found: dict[str, tuple[str, bytes]] = {}
    for path, (mode, content) in files.items():
        if stat.S_ISDIR(mode):
            found[path] = "040000", b""
        elif stat.S_ISLNK(mode):
            found[path] = "120000", content.encode()
        else:
            found[path] = "100755" if mode & 0o100 else "100644", content
    return found
