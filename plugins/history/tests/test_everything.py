"""A checkpoint of everything brings back what nobody's call has touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plugins.history.tests.conftest import fsck, git
from tests.states import state_of
from tests.workspace.test_undo import tree
from tests.workspace.working import call

from wink.errors import CheckpointExists, HistoryDamaged, NothingToUndo, UndoConflict
from wink.filesystem import COPIED_BYTES
from wink.workspace import Workspace


def test_what_people_changed_and_deleted_comes_back(workspace: Workspace, root: Path, store: Path) -> None:
    """Nobody recorded that; only looking at everything beforehand helps."""
    (root / "src").mkdir()
    (root / "src/a.py").write_bytes(b"one\r\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o751)
    (root / "link").symlink_to("src/a.py")
    (root / "empty").mkdir()
    (root / "noise").write_bytes(os.urandom(200_000))
    before = tree(root)

    assert workspace.checkpoint("all", full=True) == ()

    (root / "src/a.py").write_text("two")
    (root / "run.sh").unlink()
    (root / "link").unlink()
    (root / "link").write_text("now a file")
    (root / "empty").rmdir()
    (root / "noise").chmod(0o600)
    changed = tree(root)
    done = workspace.restore("all")
    assert tree(root) == before
    assert {change.path for change in done.changes} == {"src/a.py", "run.sh", "link", "empty", "noise"}
    workspace.undo()
    assert tree(root) == changed
    workspace.redo()
    assert tree(root) == before
    fsck(store)


def saved_unseen(path: Path, text: str, mode: int | None = None) -> None:
    """Save as many characters as there are, and set the time back, as `cp -p` does."""
    found = path.stat()
    assert len(text) == found.st_size
    path.write_text(text)
    if mode is not None:
        path.chmod(mode)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_a_save_that_kept_size_and_time_is_no_secret(workspace: Workspace, root: Path) -> None:
    """Also of a file that a call had made, and so knew by these two; with a new mode or without."""
    for name in ("a", "b"):
        (root / name).write_text("before")
        call(workspace, lambda files, _, name=name: files.write(f"of call {name}", "before"))
    before = tree(root)
    workspace.checkpoint("all", full=True)
    for name in ("a", "of call a"):
        saved_unseen(root / name, "after!")
    for name in ("b", "of call b"):
        saved_unseen(root / name, "after!", 0o600)
    after = tree(root)

    done = workspace.restore("all")

    assert tree(root) == before
    assert len(done.changes) == 4
    workspace.undo()
    assert tree(root) == after


def test_a_save_that_kept_size_and_time_keeps_a_file_that_a_call_made(workspace: Workspace, root: Path) -> None:
    """It is a person's now, and was not there when the checkpoint was made."""
    workspace.checkpoint("all", full=True)
    call(workspace, lambda files, _: (files.write("new", "before"), files.write("other", "1")))
    saved_unseen(root / "new", "after!")

    assert workspace.restore("all").kept == ("new",)
    assert tree(root).keys() == {"new"}


def test_calls_go_back_as_with_any_checkpoint(workspace: Workspace, root: Path) -> None:
    """Files that they made go, and files on which a person came after them return too."""
    (root / "a").write_text("0")
    call(workspace, lambda files, _: files.write("b", "0"))
    before = tree(root)
    workspace.checkpoint("all", full=True)
    call(workspace, lambda files, _: (files.write("a", "1"), files.write("new/c", "1"), files.delete("b")))
    (root / "a").write_text("theirs")

    workspace.restore("all")

    assert tree(root) == before


def test_what_others_have_made_since_stays(workspace: Workspace, root: Path) -> None:
    """A checkpoint knows nothing of it, and it may be a day's work."""
    workspace.checkpoint("all", full=True)
    (root / "mine").write_text("theirs")
    call(workspace, lambda files, _: files.write("ours", "1"))
    (root / "ours").write_text("and a person's")
    call(workspace, lambda files, _: files.write("d/ours too", "1"))
    (root / "d/mine too").write_text("theirs")

    done = workspace.restore("all")

    assert sorted(done.kept) == ["d", "ours"]
    assert tree(root).keys() == {"mine", "ours", "d", "d/mine too"}


