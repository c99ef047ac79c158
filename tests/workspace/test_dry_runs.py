"""A dry run says yes exactly where the real one does what it was asked for, whatever is in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.states import state_of
from tests.workspace.conftest import Run
from tests.workspace.test_undo import tree
from tests.workspace.working import Work, call

from wink.errors import WinkError
from wink.workspace import Workspace, _undo

Obstacle = Callable[[Path, ExitStack], object]


def nothing(root: Path, _: ExitStack) -> None:
    """The matrix is of use only where everything goes well without the obstacle."""


def saved(root: Path, _: ExitStack) -> None:
    (root / "a.txt").write_text("a person's")


def saved_alike(root: Path, _: ExitStack) -> None:
    times = (root / "a.txt").stat()
    (root / "a.txt").write_text("X" * times.st_size)
    os.utime(root / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))


def in_the_way(root: Path, _: ExitStack) -> None:
    (root / "gone.txt").write_text("a person's")


def directory_in_the_way(root: Path, _: ExitStack) -> None:
    (root / "gone.txt").mkdir()


def home_is_a_file(root: Path, _: ExitStack) -> None:
    (root / "gone").write_text("")


def other_mode(root: Path, _: ExitStack) -> None:
    (root / "a.txt").chmod(0o600)


def used_directory(root: Path, _: ExitStack) -> None:
    (root / "new/mine.txt").write_text("a person's")


def open_for_writing(root: Path, held: ExitStack) -> None:
    held.enter_context((root / "a.txt").open("r+"))


def created_is_open_for_writing(root: Path, held: ExitStack) -> None:
    held.enter_context((root / "new/b.txt").open("r+"))


def other_name(root: Path, _: ExitStack) -> None:
    os.link(root / "a.txt", root / "other-name.txt")


def lost_preimages(root: Path, _: ExitStack) -> None:
    for left in (state_of(root) / "staged").iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def link_instead_of_home(root: Path, _: ExitStack) -> None:
    (root / "new/b.txt").unlink()
    (root / "new").rename(root / "moved")
    (root / "new").symlink_to("moved")


@contextmanager
def marked(path: Path, letter: str) -> Generator[None]:
    """An attribute of ext4 and others, which root alone may give."""
    done = subprocess.run(["chattr", f"+{letter}", str(path)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"attributes were NOT TRIED: {done.stderr.decode()}")
    try:
        yield
    finally:
        subprocess.run(["chattr", f"-{letter}", str(path)], check=True)


def immutable(root: Path, held: ExitStack) -> None:
    held.enter_context(marked(root / "a.txt", "i"))


def only_appended_to(root: Path, held: ExitStack) -> None:
    held.enter_context(marked(root / "a.txt", "a"))


def immutable_directory(root: Path, held: ExitStack) -> None:
    held.enter_context(marked(root / "new", "i"))


def immutable_root(root: Path, held: ExitStack) -> None:
    held.enter_context(marked(root, "i"))


def a_later_call(root: Path, _: ExitStack) -> None:
    """See `later`."""


OBSTACLES: tuple[Obstacle, ...] = (
    nothing, saved, saved_alike, in_the_way, directory_in_the_way, home_is_a_file, other_mode, used_directory,
    open_for_writing, created_is_open_for_writing, other_name, lost_preimages, link_instead_of_home, immutable,
    only_appended_to, immutable_directory, immutable_root, a_later_call,
)  # fmt: skip


def work(workspace: Workspace) -> None:
    """A call that creates, changes, deletes and makes directories."""
    root = Path(workspace.root)
    for name in ("a.txt", "gone.txt"):
        (root / name).write_text(f"{name} before")
    (root / "gone").mkdir()
    (root / "gone/c.txt").write_text("c")

    def do(files: object, _: object) -> None:
        files.read("a.txt")  # type: ignore[attr-defined]
        files.write("a.txt", "changed")  # type: ignore[attr-defined]
        files.write("new/b.txt", "created")  # type: ignore[attr-defined]
        files.delete("gone.txt")  # type: ignore[attr-defined]
        files.delete("gone", recursive=True)  # type: ignore[attr-defined]

    made: Work = do
    call(workspace, made)


def said(act: Callable[[], object]) -> str | None:
    """What an undo answers when it does not do it, None when it does."""
    try:
        act()
    except (WinkError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    return None


WAYS: dict[str, Callable[[Workspace, bool], object]] = {
    "undo": lambda workspace, dry: workspace.undo(dry_run=dry),
    "number": lambda workspace, dry: workspace.undo(workspace.calls()[-1].position, dry_run=dry),
    "restore": lambda workspace, dry: workspace.restore("start", dry_run=dry),
    "paths": lambda workspace, dry: workspace.restore("start", "a.txt", "new", dry_run=dry),
    "everything": lambda workspace, dry: workspace.restore("everything", dry_run=dry),
}


@contextmanager
def obstructed(root: Path, obstacle: Obstacle) -> Generator[Workspace]:
    """A workspace with a call to be taken back, and with something in its way."""
    with Workspace.open(root) as workspace, ExitStack() as held:
        workspace.checkpoint("start")
        for name in ("a.txt", "gone.txt"):
            (root / name).write_text(f"{name} before")
        workspace.checkpoint("everything", full=True)
        work(workspace)
        if obstacle is a_later_call:
            call(workspace, lambda files, _: (files.read("a.txt"), files.write("a.txt", "later")))
        obstacle(root, held)
        yield workspace


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("obstacle", OBSTACLES, ids=[one.__name__ for one in OBSTACLES])
def test_dry_run_and_real_run_answer_the_same(root: Path, obstacle: Obstacle, way: str) -> None:
    """And neither has changed anything where they refuse."""
    with obstructed(root, obstacle) as workspace:
        before = tree(root)
        dry = said(lambda: WAYS[way](workspace, True))
        assert tree(root) == before
        real = said(lambda: WAYS[way](workspace, False))

        assert dry == real
        assert real is None or tree(root) == before
        assert obstacle is not nothing or real is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("obstacle", OBSTACLES, ids=[one.__name__ for one in OBSTACLES])
def test_nothing_is_refused_that_could_be_done(
    root: Path, obstacle: Obstacle, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ask the same question first, so that it must not say no where the disk would say yes."""
    with obstructed(root, obstacle) as workspace:
        asked = said(lambda: WAYS[way](workspace, True))
        monkeypatch.setattr(_undo, "obstacles", lambda *_: [])  # type: ignore[misc]
        tried = said(lambda: WAYS[way](workspace, False))

        assert (asked is None) == (tried is None), (asked, tried)


