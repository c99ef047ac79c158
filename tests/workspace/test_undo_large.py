"""What is too large to be copied goes back as the file that it is, and everybody who may want it later finds it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.states import state_of
from tests.workspace.working import call

from wink.filesystem import COPIED_BYTES
from wink.workspace import Workspace

SIZE = COPIED_BYTES + 4096


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    """A workspace with a file `data/large.bin` whose blocks are all on the disk."""
    (root / "data").mkdir()
    with (root / "data/large.bin").open("wb") as file:
        for number in range(SIZE // 4096):
            file.write(number.to_bytes(8, "big") * 512)
    with Workspace.open(root) as workspace:
        yield workspace


def used(place: Path) -> int:
    """How many bytes of the disk are in use below a directory."""
    return sum(
        os.lstat(os.path.join(above, name)).st_blocks * 512 for above, _, names in os.walk(place) for name in names
    )


def same(one: os.stat_result, other: os.stat_result) -> bool:
    names = ("st_ino", "st_size", "st_mtime_ns", "st_mode", "st_nlink")
    return all(getattr(one, name) == getattr(other, name) for name in names)


@pytest.mark.parametrize("path", ["data/large.bin", "data"])
def test_undo_of_a_deletion_moves_a_large_file_back(workspace: Workspace, root: Path, path: str) -> None:
    """A copy of 5 GB takes 14 seconds, and another 5 GB that stay in the state."""
    before = (root / "data/large.bin").stat()
    call(workspace, lambda files, _: files.delete(path, recursive=True))
    assert used(state_of(root)) > SIZE

    workspace.undo()

    assert same((root / "data/large.bin").stat(), before)
    assert used(state_of(root)) < 1 << 20


def test_undo_of_an_overwrite_moves_a_large_file_back(workspace: Workspace, root: Path) -> None:
    """Nobody sees a moment without a file: the two change places."""
    before = (root / "data/large.bin").stat()
    call(workspace, lambda files, _: files.write("data/large.bin", "small"))

    workspace.undo()

    assert same((root / "data/large.bin").stat(), before)
    assert used(state_of(root)) < 1 << 20
    workspace.redo()
    assert (root / "data/large.bin").read_text() == "small"
    workspace.undo()
    assert same((root / "data/large.bin").stat(), before)


def test_undo_and_redo_go_on_for_ever_without_a_copy(workspace: Workspace, root: Path) -> None:
    """Each takes from where the one before has put it."""
    before = (root / "data/large.bin").stat()
    call(workspace, lambda files, _: files.delete("data/large.bin"))
    for _ in range(3):
        workspace.undo()
        assert same((root / "data/large.bin").stat(), before)
        workspace.redo()
        assert not (root / "data/large.bin").exists()
    assert used(root) < SIZE + (1 << 20)


def test_a_checkpoint_finds_a_large_file_wherever_undo_and_later_calls_have_put_it(
    workspace: Workspace, root: Path
) -> None:
    """The name in staging under which the first call had kept it is free since the undo."""
    before = (root / "data/large.bin").stat()
    workspace.checkpoint("start")
    call(workspace, lambda files, _: files.delete("data/large.bin"))
    workspace.undo()
    call(workspace, lambda files, _: files.move("data/large.bin", "moved.bin"))
    call(workspace, lambda files, _: files.delete("moved.bin"))
    workspace.gc(calls=0)

    workspace.restore("start")

    assert same((root / "data/large.bin").stat(), before)
    assert not (root / "moved.bin").exists()


def test_a_single_call_finds_a_large_file_that_an_undo_of_several_put_elsewhere(
    workspace: Workspace, root: Path
) -> None:
    """What the second call has deleted was at another path, to which the undo of both brought it back."""
    before = (root / "data/large.bin").stat()
    call(workspace, lambda files, _: files.move("data/large.bin", "moved.bin"))
    second = call(workspace, lambda files, _: files.delete("moved.bin"))
    workspace.undo(n=2)
    assert same((root / "data/large.bin").stat(), before)
    workspace.redo()
    assert not (root / "data/large.bin").exists()

    workspace.undo(second)

    assert same((root / "moved.bin").stat(), before)


def test_a_failed_undo_leaves_the_large_file_where_it_was_kept(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is taken back, the stored version is not what wink has made, and is never removed."""
    call(workspace, lambda files, _: files.delete("data", recursive=True))
    call(workspace, lambda files, _: files.write("data/large.bin", "small"))
    call(workspace, lambda files, _: files.write("zzz", "last"))
    before = {path.relative_to(root): path.lstat() for path in (state_of(root) / "staged").rglob("*.bin")}

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(workspace.record), "revert", fail)
        with pytest.raises(KeyboardInterrupt):
            workspace.undo(n=3)

    assert (root / "data/large.bin").read_text() == "small"
    after = {path.relative_to(root): path.lstat() for path in (state_of(root) / "staged").rglob("*.bin")}
    assert after.keys() == before.keys()
    assert all(same(after[name], before[name]) for name in before)
    workspace.undo(n=3)
    assert (root / "data/large.bin").stat().st_size == SIZE
