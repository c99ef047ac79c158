"""The baseline against the plainest thing that tells the same: all files, read before and after."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wink_attach._baseline import Baseline
from wink_attach._keeper import Difference, Keeper
from wink_attach._tree import Tree

NAMES = ("a", "b", "d", "d/a", "d/e", "d/e/a", "node_modules", "node_modules/x")
Step = tuple[str, str, str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("write", "delete", "mkdir", "link", "mode", "move")),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
    ),
    max_size=12,
)


def do(root: Path, step: Step, number: int) -> None:
    """One step of a program; what is not possible is not done."""
    verb, name, other = step
    path = root / name
    try:
        match verb:
            case "write":
                path.write_text(f"{number}\n" * (number % 3 + 1))
            case "delete":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            case "mkdir":
                path.mkdir()
            case "link":
                path.symlink_to(other)
            case "mode":
                path.chmod(0o755 if number % 2 else 0o600, follow_symlinks=True)
            case _:
                path.rename(root / other)
    except OSError:
        pass


def model(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything that is kept: type and mode, and content or a link's body."""
    found: dict[str, tuple[int, bytes]] = {}
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name != "node_modules"]
        for name in (*names, *files):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            if name == "node_modules":
                continue
            content = b""
            if stat.S_ISREG(status.st_mode):
                content = Path(path).read_bytes()
            elif stat.S_ISLNK(status.st_mode):
                content = os.fsencode(os.readlink(path))
            found[os.path.relpath(path, root)] = status.st_mode, content
    return found


@contextmanager
def keeping(root: Path, state: Path) -> Iterator[Keeper]:
    """A keeper that has read everything."""
    tree = Tree(str(root), ("node_modules",))
    keeper = Keeper(tree, Baseline(str(state)), lambda path: False)
    keeper.begin()
    keeper.work(60)
    try:
        yield keeper
    finally:
        keeper.close()
        tree.close()


def told(keeper: Keeper, found: list[Difference]) -> dict[str, tuple[tuple[int, bytes] | None, bool]]:
    """What each difference says was there, and whether something is there now."""
    answers: dict[str, tuple[tuple[int, bytes] | None, bool]] = {}
    for one in found:
        before = None
        if one.before is not None:
            content = (
                keeper.baseline.content(one.before) if one.before.status.is_file else os.fsencode(one.before.target)
            )
            assert content is not None
            before = one.before.status.mode, content
        answers[one.path] = before, one.after is not None
    return answers


@pytest.mark.parametrize("overflows", [False, True])
@settings(max_examples=40, deadline=None)
@given(first=STEPS, then=st.lists(STEPS, max_size=3))
def test_what_differs_is_told_with_what_it_was(overflows: bool, first: list[Step], then: list[list[Step]]) -> None:
    """Whatever a program does, and whether the kernel tells of it or everything has to be looked at."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "root")
        root.mkdir()
        for number, step in enumerate(first):
            do(root, step, number)
        before = model(root)
        with keeping(root, Path(place, "state")) as keeper:
            for count, steps in enumerate(then):
                for number, step in enumerate(steps):
                    do(root, step, 100 * (count + 1) + number)
                after = model(root)
                if overflows:
                    keeper.watch.is_whole = False
                found = keeper.differences()
                wanted = {
                    path: (before.get(path), path in after)
                    for path in before.keys() | after.keys()
                    if before.get(path) != after.get(path)
                }
                assert told(keeper, found) == wanted
                keeper.take(found)
                assert keeper.differences() == []
                before = after


@settings(max_examples=20, deadline=None)
@given(first=STEPS, then=STEPS)
def test_another_process_goes_on_from_what_was_kept(first: list[Step], then: list[Step]) -> None:
    """One that ended without a word has lost nothing: what changed meanwhile is found by comparing."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "root")
        root.mkdir()
        for number, step in enumerate(first):
            do(root, step, number)
        before = model(root)
        with keeping(root, Path(place, "state")):
            pass
        for number, step in enumerate(then):
            do(root, step, 100 + number)
        after = model(root)
        with keeping(root, Path(place, "state")) as keeper:
            changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
            assert {one.path for one in keeper.differences()} == changed


def test_the_budget_lets_go_of_the_largest(tmp_path: Path) -> None:
    """What is not kept is seen to change all the same."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "large").write_bytes(b"x" * 5000)
    (root / "small").write_bytes(b"y" * 100)
    tree = Tree(str(root), ())
    keeper = Keeper(tree, Baseline(str(tmp_path / "state"), budget=1000), lambda path: False)
    keeper.begin()
    keeper.work(60)
    for name in ("large", "small"):
        (root / name).write_bytes(b"z")

    found = {one.path: one.before and keeper.baseline.content(one.before) for one in keeper.differences()}

    assert found == {"large": None, "small": b"y" * 100}
    keeper.close()
    tree.close()
