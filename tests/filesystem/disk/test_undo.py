"""Changes take effect at once, and taking them back leaves no trace."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.states import state_of

from wink.errors import FileConflict, PathRefused, TransactionError
from wink.filesystem.disk import _copies, _log
from wink.filesystem.disk._change_set import DiskChangeSet
from wink.filesystem.disk._root import DiskRoot
from wink.filesystem.disk._store import DiskStore

from .conftest import State, denied
from .test_crash import work

ATTRIBUTE = "user.wink.test"


def test_everything_at_once_is_taken_back(
    store: DiskStore, tree: Path, look: Callable[[Path], State], leftovers: Callable[[Path], list[str]]
) -> None:
    """Bytes, modes, times, inodes, links and empty directories are as they were, of directories too."""
    before = look(tree)
    change_set = store.begin("tx")
    work(change_set)
    assert look(tree) != before

    change_set.undo(0)

    assert look(tree) == before
    assert leftovers(tree) == []
    assert change_set.conflicts == ()


def test_beginning_touches_nothing(store: DiskStore, tree: Path) -> None:
    """A call that changes nothing leaves nothing behind."""
    change_set = store.begin("tx")
    staging = change_set.stage()
    staging.write(b"never published")
    staging.discard()
    change_set.prepare()
    change_set.publish()
    store.lease(0)
    store.unlease()

    assert not (tree / ".wink").exists()
    assert not store.pending()
    assert store.recover(lambda _: False) == ()


def test_a_savepoint_takes_back_only_what_came_after_it(
    store: DiskStore, tree: Path, look: Callable[[Path], State]
) -> None:
    """A nested call that fails must not cost the outer one its changes."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"outer")
    position = change_set.position
    half_way = look(tree)
    change_set.put("top.txt", b"inner")
    change_set.delete("src", recursive=True)
    change_set.mkdir("src")

    change_set.undo(position)
    assert look(tree) == half_way
    change_set.put("src/a/1.txt", b"later")
    change_set.undo(0)

    assert look(tree) == before


