"""The baseline against the plainest thing that tells the same: all files, read before and after."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wink_attach._baseline import Baseline, Entry, condition
from wink_attach._keeper import Difference, Keeper
from wink_attach._tree import Status, Tree

BESIDE = "node_modules"
NAMES = ("a", "b", "d", "d/a", "d/e", "d/e/a", BESIDE, f"{BESIDE}/x", f"{BESIDE}/y", f"{BESIDE}/y/z")
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
        names[:] = [name for name in names if name != BESIDE]
        for name in (*names, *files):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            if name == BESIDE:
                continue
            content = b""
            if stat.S_ISREG(status.st_mode):
                content = Path(path).read_bytes()
            elif stat.S_ISLNK(status.st_mode):
                content = os.fsencode(os.readlink(path))
            found[os.path.relpath(path, root)] = status.st_mode, content
    return found


def beside(root: Path, *, with_content: bool) -> dict[str, object]:
    """What is in the directories that are not kept, where they are some."""
    return {
        str(path.relative_to(root)): path.is_file() and with_content and path.read_bytes()
        for top in (root / BESIDE, root / "d" / BESIDE)
        if top.is_dir() and not top.is_symlink()
        for path in (top, *top.rglob("*"))
    }


@contextmanager
def keeping(root: Path, state: Path) -> Iterator[Keeper]:
    """A keeper that has read everything."""
    tree = Tree(str(root), (BESIDE,))
    keeper = Keeper(tree, Baseline(str(state)), lambda path, *, by_name: False)
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
        if one.is_beside:
            continue
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
        aside = beside(root, with_content=not overflows)
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
                was, aside = aside, beside(root, with_content=not overflows)
                tops = {path[: path.index(BESIDE)] + BESIDE for path in dict(was.items() ^ aside.items())}
                assert tops <= {one.path for one in found if one.is_beside}
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
            assert {one.path for one in keeper.differences() if not one.is_beside} == changed


def test_of_a_directory_that_is_not_kept_only_the_upper_ones_are_watched(tmp_path: Path) -> None:
    """However much is in it, and what changes is told once; a tool's cache is not spoken of."""
    root, state = tmp_path / "root", tmp_path / "state"
    for number in range(300):
        (root / f"{BESIDE}/p{number}/lib/deep/er").mkdir(parents=True)
    (root / ".venv/lib/python3.14/site-packages").mkdir(parents=True)
    (root / "src").mkdir()
    tree = Tree(str(root), (BESIDE, ".venv"), ("cache",))
    keeper = Keeper(tree, Baseline(str(state)), lambda path, *, by_name: False)
    keeper.begin()
    places = list(keeper.watch._places.values())
    assert (len(places), sum(one.startswith(BESIDE) for one in places)) == (2 + 64 + 4, 64)

    def found() -> list[str]:
        told = keeper.differences()
        keeper.take(told)
        assert not keeper.has_news()
        return [one.path for one in told]

    (root / f"{BESIDE}/p0/new").write_text("new\n")
    (root / f"{BESIDE}/p0/newer").write_text("new\n")
    assert found() == [BESIDE]
    (root / ".venv/lib/python3.14/site-packages/cache").mkdir()
    (root / "src/cache").mkdir()
    assert found() == []
    (root / ".venv/lib/python3.14/site-packages/added").mkdir()
    assert found() == [".venv"]
    shutil.rmtree(root / BESIDE)
    assert found() == [BESIDE]
    assert found() == []
    keeper.close()
    tree.close()


