"""A symbolic link is only a name: it is put back as it was, wherever it leads, and nothing is done through it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.states import journals
from tests.workspace.conftest import Run
from tests.workspace.test_undo import tree
from tests.workspace.working import Work, call

from wink.errors import PathRefused, UndoConflict
from wink.filesystem import Filesystem, merging
from wink.workspace import Workspace

TARGETS = {
    "absolute": "/etc/passwd",
    "upwards": "../outside/secret.txt",
    "down and up": "d/../../outside/",
    "to the state": ".wink",
    "to hooks": ".git/hooks",
    "to a FIFO": "../outside/fifo",
    "dangling": "/nowhere/at all",
    "loop": "link",
    "itself in itself": "./link/../link",
    "long": "/" + "x/" * 2046 + "yy",
    "bytes": os.fsdecode(b"/\xff\xfe/\x01\x1b[31m\n'\"\\"),
    "spaces": "  ",
}


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


@pytest.fixture
def root(root: Path) -> Path:
    """An empty directory."""
    (root / "a.txt").unlink()
    return root


@pytest.fixture(autouse=True)
def outside(root: Path) -> Path:
    """What links lead to; it stays as it is."""
    place = root.parent / "outside"
    place.mkdir()
    (place / "secret.txt").write_text("secret")
    os.mkfifo(place / "fifo")
    for path in (place / "secret.txt", place):
        os.utime(path, ns=(1, 1))
    return place


def untouched(outside: Path) -> bool:
    """Neither times nor modes nor content have changed."""
    found = outside.stat(), (outside / "secret.txt").stat()
    return [one.st_mtime_ns for one in found] == [1, 1] and (outside / "secret.txt").read_text() == "secret"


def program(path: str, target: str | None) -> Work:
    """What a program does in a call: it makes a link, or takes one away."""

    def work(files: Filesystem, _: object) -> None:
        part = files._transaction  # pyright: ignore[reportPrivateUsage]
        with merging(part, path) as steps:
            if target is None:
                steps.drop(path, Path(part.tree.store.root, path).lstat())
            else:
                steps.take_link(path, target)

    return work


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_link_is_put_back_as_it_was(workspace: Workspace, root: Path, outside: Path, target: str) -> None:
    """By undo and redo of its creation and of its deletion, by restores of both kinds, and after a fold; as a dry run says."""
    assert len(os.fsencode(target)) <= 4095
    workspace.checkpoint("without")
    call(workspace, program("link", target))
    made = tree(root)
    assert made["link"] == (0o120777, target)
    workspace.checkpoint("calls")
    assert workspace.checkpoint("everything", full=True) == ()

    steps: tuple[Callable[[bool], object], ...] = (
        lambda dry: workspace.undo(dry_run=dry),
        lambda dry: workspace.redo(dry_run=dry),
        lambda dry: workspace.restore("without", dry_run=dry),
        lambda dry: workspace.restore("calls", dry_run=dry),
    )
    for number, step in enumerate(steps):
        before = tree(root)
        step(True)
        assert tree(root) == before
        step(False)
        assert tree(root) == (made if number % 2 else {})
    workspace.fold()
    call(workspace, program("link", None))
    workspace.undo()
    assert tree(root) == made
    (root / "link").unlink()
    workspace.restore("everything", dry_run=True)
    workspace.restore("everything")

    assert tree(root) == made
    assert untouched(outside)


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nb", b"\x1b[31m", b" ", b"-rf", b"\\", b"x" * 255])
def test_a_link_of_an_odd_name_is_put_back(workspace: Workspace, root: Path, name: bytes) -> None:
    """Programs give such names, and `.venv` may lie in a directory of one."""
    path = os.fsdecode(name)
    call(workspace, program(path, "/etc/passwd"))
    workspace.undo()
    assert tree(root) == {}
    workspace.fold()

    workspace.redo()

    assert tree(root) == {path: (0o120777, "/etc/passwd")}


def test_an_older_undo_is_not_blocked(workspace: Workspace, root: Path) -> None:
    """A link that a person had made went with what a call deleted; all of it comes back, with what was done before."""
    call(workspace, lambda files, _: files.write("venv/lib/a.py", "1"))
    (root / "venv/bin").mkdir()
    (root / "venv/bin/python3").symlink_to("/usr/bin/python3")
    before = tree(root)
    call(workspace, lambda files, _: files.delete("venv", recursive=True))

    workspace.undo()
    assert tree(root) == before
    call(workspace, lambda files, _: files.delete("venv", recursive=True))
    (root / "a.txt").write_text("mine")
    workspace.undo(n=1)

    assert tree(root).keys() == {*before, "a.txt"}


def test_a_link_that_somebody_has_led_elsewhere_is_in_the_way(workspace: Workspace, root: Path) -> None:
    """Theirs stands, also where they did so in the very moment of the undo."""
    call(workspace, program("link", "/one"))
    (root / "link").unlink()
    (root / "link").symlink_to("/two")
    with pytest.raises(UndoConflict, match="link was changed since"):
        workspace.undo(dry_run=True)
    with pytest.raises(UndoConflict, match="link was changed since"):
        workspace.undo()
    assert os.readlink(root / "link") == "/two"
    (root / "link").unlink()
    (root / "link").symlink_to("/one")

    def change(_: object) -> None:
        (root / "link").unlink()
        (root / "link").symlink_to("/three")

    with pytest.raises(UndoConflict, match="link was changed since"):
        workspace.undo(confirm=change)
    assert os.readlink(root / "link") == "/three"


@pytest.mark.parametrize("target", ["../outside", "/", "inside", "nowhere", "d"])
def test_nothing_is_undone_through_a_link(workspace: Workspace, root: Path, outside: Path, target: str) -> None:
    """A person has put one in the place of a directory, out of the workspace or to another directory in it."""
    (root / "inside").mkdir()
    (root / "inside/secret.txt").write_text("inside")
    (root / "d").mkdir()
    (root / "d/secret.txt").write_text("first")
    workspace.checkpoint("everything", full=True)
    call(workspace, lambda files, _: (files.read("d/secret.txt"), files.write("d/secret.txt", "second")))
    call(workspace, lambda files, _: files.delete("d/secret.txt"))
    (root / "d").rmdir()
    (root / "d").symlink_to(target)
    before = tree(root)

    for number in (1, 2):
        with pytest.raises(UndoConflict):
            workspace.undo(n=number)
    assert tree(root) == before
    workspace.restore("everything", dry_run=True)
    workspace.restore("everything")

    assert (root / "d/secret.txt").read_text() == "first"
    assert not (root / "d").is_symlink()
    assert (root / "inside/secret.txt").read_text() == "inside"
    assert untouched(outside)


@pytest.mark.parametrize("target", ["../outside", "inside"])
@pytest.mark.parametrize("kind", ["write", "create", "delete", "chmod"])
def test_nothing_is_undone_through_a_link_that_comes_in_between(
    workspace: Workspace, root: Path, outside: Path, target: str, kind: str
) -> None:
    """It was looked at, and then the directory became a link to one in which all is alike."""
    works: dict[str, Work] = {
        "write": lambda files, _: (files.read("d/a.txt"), files.write("d/a.txt", "2")),
        "create": lambda files, _: files.write("d/b.txt", "2"),
        "delete": lambda files, _: files.delete("d/a.txt"),
        "chmod": lambda files, _: files.chmod("d/a.txt", 0o600),
    }
    (outside / "fifo").unlink()
    (root / "d").mkdir()
    (root / "inside").mkdir()
    for place in (root / "d", root / "inside", outside):
        (place / "a.txt").write_text("1")
    call(workspace, works[kind])
    before = [tree(place) for place in (root / "inside", outside)]

    def swap(_: object) -> None:
        (root / "d").rename(root / "moved")
        (root / "d").symlink_to(target)

    with pytest.raises((UndoConflict, OSError)):
        workspace.undo(confirm=swap)

    assert [tree(place) for place in (root / "inside", outside)] == before


def test_an_interrupted_undo_is_taken_back_and_can_be_repeated(run: Run, root: Path, outside: Path) -> None:
    """Whoever died after the link was made: recovery takes away the link itself."""
    with Workspace.open(root) as workspace:
        (root / "link").symlink_to("../outside")
        call(workspace, lambda files, _: files.delete("link"))
    died = run(DIES)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert (root / "link").is_symlink()

    with Workspace.open(root) as workspace:
        assert tree(root) == {}
        workspace.undo()

    assert os.readlink(root / "link") == "../outside"
    assert untouched(outside)
    assert journals(root) == []


DIES = """
with Workspace.open(root) as workspace:
    from wink.filesystem.disk import DiskChangeSet
    DiskChangeSet.prepare = lambda self: os.kill(os.getpid(), signal.SIGKILL)
    workspace.undo()
"""


def test_tools_make_no_such_links_nor_reach_through_one_that_was_put_back(workspace: Workspace, root: Path) -> None:
    """What is put back is as dead to them as it was."""
    call(workspace, program("link", "../outside/secret.txt"))
    workspace.undo()
    workspace.redo()
    refused: list[str] = []

    def work(files: Filesystem, _: object) -> None:
        acts: tuple[Callable[[], object], ...] = (
            lambda: files.symlink("other", "../outside/secret.txt"),
            lambda: files.symlink("other", "/etc/passwd"),
            lambda: files.read("link"),
            lambda: files.write("link", "x"),
            lambda: files.chmod("link", 0o600),
        )
        for act in acts:
            with pytest.raises(PathRefused) as error:
                act()
            refused.append(str(error.value))

    call(workspace, work)
    assert len(refused) == 5
    assert set(tree(root)) == {"link"}
