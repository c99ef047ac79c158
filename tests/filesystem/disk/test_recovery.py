"""What is found after a process died: committed changes are kept, others undone, strangers' journals distrusted."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import made_state, state_of

from wink.errors import PathRefused, RollbackFailed, TransactionError
from wink.filesystem.disk._journal import Mark, Record, compensation, encoded, header, standing
from wink.filesystem.disk._store import DiskStore

from .conftest import Crash, Faults, State
from .test_crash import work

VICTIM = """
import os, sys
sys.path.insert(0, sys.argv[4])
from wink.filesystem.disk import _root
from wink.filesystem.disk._store import DiskStore
from tests.filesystem.disk.test_crash import work
left = int(sys.argv[3])

def counted(function):
    def call(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return function(*arguments, **options)
    return call

for name in ("pwrite", "write", "rename", "unlink", "mkdir", "rmdir", "fchmod", "symlink", "utime"):
    setattr(os, name, counted(getattr(os, name)))
_root.renameat2 = counted(_root.renameat2)
store = DiskStore(sys.argv[1])
if sys.argv[2] == "work":
    change_set = store.begin("tx")
    work(change_set)
    change_set.undo(0)
else:
    store.recover(lambda _: False)
"""


@pytest.mark.parametrize("calls", [1, 9, 40, 77, 120, 140])
def test_a_killed_process_leaves_nothing_that_recovery_does_not_undo(
    tree: Path, look: Callable[[Path], State], leftovers: Callable[[Path], list[str]], calls: int
) -> None:
    """Real processes die by a signal that nobody can catch, in work, rollback and recovery."""
    made_state(tree)
    os.utime(tree, ns=(10**18, 10**18))
    before = look(tree)
    for what, left in (("work", calls), ("recover", calls % 13)):
        process = subprocess.run([sys.executable, "-c", VICTIM, str(tree), what, str(left), os.getcwd()], check=False)
        assert process.returncode == -signal.SIGKILL or what == "recover"

    store = DiskStore(str(tree))
    recovered = store.recover(lambda _: False)

    assert look(tree) == before
    assert not any(one.conflicts for one in recovered)
    assert leftovers(tree) == []
    store.close()


def test_a_committed_transaction_is_kept(
    store: DiskStore, tree: Path, open_store: Any, look: Callable[[Path], State], leftovers: Callable[[Path], list[str]]
) -> None:
    """Its process died after the record had it, and before the journal was gone."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"kept")
    change_set.move("src/a", "a")
    after = look(tree)
    store.close()

    other = open_store(tree)
    (recovered,) = other.recover(lambda transaction: transaction == "tx")

    assert (recovered.transaction_id, recovered.outcome) == ("tx", "kept")
    assert recovered.paths == ("top.txt", "src/a", "a")
    assert look(tree) == after
    assert leftovers(tree) == ["tx.1"]
    assert other.recover(lambda _: True) == ()


def test_a_transaction_under_way_is_not_recovered(store: DiskStore, tree: Path) -> None:
    """A store knows its own."""
    change_set = store.begin("mine")
    change_set.put("top.txt", b"mine")
    kept = store.begin("kept")
    kept.put("tool.sh", b"x")
    kept.publish()

    assert not store.pending()
    assert store.recover(lambda tx: tx == "kept") == ()
    change_set.undo(0)
    assert (tree / "top.txt").read_bytes() == b"top\r\n"


def test_staged_content_of_a_dead_process_is_dropped(
    store: DiskStore, tree: Path, open_store: Any, leftovers: Callable[[Path], list[str]]
) -> None:
    """It died before its first record: nothing was begun, but there is a journal, or nobody would look into staging."""
    staging = store.begin("tx").stage()
    staging.write(b"x" * 1_000_000)
    assert leftovers(tree) == ["journal", "tx.1"]
    store.close()

    again = open_store(tree)
    assert again.pending()
    assert again.recover(lambda _: False) == ()
    assert leftovers(tree) == []


def test_conflicts_found_by_recovery_are_told(store: DiskStore, tree: Path, open_store: Any) -> None:
    """A person may save between the crash and the recovery."""
    store.begin("tx").put("top.txt", b"by the tool")
    store.close()
    (tree / "top.txt").write_bytes(b"by a person!")

    (recovered,) = open_store(tree).recover(lambda _: False)

    assert (tree / "top.txt").read_bytes() == b"top\r\n"
    assert [(one.path, one.kept) for one in recovered.conflicts] == [("top.txt", "conflicts/tx.1")]


def test_recovery_does_not_fail_for_what_nobody_can_restore(store: DiskStore, tree: Path, open_store: Any) -> None:
    """A workspace that stays closed helps nobody; the loss is told."""
    store.begin("tx").put("top.txt", b"by the tool")
    store.close()
    (state_of(tree) / "staged/tx.1").unlink()

    other = open_store(tree)
    (recovered,) = other.recover(lambda _: False)

    assert [one.path for one in recovered.conflicts] == ["top.txt"]
    assert not other.pending()


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", "../outside.txt", "/etc/passwd", "out/secret.txt", ".wink/lease", ".wink/x"]
)
def test_a_planted_journal_reaches_no_further_than_a_tool(
    tree: Path, tmp_path: Path, open_store: Any, path: str
) -> None:
    """A workspace that was copied from somewhere may bring a journal with it."""
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tree / "out").symlink_to("..")
    (tree / ".git/hooks").mkdir(parents=True)
    state = made_state(tree)
    for name in ("wal", "staged"):
        (state / name).mkdir(parents=True)
    evil = state / "staged/tx.1"
    evil.write_bytes(b"evil")
    found = os.lstat(evil)
    old = Mark(found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)
    record = Record(1, "D", path, "tx.1", old, None, (0, 0))
    (state / "wal/tx").write_bytes(header(b"12345678") + encoded(record, b"12345678"))
    store = open_store(tree)

    try:
        store.recover(lambda _: False)
    except (RollbackFailed, PathRefused, TransactionError):
        pass

    assert not (tree / ".git/hooks/pre-commit").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["secret.txt", "tree"]
    assert (tmp_path / "secret.txt").read_bytes() == b"secret"