def test_published_changes_stay_and_cannot_be_undone(
    store: DiskStore, tree: Path, leftovers: Callable[[Path], list[str]]
) -> None:
    """Once the journal is gone the transaction is over; what it replaced is kept until it is discarded."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"new")
    change_set.delete("src/a", recursive=True)
    (change, *_) = change_set.changes()
    change_set.prepare()
    change_set.publish()

    assert (tree / "top.txt").read_bytes() == b"new"
    assert leftovers(tree) == ["tx.1", "tx.2"]
    assert change.diff().splitlines()[-2:] == ["-top", "+new"] or change.before.content() == b"top\r\n"
    assert store.recover(lambda tx: tx == "tx") == ()
    with pytest.raises(TransactionError):
        change_set.put("top.txt", b"late")

    store.discard_preimages("tx")
    assert leftovers(tree) == []
    assert change.before.content() is None
    assert change.after.content() == b"new"


def test_an_overwritten_file_keeps_its_attributes(store: DiskStore, tree: Path) -> None:
    """New content in an old file: mode, owner and extended attributes belong to the name."""
    os.setxattr(tree / "tool.sh", ATTRIBUTE, b"kept")
    os.chown(tree / "tool.sh", os.getuid(), os.getgid())
    change_set = store.begin("tx")

    node = change_set.put("tool.sh", b"new")

    assert (tree / "tool.sh").stat().st_mode & 0o777 == node.mode == 0o750
    assert os.getxattr(tree / "tool.sh", ATTRIBUTE) == b"kept"
    assert store.node("tool.sh") == node
    change_set.put("tool.sh", b"newer", mode=0o640)
    assert (tree / "tool.sh").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("is_readable", [True, False])
def test_a_file_that_may_not_be_opened_keeps_its_attributes_or_stays(
    store: DiskStore, tree: Path, monkeypatch: pytest.MonkeyPatch, is_readable: bool
) -> None:
    """Where they can be read all the same they follow the name; where they cannot, nothing is written."""
    os.setxattr(tree / "tool.sh", ATTRIBUTE, b"kept")
    really_open, really_get = os.open, os.getxattr

    def refused(path: object, flags: int, *arguments: object, **options: object) -> int:
        if path == "tool.sh" and not flags & os.O_PATH:
            raise PermissionError(13, "Permission denied", path)
        return really_open(path, flags, *arguments, **options)  # type: ignore[arg-type]

    def hidden(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    change_set = store.begin("tx")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refused)
        if not is_readable:
            patched.setattr(os, "getxattr", hidden)
            with pytest.raises(PermissionError):
                change_set.put("tool.sh", b"new")
        else:
            change_set.put("tool.sh", b"new")

    assert (tree / "tool.sh").read_bytes() == (b"new" if is_readable else b"#!/bin/sh\n")
    assert really_get(tree / "tool.sh", ATTRIBUTE) == b"kept"


def test_a_preimage_that_the_disk_does_not_give_is_not_taken_for_gone(
    store: DiskStore, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an undo makes a copy of what it has, or says that it is not kept."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"new")
    (change,) = change_set.changes(0)
    change_set.prepare()
    change_set.publish()
    assert change.before is not None
    assert change.before.kept is not None
    staged = str(change.before.kept.staged)
    with (stream := store.open_preimage(staged)) or pytest.fail("it is not kept"):
        assert stream.read()
    really_open = os.open

    def broken(path: object, *arguments: object, **options: object) -> int:
        if path == staged:
            raise OSError(5, "Input/output error")
        return really_open(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", broken)
    with pytest.raises(OSError, match="Input/output error"):
        store.open_preimage(staged)


def test_new_files_get_the_mode_that_the_umask_leaves(store: DiskStore, tree: Path) -> None:
    """As if a plain program had made them."""
    old = os.umask(0o027)
    try:
        change_set = store.begin("tx")
        change_set.put("new.txt", b"")
        change_set.put("given.txt", b"", mode=0o666)
        change_set.mkdir("made")
    finally:
        os.umask(old)

    assert (tree / "new.txt").stat().st_mode & 0o7777 == 0o640
    assert (tree / "given.txt").stat().st_mode & 0o7777 == 0o666
    assert (tree / "made").stat().st_mode & 0o7777 == 0o750


def test_special_bits_do_not_survive_new_content(store: DiskStore, tree: Path) -> None:
    """The kernel takes them away from whoever writes to a program, so an exchange must not keep them."""
    (tree / "tool.sh").chmod(0o4755)
    change_set = store.begin("tx")

    change_set.put("tool.sh", b"evil")
    assert (tree / "tool.sh").stat().st_mode & 0o7777 == 0o755

    change_set.undo(0)
    assert (tree / "tool.sh").stat().st_mode & 0o7777 == 0o4755


def test_the_other_names_of_a_file_keep_its_content_and_mode(
    store: DiskStore, tree: Path, look: Callable[[Path], State]
) -> None:
    """They may lie outside, in a store that other projects share; a rollback makes them one file again."""
    before = look(tree)
    change_set = store.begin("tx")

    change_set.put("one-name.txt", b"new content", mode=0o600)
    assert (tree / "other-name.txt").read_bytes() == b"linked"
    assert look(tree)["other-name.txt"][0] == before["other-name.txt"][0]
    (content, mode) = next((c.before.content(), c.after.mode) for c in change_set.changes() if c.path == "one-name.txt")
    assert (content, mode) == (b"linked", 0o600)

    change_set.undo(0)
    assert look(tree) == before


def test_a_mode_is_not_changed_under_other_names(
    store: DiskStore, tree: Path, look: Callable[[Path], State], leftovers: Callable[[Path], list[str]]
) -> None:
    """The name gets a file of its own, with the same content and times."""
    before = look(tree)
    change_set = store.begin("tx")

    change_set.chmod("one-name.txt", 0o600)

    now = look(tree)
    assert now["other-name.txt"][0] == before["other-name.txt"][0]
    assert now["one-name.txt"][0] & 0o777 == 0o600
    assert now["one-name.txt"][1] == before["one-name.txt"][1]
    assert now["one-name.txt"][4] == b"linked"
    change_set.undo(0)
    assert look(tree) == before
    assert leftovers(tree) == []


@pytest.mark.parametrize("change", ["put", "chmod"])
def test_a_file_with_other_names_is_never_written_in_place(
    store: DiskStore, tree: Path, look: Callable[[Path], State], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Where its name cannot be exchanged nothing is left but to refuse."""
    before = look(tree)
    change_set = store.begin("tx")
    with monkeypatch.context() as patch:
        patch.setattr(DiskRoot, "swap", denied)
        with pytest.raises(PathRefused, match="other names"):
            change_set.put("one-name.txt", b"x") if change == "put" else change_set.chmod("one-name.txt", 0o600)

    change_set.undo(0)
    assert look(tree) == before


