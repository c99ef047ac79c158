"""What a person saves while a call works on the same file is never lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import state_of

from wink.errors import FileConflict, RollbackFailed
from wink.filesystem.disk import _root, _undo
from wink.filesystem.disk._root import DiskRoot
from wink.filesystem.disk._store import DiskStore

from .conftest import State


def save(path: Path, text: bytes) -> None:
    """Save as editors do: beside the file, then over it."""
    beside = path.with_name(path.name + ".swp")
    beside.write_bytes(text)
    beside.rename(path)


def kept(tree: Path) -> list[bytes]:
    """What went to the conflicts."""
    return [path.read_bytes() for path in sorted((state_of(tree) / "conflicts").iterdir())]


def test_a_file_saved_over_ours_is_kept_aside_by_a_rollback(store: DiskStore, tree: Path, look: Any) -> None:
    """The file from before goes back to its path; the version that nobody expected there is reported."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    save(tree / "top.txt", b"by a person")

    change_set.undo(0)

    assert look(tree) | {".": 0} == before | {".": 0}
    assert kept(tree) == [b"by a person"]
    assert [(c.path, c.kept is not None) for c in change_set.conflicts] == [("top.txt", True)]


def test_an_edit_within_our_new_file_is_kept_aside_by_a_rollback(store: DiskStore, tree: Path, look: Any) -> None:
    """Some editors write into the file that they opened: then the inode is ours and the content is not."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    (tree / "top.txt").write_bytes(b"by a person!")

    change_set.undo(0)

    assert look(tree) == before
    assert kept(tree) == [b"by a person!"]


def test_an_edit_in_the_same_tick_is_noticed_by_its_content(
    store: DiskStore, tree: Path, look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that moves in steps gives two quick saves of equal length the same time."""
    monkeypatch.setattr(_undo, "_RACY_NS", 1 << 62)  # however long this machine takes until the undo
    before = look(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    times = os.stat(tree / "top.txt")
    (tree / "top.txt").write_bytes(b"by a human!")
    os.utime(tree / "top.txt", ns=(times.st_atime_ns, times.st_mtime_ns))

    change_set.undo(0)

    assert look(tree) == before
    assert kept(tree) == [b"by a human!"]


def test_a_change_to_what_we_created_is_kept_aside(store: DiskStore, tree: Path, look: Any) -> None:
    """Creating is taken back by removing, but not what somebody wrote."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.put("src/new.txt", b"by the tool")
    save(tree / "src/new.txt", b"by a person")

    change_set.undo(0)

    assert look(tree) == before
    assert kept(tree) == [b"by a person"]


def test_a_deleted_path_that_was_filled_again(store: DiskStore, tree: Path, look: Any) -> None:
    """The deleted file comes back to its path, and what took its place is kept aside."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.delete("src/a", recursive=True)
    (tree / "src/a").write_bytes(b"by a person")

    change_set.undo(0)

    assert look(tree) == before
    assert kept(tree) == [b"by a person"]


def test_our_new_file_deleted_by_somebody(store: DiskStore, tree: Path, look: Any) -> None:
    """There is nothing to keep then: the old file comes back."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    (tree / "top.txt").unlink()

    change_set.undo(0)

    assert look(tree) == before
    assert change_set.conflicts == ()


def test_a_directory_that_somebody_uses_stays(store: DiskStore, tree: Path) -> None:
    """Removing a directory of ours must not take a person's file with it."""
    change_set = store.begin("tx")
    change_set.mkdir("made")
    (tree / "made/mine.txt").write_bytes(b"by a person")

    change_set.undo(0)

    assert (tree / "made/mine.txt").read_bytes() == b"by a person"
    assert [(c.path, c.kept) for c in change_set.conflicts] == [("made", None)]


def test_a_moved_file_saved_under_its_new_name_goes_back_with_what_was_saved(store: DiskStore, tree: Path) -> None:
    """It is the same file to the person who saved it."""
    change_set = store.begin("tx")
    change_set.move("top.txt", "renamed.txt")
    save(tree / "renamed.txt", b"by a person")

    change_set.undo(0)

    assert (tree / "top.txt").read_bytes() == b"by a person"
    assert not (tree / "renamed.txt").exists()
    assert [c.path for c in change_set.conflicts] == ["top.txt"]


def test_a_mode_that_somebody_set_stays(store: DiskStore, tree: Path) -> None:
    """A person who changed the mode meant it."""
    change_set = store.begin("tx")
    change_set.chmod("tool.sh", 0o700)
    (tree / "tool.sh").chmod(0o711)

    change_set.undo(0)

    assert (tree / "tool.sh").stat().st_mode & 0o777 == 0o711
    assert [c.path for c in change_set.conflicts] == ["tool.sh"]


@pytest.fixture
def just_before(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Lets something happen right before a step on the disk root."""

    def arrange(step: str, happening: Callable[[], object]) -> None:
        real = getattr(DiskRoot, step)

        def stepping(*arguments: Any) -> Any:
            monkeypatch.setattr(DiskRoot, step, real)
            happening()
            return real(*arguments)

        monkeypatch.setattr(DiskRoot, step, stepping)

    return arrange


def test_a_save_in_the_moment_of_the_exchange_wins(
    store: DiskStore, tree: Path, just_before: Any, leftovers: Any
) -> None:
    """What comes out must be what was expected; otherwise it goes back in, and the change fails."""
    change_set = store.begin("tx")
    change_set.put("src/a/1.txt", b"first")
    just_before("swap", lambda: save(tree / "top.txt", b"by a person"))

    with pytest.raises(FileConflict) as refused:
        change_set.put("top.txt", b"by the tool")

    assert refused.value.path == "top.txt"
    assert (tree / "top.txt").read_bytes() == b"by a person"
    assert change_set.position == 1
    change_set.undo(0)
    assert leftovers(tree) == []
    assert not (state_of(tree) / "conflicts").exists()


def test_a_file_deleted_in_the_moment_of_the_exchange(store: DiskStore, tree: Path, just_before: Any) -> None:
    """There is nothing to exchange with any more."""
    change_set = store.begin("tx")
    just_before("swap", lambda: (tree / "top.txt").unlink())

    with pytest.raises(FileConflict):
        change_set.put("top.txt", b"by the tool")

    assert not (tree / "top.txt").exists()


def test_a_file_made_in_the_moment_of_ours_wins(store: DiskStore, tree: Path, just_before: Any) -> None:
    """Creating never replaces."""
    change_set = store.begin("tx")
    just_before("place", lambda: save(tree / "new.txt", b"by a person"))

    with pytest.raises(FileConflict):
        change_set.put("new.txt", b"by the tool")
    just_before("place", lambda: save(tree / "other.txt", b"by a person"))
    with pytest.raises(FileExistsError):
        change_set.put("other.txt", b"by the tool", exclusive=True)

    change_set.undo(0)
    assert (tree / "new.txt").read_bytes() == (tree / "other.txt").read_bytes() == b"by a person"


def test_a_save_in_the_moment_of_a_delete_wins(store: DiskStore, tree: Path, just_before: Any) -> None:
    """The person's version is not what was to be deleted."""
    change_set = store.begin("tx")
    just_before("take", lambda: save(tree / "top.txt", b"by a person"))

    with pytest.raises(FileConflict):
        change_set.delete("top.txt")

    assert (tree / "top.txt").read_bytes() == b"by a person"
    assert change_set.position == 0


def test_a_directory_filled_in_the_moment_of_its_removal_stays(store: DiskStore, tree: Path, just_before: Any) -> None:
    """A directory is removed only as long as it is empty."""
    change_set = store.begin("tx")
    just_before("take", lambda: (tree / "empty/inner/late.txt").write_bytes(b"late"))

    with pytest.raises(OSError, match="not empty"):
        change_set.delete("empty/inner")

    assert (tree / "empty/inner/late.txt").read_bytes() == b"late"


def test_writing_to_the_replaced_file_stops_the_commit(store: DiskStore, tree: Path, look: Any) -> None:
    """Whoever had the old file open saved into it: rolling back gives them that, committing would lose it."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    with (state_of(tree) / "staged/tx.1").open("ab") as old:
        old.write(b"and more")

    with pytest.raises(FileConflict):
        change_set.prepare()
    change_set.undo(0)

    assert (tree / "top.txt").read_bytes() == b"top\r\nand more"


def test_only_the_version_that_was_read_is_overwritten(store: DiskStore, tree: Path) -> None:
    """A caller that has read a file can say which version it means."""
    seen = store.node("top.txt")
    save(tree / "top.txt", b"by a person")
    change_set = store.begin("tx")

    with pytest.raises(FileConflict):
        change_set.put("top.txt", b"by the tool", expected=seen.identity)
    change_set.put("top.txt", b"by the tool", expected=store.node("top.txt").identity)

    assert (tree / "top.txt").read_bytes() == b"by the tool"


def test_a_directory_moved_away_makes_a_rollback_fail_and_keeps_the_old_file(store: DiskStore, tree: Path) -> None:
    """The rest is rolled back, and what could not go back is kept aside and named."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    change_set.put("src/a/1.txt", b"by the tool")
    (tree / "src/a").rename(tree / "src/elsewhere")

    with pytest.raises(RollbackFailed) as failed:
        change_set.undo(0)

    assert failed.value.paths == ("src/a/1.txt",)
    assert (tree / "top.txt").read_bytes() == b"top\r\n"
    assert kept(tree) == [b"1 " * 45]
    assert not store.pending()


def test_a_lost_preimage_is_told(store: DiskStore, tree: Path) -> None:
    """Somebody cleaned up the state: then nobody can say that the file is what it was."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    for path in (state_of(tree) / "staged").iterdir():
        path.unlink()

    with pytest.raises(RollbackFailed) as failed:
        change_set.undo(0)

    assert failed.value.paths == ("top.txt",)
    assert not store.pending()


def test_a_rollback_that_cannot_go_on_can_be_repeated(
    store: DiskStore, tree: Path, look: Callable[[Path], State], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a broken disk stops, recovery finishes."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    change_set.put("src/a/1.txt", b"by the tool")
    change_set.put("src/a/2.txt", b"by the tool")

    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(DiskRoot, "swap", broken)
        with pytest.raises(RollbackFailed) as failed:
            change_set.undo(0)
    assert failed.value.paths == ("src/a/2.txt", "src/a/1.txt", "top.txt")
    assert store.pending()

    assert [one.outcome for one in store.recover(lambda _: False)] == ["undone"]
    assert look(tree) == before
    assert not store.pending()


def test_a_filesystem_without_exchange_is_found_out(
    tree: Path, open_store: Any, look: Callable[[Path], State], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first refusal of the kernel switches to links and renames, without anybody noticing."""
    before = look(tree)

    def refused(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(_root, "renameat2", refused)
    store = open_store(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"by the tool")
    change_set.put("new.txt", b"by the tool")
    change_set.move("src/a", "a")
    assert (tree / "top.txt").read_bytes() == b"by the tool"

    change_set.undo(0)

    assert look(tree) == before