def test_inside_a_call_a_dry_run_is_refused_too(root: Path) -> None:
    """Nobody could do what it says."""
    with Workspace.open(root) as workspace:
        work(workspace)
        found: list[str | None] = []
        call(
            workspace,
            lambda files, _: found.extend((said(lambda: workspace.undo(dry_run=True)), said(workspace.undo))),
        )

    assert found[0] is not None
    assert found[0] == found[1]


def test_state_that_cannot_be_written_to_refuses_a_dry_run_too(run: Run, root: Path) -> None:
    """As in a workspace of somebody else, or on a medium that is only read."""
    with Workspace.open(root) as workspace:
        work(workspace)
    state = state_of(root)
    modes = {path: path.stat().st_mode for path in (state, *state.rglob("*")) if path.is_dir()}
    for path in modes:
        path.chmod(0o500)
    try:
        done = run(ANSWERS)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)

    dry, real = answers(done.stdout)
    assert dry == real
    assert dry != "None"


ANSWERS = """
def said(act):
    try:
        act()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

obey_permissions()
with Workspace.open(root) as workspace:
    print(said(lambda: workspace.undo(dry_run=True)))
    print(said(workspace.undo))
    from wink.workspace import _undo
    _undo.obstacles = lambda *_: []
    print(said(workspace.undo))
"""


def answers(told: str) -> tuple[str, str]:
    """What the dry run and the real one said; where they refused, the disk itself must have refused, too."""
    dry, real, unasked = told.splitlines()
    assert real == "None" or unasked != "None"
    return dry, real


@pytest.mark.parametrize(
    "closed",
    ["a.txt", "new", ".", "new/b.txt"],
)
def test_permission_bits_that_are_in_the_way_are_told_by_a_dry_run(run: Run, root: Path, closed: str) -> None:
    """Of directories and files, for those who are not root; some are in nobody's way."""
    with Workspace.open(root) as workspace:
        work(workspace)
    mode = (root / closed).stat().st_mode
    (root / closed).chmod(mode & ~0o222)
    try:
        done = run(ANSWERS)
    finally:
        (root / closed).chmod(mode)

    dry, real = answers(done.stdout)
    assert dry == real


def test_a_disk_without_room_is_told_by_a_dry_run(run: Run) -> None:
    """It is the file system's own answer that is asked for, and nothing is written to learn it."""
    done = run(SMALL + ANSWERS.replace("obey_permissions()", ""))
    if done.stdout.startswith("NOT RUN"):
        pytest.skip("a full disk was NOT TRIED: nothing can be mounted here")

    dry, real = answers(done.stdout)
    assert dry == real, done.stderr
    assert "make room" in dry


SMALL = """
import ctypes
libc = ctypes.CDLL(None)
root = root + "/small"
os.mkdir(root)
if libc.unshare(0x20000) or libc.mount(b"none", b"/", None, 0x44000, None):
    print("NOT RUN")
    sys.exit()
if libc.mount(b"none", root.encode(), b"tmpfs", 0, b"size=24m"):
    print("NOT RUN")
    sys.exit()
with open(root + "/big", "wb") as file:
    file.write(os.urandom(8 << 20))
with Workspace.open(root) as workspace:
    call(workspace, "work", lambda session, files: files.delete("big"))
with open(root + "/filler", "wb") as file:
    file.write(bytes(12 << 20))
"""
