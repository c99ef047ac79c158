"""What programs have written is not read by the call, and an undo of it takes nothing away that a person saved since."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workspace.working import call

from wink.errors import UndoConflict
from wink.filesystem import Filesystem, merging
from wink.workspace import Workspace

SIZE = 200_000
Save = Callable[[Path], object]


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


def program(workspace: Workspace, path: str, content: bytes, *, fail: bool = False) -> int:
    """A call of a program that leaves a file, as `run_command` takes it over."""
    made = Path(workspace.root).parent / "made-by-a-program"
    made.write_bytes(content)

    def work(files: Filesystem, _: object) -> None:
        def take(part: Any) -> None:
            there = Path(workspace.root, path)
            with merging(part, path) as steps:
                steps.take_file(path, str(made), 0o644, there.stat() if there.exists() else None)

        files._transaction.run("change", take)  # pyright: ignore[reportPrivateUsage]

    return call(workspace, work, fail=fail)


def in_place(path: Path) -> None:
    """As `cp -p` does, from a file of the same time."""
    times = path.stat()
    with path.open("r+b") as file:
        file.write(b"a person's")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def and_change_the_mode(path: Path) -> None:
    times = path.stat()
    path.chmod(0o600)
    path.write_bytes(b"p" * SIZE)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    path.chmod(0o644)


@pytest.mark.parametrize("save", [in_place, and_change_the_mode])
@pytest.mark.parametrize("act", ["undo", "restore", "snapshot", "redo", "undo of both"])
def test_a_save_of_the_same_size_and_time_is_not_taken_away(
    workspace: Workspace, root: Path, save: Save, act: str
) -> None:
    """Nobody can set the time at which anything of a file changed last."""
    workspace.checkpoint("start")
    snapshot = workspace.filesystem.snapshot()
    program(workspace, "out.bin", b"a" * SIZE)
    if act == "undo of both":
        program(workspace, "out.bin", b"b" * SIZE)
    if act == "redo":
        workspace.undo()
        workspace.redo()
    save(root / "out.bin")
    before = (root / "out.bin").read_bytes()

    with pytest.raises(UndoConflict, match=r"out\.bin was changed since"):
        if act == "restore":
            workspace.restore("start")
        elif act == "snapshot":
            workspace.filesystem.restore(snapshot)
        else:
            workspace.undo(n=2 if act == "undo of both" else 1)

    assert (root / "out.bin").read_bytes() == before


def test_what_only_wink_has_touched_since_can_be_undone(workspace: Workspace, root: Path) -> None:
    """Renames change that time too: of a call that failed, of an undo, of a file that was moved and came back."""
    workspace.checkpoint("start")
    program(workspace, "out.bin", b"a" * SIZE)
    program(workspace, "out.bin", b"b" * SIZE)
    workspace.undo()
    call(workspace, lambda files, _: files.move("out.bin", "moved.bin"))
    workspace.undo()
    workspace.fold()

    workspace.restore("start", dry_run=True)
    workspace.undo()

    assert not (root / "out.bin").exists()


def test_what_a_failed_call_has_moved_and_put_back_is_told_by_its_content(workspace: Workspace, root: Path) -> None:
    """Its rollback has renamed the file, and left no change that anybody would be told of."""
    program(workspace, "out.bin", b"a" * SIZE)
    workspace.fold()
    program(workspace, "out.bin", b"b" * SIZE, fail=True)
    assert (root / "out.bin").read_bytes() == b"a" * SIZE

    workspace.undo()

    assert not (root / "out.bin").exists()


def test_content_decides_where_the_history_has_it(workspace: Workspace, root: Path) -> None:
    """A backup that makes hard links, or a mode that was changed and changed back, is no other version."""
    program(workspace, "out.bin", b"a" * SIZE)
    workspace.fold()
    (root / "out.bin").chmod(0o600)
    (root / "out.bin").chmod(0o644)

    workspace.undo()

    assert not (root / "out.bin").exists()


def test_the_history_does_not_take_a_persons_version_for_the_programs(workspace: Workspace, root: Path) -> None:
    """It reads what is there later, when somebody may have saved."""
    program(workspace, "out.bin", b"a" * SIZE)
    in_place(root / "out.bin")
    workspace.fold()

    with pytest.raises(UndoConflict, match=r"out\.bin was changed since"):
        workspace.undo()


def test_a_fifo_or_socket_that_a_program_deleted_holds_up_nothing(workspace: Workspace, root: Path) -> None:
    """Nothing brings it back, and for that an undo of the whole call was refused."""
    (root / "run").mkdir()
    (root / "a.txt").write_text("mine")
    for name in ("run/pipe", "taken"):
        os.mkfifo(root / name)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "run/sock"))
    special = ("run/pipe", "run/sock", "taken")

    def work(files: Filesystem, _: object) -> None:
        def take(part: Any) -> None:
            with merging(part, "a.txt") as steps:
                for path in ("run/pipe", "run/sock", "run", "taken", "a.txt"):
                    steps.drop(path, (root / path).lstat())
                steps.take_link("taken", "a.txt")

        files._transaction.run("change", take)  # pyright: ignore[reportPrivateUsage]

    call(workspace, work)
    for _ in range(2):
        assert workspace.undo(dry_run=True).lost == special
        assert workspace.undo().lost == special
        assert sorted(os.listdir(root)) == [".wink", "a.txt", "run"]
        assert ((root / "a.txt").read_text(), os.listdir(root / "run")) == ("mine", [])
        workspace.fold()
        assert workspace.redo().lost == ()
        assert (sorted(os.listdir(root)), os.readlink(root / "taken")) == ([".wink", "taken"], "a.txt")

    (root / "taken").unlink()
    os.mkfifo(root / "taken")
    with pytest.raises(UndoConflict, match="taken was changed since by somebody else"):
        workspace.undo()


def test_a_snapshot_that_is_restored_names_what_does_not_come_back(workspace: Workspace, root: Path) -> None:
    """It passed over a FIFO that a program had deleted, without a word."""
    (root / "a.txt").write_text("one")
    os.mkfifo(root / "pipe")
    before = workspace.filesystem.snapshot()

    def take(files: Filesystem, _: object) -> None:
        def steps_of(part: Any) -> None:
            with merging(part, "pipe") as steps:
                steps.drop("pipe", (root / "pipe").lstat())

        files._transaction.run("change", steps_of)  # pyright: ignore[reportPrivateUsage]
        files.write("a.txt", "two")

    call(workspace, take)

    assert workspace.filesystem.restore(before) == ("pipe",)
    assert (root / "a.txt").read_text() == "one"
    assert workspace.filesystem.restore(before) == ("pipe",)


def test_what_is_to_go_and_was_changed_names_the_way_on(workspace: Workspace, root: Path) -> None:
    """A redo of a deleted environment, whose Python has written a .pyc anew: moving that away is enough."""
    (root / "env").mkdir()
    (root / "env/a.pyc").write_bytes(b"one")
    call(workspace, lambda files, _: files.delete("env", recursive=True))
    workspace.undo()
    (root / "env/a.pyc").write_bytes(b"two")

    with pytest.raises(
        UndoConflict, match=r"a\.pyc was changed since .*, and is to go: move it away, and do the same again"
    ):
        workspace.redo()

    (root / "env/a.pyc").rename(root / "kept.pyc")
    workspace.redo()
    assert not (root / "env").exists()
    assert (root / "kept.pyc").read_bytes() == b"two"