def test_the_budget_lets_go_of_the_largest(tmp_path: Path) -> None:
    """What is not kept is seen to change all the same."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "large").write_bytes(b"x" * 5000)
    (root / "small").write_bytes(b"y" * 100)
    tree = Tree(str(root), ())
    keeper = Keeper(tree, Baseline(str(tmp_path / "state"), budget=1000), lambda path, *, by_name: False)
    keeper.begin()
    keeper.work(60)
    for name in ("large", "small"):
        (root / name).write_bytes(b"z")

    found = {one.path: one.before and keeper.baseline.content(one.before) for one in keeper.differences()}

    assert found == {"large": None, "small": b"y" * 100}
    keeper.close()
    tree.close()


def test_content_that_no_file_has_is_forgotten_when_something_has_changed(tmp_path: Path) -> None:
    """An idle helper of 100,000 files would look at all of them every half minute otherwise."""
    baseline = Baseline(str(tmp_path / "state"))
    status = Status(0o100644, 3, 1, 1, 1, 0, 0)
    asked = list[str]()
    baseline._database.set_trace_callback(asked.append)
    for content in (b"one", b"two", b"two"):
        baseline.put("a", Entry(status, hashlib.sha256(content).digest()), content)
        baseline.sweep()
        assert baseline.size == 3
        count = len(asked)
        baseline.sweep()
        assert len(asked) == count
    baseline.drop("a")
    baseline.sweep()
    assert baseline.size == 0
    baseline.close()


def test_another_budget_counts_from_the_next_start_on(tmp_path: Path) -> None:
    """A smaller one lets go at once; with a larger one what there was no room for is kept."""
    root, state = tmp_path / "root", str(tmp_path / "state")
    root.mkdir()
    (root / "large").write_bytes(b"x" * 5000)
    (root / "small").write_bytes(b"y" * 100)
    tree = Tree(str(root), ())
    for budget, kept in ((10_000, 5100), (1000, 100), (1000, 100), (10_000, 5100)):
        keeper = Keeper(tree, Baseline(state, budget=budget), lambda path, *, by_name: False)
        keeper.begin()
        keeper.work(60)
        assert keeper.differences() == []
        assert keeper.baseline.size == kept
        keeper.close()
    tree.close()


class Closing(Tree):
    """A tree in which some directories cannot be looked into, whoever the test runs as."""

    def __init__(self, root: str) -> None:
        super().__init__(root, ())
        self.closed: set[str] = set()

    def open_directory(self, path: str, how: int = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC) -> int:
        """As for an ordinary user and a directory of mode 000."""
        if any(path == one or path.startswith(f"{one}/") for one in self.closed):
            raise PermissionError(13, os.strerror(13), path)
        return super().open_directory(path, how)


class Place:
    """A directory with another one in it that can be closed, and its keepers, one after the other."""

    def __init__(self, place: Path) -> None:
        self.root, self.state = place / "root", place / "state"
        (self.root / "d/e").mkdir(parents=True)
        (self.root / "d/old").write_text("old\n")
        (self.root / "d/e/old").write_text("old\n")
        self.tree = Closing(str(self.root))
        self.keeper = Keeper(self.tree, Baseline(str(self.state)), lambda path, *, by_name: False)

    def close(self) -> None:
        """Let nobody look into it."""
        (self.root / "d").chmod(0)
        self.tree.closed.add("d")

    def open(self) -> None:
        """Let its owner look into it."""
        self.tree.closed.clear()
        (self.root / "d").chmod(0o700)

    def begin(self) -> None:
        """See what there is, and read it."""
        self.keeper.begin()
        self.keeper.work(60)

    def again(self) -> None:
        """Another process goes on."""
        self.keeper.close()
        self.keeper = Keeper(self.tree, Baseline(str(self.state)), lambda path, *, by_name: False)
        self.begin()

    def found(self) -> dict[str, tuple[bool, bytes | None]]:
        """What has changed: whether it is only named, and what it was; it is taken."""
        assert self.keeper.has_news() or not self.keeper.differences()
        found = self.keeper.differences()
        self.keeper.take(found)
        self.keeper.work(60)
        assert self.keeper.differences() == []
        before = {one.path: one.before and self.keeper.baseline.content(one.before) for one in found}
        return {one.path: (one.is_secret, before[one.path]) for one in found}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """The same, which can be looked into again at the end."""
    made = Place(tmp_path)
    yield made
    made.open()
    made.keeper.close()
    made.tree.close()


@pytest.mark.parametrize("is_another", [False, True])
def test_what_lay_in_a_closed_directory_all_the_time_is_no_change(place: Place, is_another: bool) -> None:
    """It is not told as made, which an undo would delete; and from then on it is kept."""
    place.close()
    time.sleep(0.1)  # times of files lag behind the clock
    place.begin()
    assert place.found() == {}
    place.open()
    if is_another:
        place.again()

    assert {path: only_named for path, (only_named, _) in place.found().items()} == {"d": False}
    (place.root / "d/old").write_text("new\n")
    assert place.found() == {"d/old": (False, b"old\n")}


@pytest.mark.parametrize("is_another", [False, True])
def test_what_changed_in_a_closed_directory_is_named_and_cannot_be_undone(place: Place, is_another: bool) -> None:
    """What it was nobody knows; it is not passed over in silence."""
    place.close()
    time.sleep(0.1)
    place.begin()
    if is_another:
        place.again()
    place.open()
    (place.root / "d/old").write_text("new\n")
    (place.root / "d/made").write_text("made\n")

    found = place.found()

    assert {path for path, (only_named, _) in found.items() if only_named} == {"d/old", "d/made"}
    (place.root / "d/old").write_text("newer\n")
    assert place.found() == {"d/old": (False, b"new\n")}


def test_a_directory_that_is_closed_again_is_named(place: Place) -> None:
    """A call that opens it, writes, and closes it again leaves nothing else to be seen."""
    place.close()
    place.begin()
    time.sleep(0.1)  # times of files lag behind the clock
    (place.root / "d").chmod(0o700)
    (place.root / "d/old").write_text("new\n")
    (place.root / "d").chmod(0)

    assert place.found() == {"d": (True, None)}


@pytest.mark.parametrize("is_another", [False, True])
def test_what_is_known_of_a_directory_that_is_closed_is_not_told_as_deleted(place: Place, is_another: bool) -> None:
    """It is there, and what it was is still kept when it can be looked at again."""
    place.begin()
    place.close()
    if is_another:
        place.again()
    assert place.found() == {"d": (False, None)}
    if is_another:
        place.again()
    place.open()
    (place.root / "d/old").write_text("new\n")

    assert place.found() == {"d": (False, None), "d/old": (False, b"old\n")}


def test_a_new_directory_that_is_closed_is_looked_into_when_it_is_open(place: Place) -> None:
    """Nothing in it was there before."""
    (place.root / "d").rename(place.root.parent / "aside")
    place.begin()
    (place.root.parent / "aside").rename(place.root / "d")
    place.close()
    assert place.found() == {"d": (False, None)}
    place.open()

    assert place.found().keys() == {"d", "d/old", "d/e", "d/e/old"}


@pytest.mark.parametrize("path", ["..", "../outside", ".", "/etc/passwd", "d/../../outside", "d//old", "d/./old", "d/"])
def test_no_path_leads_out(place: Place, path: str) -> None:
    """Whoever wrote it into a baseline."""
    (place.root.parent / "outside").write_text("outside\n")

    assert place.tree.read(path) is None
    assert place.tree.status(path) is None
    assert place.tree.target(path) == ""


def test_a_baseline_with_a_path_that_leads_out_is_set_aside(tmp_path: Path) -> None:
    """It is not what was written."""
    state = str(tmp_path)
    baseline = Baseline(state)
    baseline.put("../outside", Entry(Status(0o100644, 1, 1, 1, 1, 0, 0), b"x" * 32))
    baseline.close()

    baseline = Baseline(state)

    assert baseline.entries == {}
    assert "'../outside' is no path" in baseline.damage
    assert condition(state) == (True, f"another one was begun, since the one before was damaged: {baseline.damage}")
    baseline.close()


@pytest.mark.parametrize("name", ["baseline.db", "baseline.db-wal", "baseline.db-shm"])
@pytest.mark.parametrize("is_hard", [False, True])
def test_a_database_is_not_opened_through_links(tmp_path: Path, name: str, is_hard: bool) -> None:
    """Another file of the user's would be written to."""
    other, state = tmp_path / "other", tmp_path / "state"
    state.mkdir()
    other.write_bytes(b"")
    (state / name).hardlink_to(other) if is_hard else (state / name).symlink_to(other)

    baseline = Baseline(str(state))

    assert "no plain file" in baseline.damage
    assert other.read_bytes() == b""
    baseline.close()


def test_content_that_is_not_what_was_kept_is_none(tmp_path: Path) -> None:
    """An undo would write what never was."""
    baseline = Baseline(str(tmp_path))
    entry = Entry(Status(0o100644, 3, 1, 1, 1, 0, 0), hashlib.sha256(b"one").digest())
    baseline.put("a", entry, b"two")

    assert baseline.content(entry) is None
    baseline.close()


def test_what_is_new_is_kept_when_something_else_has_to_go(tmp_path: Path) -> None:
    """It is what can be undone next."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "large").write_bytes(b"x" * 900)
    tree = Tree(str(root), ())
    keeper = Keeper(tree, Baseline(str(tmp_path / "state"), budget=1000), lambda path, *, by_name: False)
    keeper.begin()
    keeper.work(60)
    (root / "new").write_bytes(b"y" * 200)
    keeper.take(keeper.differences())
    (root / "new").write_bytes(b"z")

    (one,) = keeper.differences()

    assert one.before is not None
    assert keeper.baseline.content(one.before) == b"y" * 200
    keeper.close()
    tree.close()