def test_nothing_to_restore_is_said(workspace: Workspace, root: Path) -> None:
    """A call that changes nothing would only be one more to undo."""
    (root / "a").write_text("0")
    workspace.checkpoint("all", full=True)

    with pytest.raises(NothingToUndo):
        workspace.restore("all")


def test_dry_run_changes_nothing(workspace: Workspace, root: Path) -> None:
    """It shows what would come back."""
    (root / "a").write_text("old\n")
    workspace.checkpoint("all", full=True)
    (root / "a").write_text("new\n")

    done = workspace.restore("all", dry_run=True)

    assert (root / "a").read_text() == "new\n"
    assert done.call is None
    assert "-new\n+old\n" in done.changes[0].diff()


def test_only_some_paths_come_back(workspace: Workspace, root: Path) -> None:
    """The others stay as a person left them."""
    for name in ("a", "d/b", "d/c"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("0")
    workspace.checkpoint("all", full=True)
    for name in ("a", "d/b", "d/c"):
        (root / name).write_text("1")

    workspace.restore("all", "d")

    assert [(root / name).read_text() for name in ("a", "d/b", "d/c")] == ["1", "0", "0"]


def test_ignored_files_are_taken_in_up_to_a_budget(workspace: Workspace, root: Path) -> None:
    """A secrets file is worth it, a directory full of downloaded packages is not; the latter must never be deleted."""
    (root / ".gitignore").write_text(".env\nbuild/\n")
    (root / ".env").write_text("SECRET=1")
    (root / "build").mkdir()
    (root / "build/big").write_bytes(b"x" * 5000)

    missing = workspace.checkpoint("all", full=True, ignored_bytes=1000)

    assert [path for path, _ in missing] == ["build/big"]
    (root / ".env").unlink()
    (root / "build/big").write_text("rebuilt")
    workspace.restore("all")
    assert (root / ".env").read_text() == "SECRET=1"
    assert (root / "build/big").read_text() == "rebuilt"


def test_what_cannot_be_taken_in_is_listed(workspace: Workspace, root: Path) -> None:
    """Nobody may find out at the restore."""
    os.mkfifo(root / "fifo")
    with (root / "large").open("wb") as file:
        file.truncate(COPIED_BYTES + 1)
    (root / ".git").mkdir()
    (root / ".git/config").write_text("")

    missing = workspace.checkpoint("all", full=True)

    assert dict(missing) == {
        "fifo": "is neither a file, a directory nor a link",
        "large": "is larger than 64 MiB",
    }
    (root / ".git/config").write_text("theirs")
    with pytest.raises(NothingToUndo):
        workspace.restore("all")


def test_second_checkpoint_reads_only_what_changed(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may then be made often."""
    for number in range(20):
        (root / f"{number}").write_text(str(number))
        os.utime(root / f"{number}", (1, 1))
    settled = 0

    def later() -> int:
        return settled

    monkeypatch.setattr("wink_history._scan.time.time_ns", lambda: (1 << 62) + later())
    workspace.checkpoint("one", full=True)
    (root / "3").write_text("changed")
    read: list[str] = []
    monkeypatch.setattr("wink_history._scan._read", _noting(read))

    workspace.checkpoint("two", full=True)

    assert set(read) == {"3"}
    (root / "3").unlink()
    (root / "4").unlink()
    workspace.restore("two")
    assert ((root / "3").read_text(), (root / "4").read_text()) == ("changed", "4")


def _noting(read: list[str]) -> object:
    from wink_history import _scan

    original = _scan._read

    def noting(writer: object, path: str, *more: object) -> object:
        read.append(path)
        return original(writer, path, *more)  # type: ignore[arg-type]

    return noting


def test_name_is_given_once(workspace: Workspace) -> None:
    """A checkpoint stays what it is."""
    workspace.checkpoint("one")
    with pytest.raises(CheckpointExists):
        workspace.checkpoint("one", full=True)
    workspace.checkpoint("two", full=True)
    with pytest.raises(CheckpointExists):
        workspace.checkpoint("two")


def test_names_that_git_refuses_for_a_reference(workspace: Workspace, root: Path, store: Path) -> None:
    """They are good names for checkpoints all the same."""
    (root / "a").write_text("0")
    for name in ("a..b", "x.lock", "y."):
        workspace.checkpoint(name, full=True)

    fsck(store)
    git(store, "gc", "--prune=now", "--quiet")
    (root / "a").unlink()
    workspace.restore("a..b")
    assert (root / "a").read_text() == "0"


def test_damaged_listing_is_one_clear_error(workspace: Workspace, root: Path, store: Path) -> None:
    """Nothing may be restored by a list that somebody else wrote."""
    (root / "a").write_text("0")
    workspace.checkpoint("all", full=True)
    (root / "a").write_text("1")
    for pack in store.glob("objects/pack/*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(bytes(pack.stat().st_size))

    with pytest.raises(HistoryDamaged):
        workspace.restore("all")

    assert (root / "a").read_text() == "1"


def test_directory_in_the_place_of_a_file(workspace: Workspace, root: Path) -> None:
    """With somebody's files in it, it is not removed for a file that was there once."""
    (root / "a").write_text("0")
    workspace.checkpoint("all", full=True)
    (root / "a").unlink()
    (root / "a").mkdir()
    (root / "a/theirs").write_text("1")
    before = tree(root)

    with pytest.raises(UndoConflict, match="a is a directory that somebody else put something into"):
        workspace.restore("all")
    assert tree(root) == before
    (root / "a/theirs").unlink()
    workspace.restore("all")

    assert (root / "a").read_text() == "0"


def test_progress_is_told(workspace: Workspace, root: Path) -> None:
    """Large workspaces take a while."""
    (root / "a").write_text("0")
    (root / "b").mkdir()
    told: list[tuple[int, str]] = []

    workspace.checkpoint("all", full=True, progress=lambda count, path: told.append((count, path)))

    assert told[:2] == [(0, "a"), (1, "b")]


names = st.sampled_from(("a", "b", "d", "d/a", "d/e", "d/e/x", ".gitattributes", "\udcff", "new\nline"))
states = st.dictionaries(names, st.one_of(st.none(), st.sampled_from((b"", b"x", b"y" * 3000)), st.just("a")))


def make(root: Path, state: dict[str, object]) -> None:
    for path, content in sorted(state.items()):
        place = root / path
        if not place.parent.is_dir() or place.parent.is_symlink() or os.path.lexists(place):
            continue
        if content is None:
            place.mkdir()
        elif isinstance(content, str):
            place.symlink_to(content)
        else:
            place.write_bytes(content)  # type: ignore[arg-type]


def empty(root: Path, paths: list[str]) -> None:
    for path in sorted(paths, reverse=True):
        place = root / path
        if place.is_dir() and not place.is_symlink():
            if not os.listdir(place):
                place.rmdir()
        elif os.path.lexists(place):
            place.unlink()


@given(states, st.lists(names), states)
@settings(max_examples=25, deadline=None)
def test_restored_is_what_there_was(
    tmp_path_factory: pytest.TempPathFactory, first: dict[str, object], gone: list[str], then: dict[str, object]
) -> None:
    """And what others made besides; or nothing has happened."""
    root = tmp_path_factory.mktemp("root")
    make(root, first)
    with Workspace.open(root) as workspace:
        workspace.checkpoint("all", full=True)
        before = tree(root)
        empty(root, gone)
        make(root, then)
        now = tree(root)
        try:
            workspace.restore("all")
        except UndoConflict:
            assert tree(root) == now
            return
        except NothingToUndo:
            assert before.items() <= now.items()
            return
        assert tree(root) == {**{path: one for path, one in now.items() if path not in before}, **before}
        workspace.undo()
        assert tree(root) == now
    fsck(state_of(root) / "store.git")