@pytest.mark.parametrize("act", ["put", "put much", "delete", "delete all", "move onto", "rewrite"])
def test_a_file_that_is_open_for_writing_is_left_alone(
    store: DiskStore,
    tree: Path,
    look: Callable[[Path], State],
    leftovers: Callable[[Path], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    act: str,
) -> None:
    """Whoever has it open goes on writing, when nobody can tell: into a file that nobody sees, or over ours."""
    before = look(tree)
    change_set = store.begin("tx")
    with (tree / "src/a/1.txt").open("ab") as theirs, monkeypatch.context() as patch:
        if act == "rewrite":
            patch.setattr(DiskRoot, "swap", denied)
        with pytest.raises(FileConflict, match="open for writing in another program") as refused:
            if act == "delete":
                change_set.delete("src/a/1.txt")
            elif act == "delete all":
                change_set.delete("src", recursive=True)
            elif act == "move onto":
                change_set.move("top.txt", "src/a/1.txt", overwrite=True)
            else:
                change_set.put("src/a/1.txt", b"x" * (400_000 if act == "put much" else 1))
        theirs.write(b"and more")

    assert refused.value.path == "src/a/1.txt"
    change_set.undo(0)
    now = look(tree)
    assert now["src/a/1.txt"][4] == b"1 " * 45 + b"and more"
    assert now | {"src/a/1.txt": 0} == before | {"src/a/1.txt": 0}
    assert leftovers(tree) == []


@pytest.mark.parametrize("act", ["put", "delete", "rewrite"])
@pytest.mark.parametrize("is_saved", [False, True])
def test_a_writer_that_goes_in_a_moment_is_waited_for(
    store: DiskStore, tree: Path, monkeypatch: pytest.MonkeyPatch, act: str, is_saved: bool
) -> None:
    """A program that another thread just starts has for a moment what this one has open: so a call's own file was refused to the next."""
    target = tree / "src/a/1.txt"
    theirs, pauses = target.open("ab"), []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            theirs.write(b"and more" if is_saved else b"")
            theirs.close()

    change_set = store.begin("tx")
    with monkeypatch.context() as patch:
        patch.setattr("wink.filesystem.disk._content.time.sleep", pause)
        if act == "rewrite":
            patch.setattr(DiskRoot, "swap", denied)
        with pytest.raises(FileConflict) if is_saved else nullcontext():
            change_set.delete("src/a/1.txt") if act == "delete" else change_set.put("src/a/1.txt", b"x")

    assert len(pauses) == 3
    change_set.publish()
    if is_saved:
        assert target.read_bytes() == b"1 " * 45 + b"and more"
    else:
        assert target.exists() == (act != "delete")
        assert act == "delete" or target.read_bytes() == b"x"


def test_a_file_that_is_only_read_elsewhere_is_replaced(store: DiskStore, tree: Path) -> None:
    """Editors, indexers and backups read all the time."""
    with (tree / "top.txt").open("rb") as theirs:
        change_set = store.begin("tx")
        change_set.put("top.txt", b"x")
        change_set.publish()
        assert theirs.read() == b"top\r\n"


def test_a_write_in_place_keeps_aside_what_somebody_wrote(
    store: DiskStore, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place there is no inode to tell by; time and content do."""
    change_set = store.begin("tx")
    with monkeypatch.context() as patch:
        patch.setattr(DiskRoot, "swap", denied)
        change_set.put("top.txt", b"by the tool")
    (tree / "top.txt").write_bytes(b"by a person")

    change_set.undo(0)

    assert (tree / "top.txt").read_bytes() == b"top\r\n"
    assert [path.read_bytes() for path in (state_of(tree) / "conflicts").iterdir()] == [b"by a person"]


def test_streams_are_published_at_once(store: DiskStore, tree: Path, leftovers: Callable[[Path], list[str]]) -> None:
    """However large: nobody sees half a file."""
    change_set = store.begin("tx")
    large, small = change_set.stage(), change_set.stage()
    for _ in range(20):
        assert large.write(b"x" * 50_000) == 50_000
    small.write(b"small")
    assert (tree / "big.bin").stat().st_size == 300_000

    change_set.put("big.bin", large)
    change_set.put("src/new.bin", small)
    unused = change_set.stage()
    unused.write(b"y" * 500_000)
    unused.discard()
    for staging in (large, small):
        staging.discard()

    assert (tree / "big.bin").stat().st_size == 1_000_000
    assert (tree / "src/new.bin").read_bytes() == b"small"
    change_set.undo(0)
    assert leftovers(tree) == []


def test_a_failed_operation_leaves_nothing_of_itself(
    store: DiskStore, tree: Path, look: Callable[[Path], State], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk stops one change, and neither those before it nor the rollback."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"first")
    first = look(tree)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(_log, "write_all", full)
        patch.setattr("wink.filesystem.disk._operations.write_all", full)
        with pytest.raises(OSError, match="No space"):
            change_set.put("src/a/1.txt", b"second")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        for attempt in (
            lambda: change_set.put("src/a/1.txt", b"second"),
            lambda: change_set.put("src/new.txt", b"second"),
            lambda: change_set.put("one-name.txt", b"second"),
            lambda: change_set.delete("src/a/1.txt"),
            lambda: change_set.move("src/a/1.txt", "x"),
            lambda: change_set.mkdir("made"),
            lambda: change_set.chmod("tool.sh", 0o600),
            lambda: change_set.symlink("new-link", "src"),
        ):
            with pytest.raises(OSError, match="No space"):
                attempt()
        assert look(tree) == first
        assert change_set.position == 1
        change_set.undo(0)

    assert look(tree) == before


def test_a_mode_of_nothing_does_not_stop_a_rollback(
    store: DiskStore, tree: Path, look: Callable[[Path], State]
) -> None:
    """Changing a mode needs no right to read."""
    before = look(tree)
    change_set = store.begin("tx")
    change_set.chmod("tool.sh", 0)
    change_set.chmod("src", 0o755)
    change_set.chmod("dir-link", 0o700)
    assert (tree / "src/a").stat().st_mode & 0o777 == 0o700

    change_set.undo(0)

    assert look(tree) == before


def test_links_are_made_only_inside(store: DiskStore, tree: Path) -> None:
    """A link is a path that somebody else will follow."""
    change_set = store.begin("tx")
    change_set.symlink("src/up", "../top.txt")
    assert store.read("src/up")[0] == b"top\r\n"

    for target in ("/etc/passwd", "../../x", "a/../../../x", ""):
        with pytest.raises(PathRefused):
            change_set.symlink("src/bad", target)


def test_a_directory_is_not_moved_into_itself(store: DiskStore) -> None:
    """Nor over another one."""
    change_set = store.begin("tx")
    with pytest.raises(OSError, match="Invalid"):
        change_set.move("src", "src/a/b")
    with pytest.raises(FileExistsError):
        change_set.move("src/a", "src/b", overwrite=True)
    with pytest.raises(FileExistsError):
        change_set.move("top.txt", "tool.sh")
    with pytest.raises(OSError, match="not empty"):
        change_set.delete("src")
    assert change_set.position == 0


@pytest.fixture
def elsewhere(tree: Path, monkeypatch: pytest.MonkeyPatch, variant: dict[str, Any], open_store: Any) -> DiskStore:
    """A store whose state is on another mount than the tree: no rename leads from one to the other."""
    from wink.filesystem.disk._root import DiskRoot

    store: DiskStore = open_store(tree, **variant)
    real_take, real_swap, real_place, real_link = DiskRoot.take, DiskRoot.swap, DiskRoot.place, os.link

    def crosses(root: DiskRoot, *fds: int) -> bool:
        own = {root.state.staged, root.state.conflicts()}
        return len({fd in own for fd in fds}) > 1

    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    def take(root: DiskRoot, fd: int, name: str, staged: str) -> None:
        refuse()

    def swap(root: DiskRoot, one_fd: int, one: str, two_fd: int, two: str) -> bool:
        refuse() if crosses(root, one_fd, two_fd) else None
        return real_swap(root, one_fd, one, two_fd, two)

    def place(root: DiskRoot, from_fd: int, source: str, to_fd: int, target: str) -> None:
        refuse() if crosses(root, from_fd, to_fd) else None
        real_place(root, from_fd, source, to_fd, target)

    def link(*arguments: Any, src_dir_fd: int, dst_dir_fd: int, **options: Any) -> None:
        if "lease" not in arguments:
            refuse() if crosses(store._root, src_dir_fd, dst_dir_fd) else None
        real_link(*arguments, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, **options)

    monkeypatch.setattr(DiskRoot, "take", take)
    monkeypatch.setattr(DiskRoot, "swap", swap)
    monkeypatch.setattr(DiskRoot, "place", place)
    monkeypatch.setattr(os, "link", link)
    del real_take
    return store


def test_a_state_on_another_mount_costs_copies_and_nothing_else(
    elsewhere: DiskStore, tree: Path, look: Callable[[Path], State], leftovers: Callable[[Path], list[str]]
) -> None:
    """Deleted files come back as new inodes; all else is as it was."""
    before = look(tree)
    change_set = elsewhere.begin("tx")
    work_on_another_mount(change_set)
    told = {change.path: change.kind for change in change_set.changes()}
    assert (tree / "made/1.txt").read_bytes() == b"new content"
    assert told["src/a/1.txt"] == "deleted"

    change_set.undo(0)

    assert plain(look(tree)) == plain(before)
    assert leftovers(tree) == []
    assert change_set.conflicts == ()


def plain(state: State) -> dict[str, tuple[object, ...]]:
    """Modes, times and contents."""
    return {name: (*value[:2], value[-1]) for name, value in state.items()}


def work_on_another_mount(change_set: DiskChangeSet) -> None:
    """One of each kind that copies."""
    change_set.put("top.txt", b"in place")
    change_set.put("src/a/new.txt", b"new")
    change_set.put("src/a/1.txt", b"new content", mode=0o600)
    change_set.mkdir("made")
    change_set.move("src/a/1.txt", "made/1.txt")
    change_set.symlink("new-link", "src")
    change_set.delete("link")
    change_set.delete("empty", recursive=True)
    change_set.delete("src", recursive=True)
    large = change_set.stage()
    large.write(b"z" * 400_000)
    change_set.put("big.bin", large)
    change_set.move("tool.sh", "top.txt", overwrite=True)


def test_crashes_on_another_mount(
    elsewhere: DiskStore, tree: Path, look: Callable[[Path], State], faults: Any, leftovers: Any
) -> None:
    """Copies are taken back after a crash at any call, too."""
    from .conftest import Crash

    elsewhere._root.state.create()
    before = plain(look(tree))
    point, done = 0, False
    while not done:
        faults.arm(point)
        change_set = elsewhere.begin(f"tx{point}")
        try:
            work_on_another_mount(change_set)
            change_set.undo(0)
            done = True
        except Crash:
            change_set._log.leave()
        faults.arm(point % 17)
        try:
            elsewhere.recover(lambda _: False)
        except Crash:
            pass
        faults.arm(None)
        elsewhere._root.active.clear()
        recovered = elsewhere.recover(lambda _: False)
        after = plain(look(tree))
        assert after == before, (
            point,
            {k: (before.get(k), after.get(k)) for k in before | after if before.get(k) != after.get(k)},
        )
        assert not any(one.conflicts for one in recovered), (point, recovered)
        assert leftovers(tree) == []
        point += 1


def test_a_closed_directory_does_not_stop_a_writable_file(
    store: DiskStore, tree: Path, look: Callable[[Path], State], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where names cannot be changed the file itself still can."""
    from wink.filesystem.disk._root import DiskRoot

    def refuse(*_: object) -> bool:
        raise PermissionError(13, "Permission denied")

    before = look(tree)
    change_set = store.begin("tx")
    with monkeypatch.context() as patch:
        patch.setattr(DiskRoot, "swap", refuse)
        change_set.put("top.txt", b"in place")
    assert (tree / "top.txt").stat().st_ino == before["top.txt"][2]
    change_set.undo(0)

    assert look(tree) == before


def test_a_file_changed_while_it_is_copied_is_not_overwritten(
    store: DiskStore, tree: Path, monkeypatch: pytest.MonkeyPatch, leftovers: Callable[[Path], list[str]]
) -> None:
    """The copy would be neither the one version nor the other."""
    real = _copies.copy_all

    def copying(source: int, target: int) -> int:
        (tree / "top.txt").write_bytes(b"by a person")
        return real(source, target)

    change_set = store.begin("tx")
    with monkeypatch.context() as patch:
        patch.setattr(DiskRoot, "swap", denied)
        patch.setattr(_copies, "copy_all", copying)
        with pytest.raises(FileConflict):
            change_set.put("top.txt", b"by the tool")

    change_set.undo(0)
    assert (tree / "top.txt").read_bytes() == b"by a person"
    assert leftovers(tree) == []


def test_power_durability_does_the_same(
    tree: Path, variant: dict[str, Any], open_store: Any, look: Callable[[Path], State]
) -> None:
    """Only slower: everything is flushed in the order in which it is relied on."""
    before = look(tree)
    store = open_store(tree, durability="power", **variant)
    change_set = store.begin("tx")
    work(change_set)
    change_set.prepare()
    change_set.undo(0)
    assert look(tree) == before

    change_set = store.begin("tx")
    work(change_set)
    change_set.prepare()
    change_set.publish()
    assert not store.pending()


def test_the_state_may_be_removed_between_transactions(store: DiskStore, tree: Path, look: Any) -> None:
    """`git clean -fdx` does that; a store that is open goes on."""
    import shutil

    change_set = store.begin("one")
    change_set.put("top.txt", b"one")
    change_set.publish()
    before = look(tree)
    shutil.rmtree(state_of(tree))
    change_set = store.begin("two")
    change_set.put("top.txt", b"two")
    change_set.undo(0)

    assert look(tree) | {".": 0} == before | {".": 0}


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 200, "a\n"])
def test_transaction_ids_are_file_names(store: DiskStore, name: str) -> None:
    """They name journals."""
    with pytest.raises(ValueError, match="transaction id"):
        store.begin(name)


