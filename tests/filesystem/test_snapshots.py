"""Snapshots of filesystems in memory."""

import gc
from pathlib import Path

import pytest

from wink.errors import HandleRevoked, SnapshotMismatch
from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem


def test_a_snapshot_brings_everything_back(memory: InMemoryFilesystem) -> None:
    """Contents, names, modes and times."""
    memory.write("a/b.txt", "one\n")
    memory.write("c.txt", "two\n")
    before = memory.snapshot("before")
    stats = [memory.stat(path) for path in ("a", "a/b.txt", "c.txt", "")]

    memory.write("a/b.txt", "changed")
    memory.move("a", "moved")
    memory.write("moved/new.txt", "new")
    memory.delete("c.txt")
    memory.restore(before)

    assert [memory.stat(path) for path in ("a", "a/b.txt", "c.txt", "")] == stats
    assert before.tag == "before"
    assert memory.read("a/b.txt").content == "one\n"


def test_older_and_newer_snapshots_can_be_restored_in_any_order(memory: InMemoryFilesystem) -> None:
    """Restoring is a change like others, so nothing is lost by it."""
    snapshots = []
    for number in range(4):
        memory.write("a.txt", str(number))
        memory.write(f"only{number}.txt", "")
        snapshots.append(memory.snapshot())

    for number in (0, 3, 1, 1, 2, 0):
        memory.restore(snapshots[number])
        assert memory.read("a.txt").content == str(number)
        assert len(memory.list()) == number + 2


def test_restoring_is_undone_with_the_transaction_it_is_in(memory: InMemoryFilesystem) -> None:
    """It goes through the same journal."""
    before = memory.snapshot()
    memory.write("a.txt", "x")
    part = memory.begin()
    part.handle.write("a.txt", "y")
    part.undo()
    memory.restore(before)

    assert memory.list() == ()


def test_what_is_not_committed_is_in_no_snapshot(memory: InMemoryFilesystem) -> None:
    """A snapshot taken while a call is under way is of the state before it."""
    memory.write("a.txt", "before")
    part = memory.begin()
    part.handle.write("a.txt", "during")
    snapshot = memory.snapshot()
    part.revoke()
    part.publish()

    memory.restore(snapshot)

    assert memory.read("a.txt").content == "before"


def test_snapshots_of_others_are_refused(memory: InMemoryFilesystem) -> None:
    """They say nothing about these files."""
    other = InMemoryFilesystem().snapshot()

    with pytest.raises(SnapshotMismatch, match=other.snapshot_id):
        memory.restore(other)


def test_inside_a_call_the_root_is_not_restored(memory: InMemoryFilesystem) -> None:
    """The call's own changes would be torn apart."""
    snapshot = memory.snapshot()
    part = memory.begin()
    token = part.guard()

    with pytest.raises(HandleRevoked):
        memory.restore(snapshot)
    with pytest.raises(HandleRevoked):
        memory.snapshot()
    part.unguard(token)


def test_history_is_kept_only_while_a_snapshot_needs_it(memory: InMemoryFilesystem) -> None:
    """Ten thousand overwritten versions must not stay in memory for nobody."""
    from wink.filesystem.memory._entries import File

    def versions() -> int:
        gc.collect()
        return sum(isinstance(found, File) for found in gc.get_objects())

    def write() -> None:
        for number in range(50):
            memory.write("a.txt", str(number))

    write()
    alone = versions()
    old, new = memory.snapshot(), memory.snapshot()
    write()
    held = versions()
    del old
    gc.collect()
    memory.restore(new)
    del new
    write()

    # One version before the snapshot is enough to come back to it, however many followed.
    assert held == alone + 1
    assert versions() == alone


def test_operations_that_change_nothing_do_not_pass_for_somebody_elses(tmp_path: Path) -> None:
    """The first change of a directory makes the file in which commits are counted; what came before it was none."""
    with HostFilesystem(tmp_path) as files:
        before = files.snapshot()
        files.restore(before)
        files.mkdir("a")
        files.mkdir("a")

        assert [change.path for change in files.diff(before)] == ["a"]
        files.restore(before)
        assert files.list() == ()


def test_a_file_moved_over_one_just_like_it_comes_back(files: Filesystem) -> None:
    """Where it went nothing seems to have changed."""
    files.write("a.txt", "same")
    files.write("b.txt", "same")
    snapshot = files.snapshot()
    files.move("a.txt", "b.txt", overwrite=True)

    assert [(change.kind, change.path) for change in files.diff(snapshot)] == [("deleted", "a.txt")]
    files.restore(snapshot)

    assert (files.read("a.txt").content, files.read("b.txt").content) == ("same", "same")


def test_content_that_was_written_once_more_over_itself_is_found(files: Filesystem) -> None:
    """It is another file then, and no change that anybody would be told of."""
    files.write("a.txt", "first")
    files.write("b.txt", "moved")
    snapshot = files.snapshot()
    files.move("b.txt", "a.txt", overwrite=True)
    files.write("a.txt", "moved")
    later = files.snapshot()
    files.write("a.txt", "other")

    for _ in range(2):
        files.restore(snapshot)
        assert (files.read("a.txt").content, files.read("b.txt").content) == ("first", "moved")
        files.restore(later)
        assert (files.read("a.txt").content, files.exists("b.txt")) == ("moved", False)