def test_a_spare_journal_that_is_a_link_is_not_written_to(tree: Path, tmp_path: Path, open_store: Any) -> None:
    """It would empty somebody's file."""
    victim = tmp_path / "victim.txt"
    victim.write_bytes(b"precious")
    made_state(tree)
    os.link(victim, state_of(tree) / "spare")
    change_set = open_store(tree).begin("tx")
    change_set.put("top.txt", b"x")
    change_set.undo(0)

    assert victim.read_bytes() == b"precious"


def test_a_journal_of_another_version_is_left_alone(store: DiskStore, tree: Path) -> None:
    """Undoing by guess would be worse than asking."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"x")
    change_set.publish()
    (state_of(tree) / "wal/later").write_bytes(b"WINKWAL\x02 something new")

    with pytest.raises(TransactionError, match="not written by this version"):
        store.recover(lambda _: False)
    assert (state_of(tree) / "wal/later").exists()


def test_two_change_sets_of_one_id_cannot_share_a_journal(store: DiskStore) -> None:
    """Ids are the record's names for transactions."""
    store.begin("tx").put("top.txt", b"x")
    with pytest.raises(TransactionError, match="tx"):
        store.begin("tx").put("tool.sh", b"x")


def test_an_id_can_be_used_again_after_an_undo(
    store: DiskStore, tree: Path, open_store: Any, look: Callable[[Path], State]
) -> None:
    """Records of the first, further back in the file that is used again, are not taken for the second's."""
    made_state(tree)
    os.utime(tree, ns=(10**18, 10**18))
    before = look(tree)
    change_set = store.begin("tx")
    work(change_set)
    change_set.undo(0)
    store.begin("tx").put("top.txt", b"second")
    store.close()

    (recovered,) = open_store(tree).recover(lambda _: False)

    assert recovered.paths == ("top.txt",)
    assert look(tree) == before


def test_a_journal_that_is_used_again_begins_empty(
    store: DiskStore, tree: Path, open_store: Any, faults: Faults, look: Callable[[Path], State]
) -> None:
    """A crash right after the file got its new name must not take back what was committed under the old one."""
    change_set = store.begin("first")
    change_set.put("top.txt", b"committed")
    change_set.mkdir("made")
    change_set.publish()
    store.close()
    after = look(tree)
    for point in range(8):
        store = DiskStore(str(tree))
        faults.arm(point)
        with contextlib.suppress(Crash):
            store.begin("second").delete("made")
        store.close()
        faults.arm(None)
        other = DiskStore(str(tree))
        other.recover(lambda _: False)
        assert look(tree) == after
        other.close()


def test_every_prefix_of_a_journal_can_be_read() -> None:
    """A torn tail is an operation that was not begun; a compensation takes back what it says."""
    salt = b"saltsalt"
    one = Record(1, "X", "a b/ü\udcff", "tx.1", Mark(1, 2, 3, 4), Mark(5, 6, 7, 8), (9, 10))
    two = Record(2, "N", "a", "tx.2", Mark(1, 2, 3, 4), None, (1, 2, 3, 4), "new/ünö")
    parts = [encoded(one, salt), encoded(two, salt), compensation(2, {4: 5}, salt), compensation(1, {}, salt)]
    journal = header(salt) + b"".join(parts)
    expected = {0: [], 1: [one], 2: [one, two], 3: [one], 4: []}

    for length in range(len(header(salt)), len(journal) + 1):
        left = standing(journal[:length])
        whole = sum(len(header(salt)) + sum(map(len, parts[: n + 1])) <= length for n in range(len(parts)))
        assert left.records == expected[whole]
        assert left.renumbered == ({4: 5} if whole == 3 else {})
        assert left.size <= length


def test_a_state_that_could_be_opened_only_in_part_is_opened_again(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may fail between the state's directories; with one of them missing nothing works."""
    first = open_store(tree)
    first.begin("one").put("top.txt", b"one")
    first.close()
    store, real = open_store(tree), os.open

    def opening(path: str, *arguments: Any, **options: Any) -> int:
        if path == "staged":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", opening)
    with pytest.raises(OSError, match="Input/output error"):
        store.pending()
    monkeypatch.undo()

    assert store.pending()
    assert [one.outcome for one in store.recover(lambda _: False)] == ["undone"]
    assert (tree / "top.txt").read_bytes() == b"top\r\n"