def test_a_directory_is_moved_to_another_mount(
    elsewhere: DiskStore, tree: Path, look: Callable[[Path], State], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything in it is copied, and the move can still be undone. (Containers say so of their image's directories.)"""
    from wink.filesystem.disk._root import DiskRoot

    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    (tree / "src/b/link").symlink_to("../a/1.txt")
    before = plain(look(tree))
    with monkeypatch.context() as patch:
        patch.setattr(DiskRoot, "place", refuse)
        change_set = elsewhere.begin("tx")
        change_set.move("src", "moved")
    assert not (tree / "src").exists()
    assert (tree / "moved/a/2.txt").read_bytes() == b"2 " * 85
    assert (tree / "moved/b/link").read_bytes() == b"1 " * 45

    change_set.undo(0)

    assert plain(look(tree)) == before
    assert change_set.conflicts == ()


def test_a_copy_that_came_back_is_known_to_earlier_records(
    elsewhere: DiskStore, tree: Path, look: Callable[[Path], State]
) -> None:
    """It has another inode than the file which they were about."""
    before = plain(look(tree))
    change_set = elsewhere.begin("tx")
    change_set.chmod("top.txt", 0o600)
    change_set.put("top.txt", b"changed")
    change_set.move("top.txt", "src/top.txt")
    change_set.delete("src", recursive=True)

    change_set.undo(0)

    assert plain(look(tree)) == before
    assert change_set.conflicts == ()
